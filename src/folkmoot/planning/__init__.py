"""Which settings: k, alpha, rounds and protocol for a moot, with what they give and cost."""
