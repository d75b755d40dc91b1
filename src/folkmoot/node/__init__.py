"""A member of a moot: all commit to votes, agree on one table of them, and compute the same answer."""
