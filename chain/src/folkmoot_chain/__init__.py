"""The moot on a chain: a contract for test sets, stakes, past performance and rewards, and its client.

Names for programs, loaded on first use; the stub ``__init__.pyi`` lists them. A chain in
this process needs the extra ``local``.
"""

import lazy_loader

__version__ = "0.3.0.dev0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
