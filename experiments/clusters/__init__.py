"""Clusters agreed among liars, beyond the paper."""
