"""What a node must not forget: an SQLite file with a seal for each motion, the audit log and the rosters."""
