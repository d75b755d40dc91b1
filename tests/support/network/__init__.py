"""Moots for tests: on a virtual clock, in one loop on loopback, and in processes of their own."""
