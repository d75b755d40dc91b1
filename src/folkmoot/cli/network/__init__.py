"""Commands of the network: nodes, rosters, motions."""
