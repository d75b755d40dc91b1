"""Who takes part: keys, certificates, rosters, and the files that hold them."""
