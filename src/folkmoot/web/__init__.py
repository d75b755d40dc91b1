"""A node over HTTP: an API for programs, on the node's own loop. Needs the extra ``page``."""
