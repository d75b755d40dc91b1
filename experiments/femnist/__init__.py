"""Section 5.1: models of FEMNIST writers, alone and as members that turn malicious."""
