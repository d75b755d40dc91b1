"""The one mechanism beside folkmoot 0.2: own aggregations on the same votes, and what each part buys."""
