"""Byzantine behaviours where numbers are agreed on, one a file."""
