"""Compiled code that plays deliberations."""
