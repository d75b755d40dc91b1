"""Participants on machines of their own: who they are, what they run, and how they talk.

What a program needs to put motions is named here and loaded on first use; the stub ``__init__.pyi`` lists it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
