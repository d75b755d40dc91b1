"""One node's part in one motion, without sockets, clocks, threads or files."""
