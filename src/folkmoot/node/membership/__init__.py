"""Members: keys, certificates, rosters, and the files that hold them."""
