"""HTTP, the only server of a node: on the Unix socket in its folder, and on TCP with a token."""
