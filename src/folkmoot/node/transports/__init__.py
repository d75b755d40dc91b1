"""How frames get from node to node: one interface, on a virtual clock or over TLS."""
