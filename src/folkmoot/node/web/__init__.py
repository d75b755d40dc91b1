"""The one door of a node: HTTP on the Unix socket in its folder, and on TCP for those with a token."""

from folkmoot.node.web.door import Door, Page, serve

__all__ = ["Door", "Page", "serve"]
