"""The moot on a chain: a contract for test sets, stakes, past performance and rewards, and its client.

What a program needs is named here and loaded on first use; the stub ``__init__.pyi`` lists it. Most of it
needs the extra ``chain``, a chain in this process ``chain-local``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
