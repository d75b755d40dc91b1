"""An answer beside single participants and every rule that sees all votes: ``compare`` makes a ``Report``.

Public names are loaded on first use, by the stub ``__init__.pyi``: a node needs ``independence`` alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
