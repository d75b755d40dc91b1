"""An answer beside single participants and every rule that sees all votes: ``compare`` makes a ``Report``.

Public names are loaded on first use, by the stub ``__init__.pyi``: a node needs ``independence`` alone.
"""
