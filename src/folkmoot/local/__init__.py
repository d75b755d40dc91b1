"""A whole moot on this machine: real processes with keys, models and sockets of their own."""
