"""Deliberations on a GPU: one C++ source plays what the flip and table kernels play, to the same bits."""
