"""How frames get from node to node: one interface, and TLS behind it."""
