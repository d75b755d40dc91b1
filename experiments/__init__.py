"""Whole studies as pure functions of (config, seed) that return typed results; others draw and write them."""
