"""The moot on a chain: a contract for test sets, stakes, past performance and rewards, and its client."""
