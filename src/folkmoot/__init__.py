"""folkmoot: consensus learning. Many private models, one agreed answer, no server.

Everything public is loaded on first use, so ``import folkmoot`` itself costs almost nothing. The one list of
public names, and of where each lives, is the stub ``__init__.pyi``: type checkers read it, and so does this
file.
"""

import lazy_loader

__version__ = "0.3.0.dev0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
