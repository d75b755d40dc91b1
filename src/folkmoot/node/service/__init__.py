"""The service of a node: many motions, a model, peers, and whoever asks."""
