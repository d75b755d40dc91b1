"""Byzantine behaviours where clusters are agreed on, one a file."""
