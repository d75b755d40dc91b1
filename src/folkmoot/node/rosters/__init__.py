"""How rosters follow each other: proposals, consents, and the agreement on the one that comes next."""
