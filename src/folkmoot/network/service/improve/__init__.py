"""A node whose model improves by what a moot has decided about a pool (docs/improve.md)."""
