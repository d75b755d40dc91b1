"""Public aggregations in integers alone: the same decisions, bit for bit, on every processor."""
