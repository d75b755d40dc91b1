"""HTTP, the only door of a node: on the Unix socket in its folder, and on TCP with a token."""

from folkmoot.node.web.door import Door, Page, serve

__all__ = ["Door", "Page", "serve"]
