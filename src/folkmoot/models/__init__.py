"""Models that answer over a network or stand in a file, as estimators and as models of a node.

They stand below the estimators: a model here knows nothing of moots. Whatever a server sends, ``predict``
returns one answer per input, and None is no vote. Names are loaded on first use: a node needs few of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
