"""Whom to believe: every aggregation on sites that differ, beside rivals that know the same."""
