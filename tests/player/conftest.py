"""A real browser for the tests of pages; they say so and are skipped where there is none."""

from support.browser import browser

__all__ = ["browser"]
