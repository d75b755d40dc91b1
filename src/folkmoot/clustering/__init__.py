"""Clusters agreed among participants, some of whom lie: no labels, no server, no common names of clusters."""
