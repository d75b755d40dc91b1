"""HTTP, the only door of a node: on the Unix socket in its folder, and on TCP with a token."""
