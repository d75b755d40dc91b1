"""Commands of a moot of organisations: nodes, rosters, motions. The network is imported when one runs."""
