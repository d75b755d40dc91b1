"""A consensus beside single participants and every rule of a centre."""
