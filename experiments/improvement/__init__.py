"""Models that improve each other by labels they agree on, which section 3 of the paper names."""
