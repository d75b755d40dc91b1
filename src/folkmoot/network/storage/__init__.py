"""What a node keeps: motions and closes in SQLite, track records, accounts for people, and its log."""
