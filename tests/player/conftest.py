"""A real browser for the tests of pages; they say so and are skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from support.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# For a module and no longer: while it is open, nothing else in this thread can start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield running
        running.close()
