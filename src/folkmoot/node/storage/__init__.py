"""A node's storage: an SQLite file with a seal for each motion, the audit log and the rosters."""
