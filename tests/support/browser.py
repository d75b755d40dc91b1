"""A real browser looks at a page: which pictures it drew, and what it asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page


def chromium() -> str:
    """The path of a browser. Skips where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    return found


# For a module and no longer: while it is open, nothing else in this thread can start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that believes that evil.example is this machine, as after DNS rebinding."""
    executable = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=executable,
            args=["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"],
        )
        yield running
        running.close()


@contextmanager
def opened(
    browser: Browser, page: Path | str, *, width: int = 1400, dark: bool = False, **options: Any
) -> Iterator[Page]:
    """The page as a reader has it; fails on a line in the console, an error, dialog or outside request."""
    context = browser.new_context(
        color_scheme="dark" if dark else "light", viewport={"width": width, "height": 900}, **options
    )
    try:
        looked = context.new_page()
        wrong: list[str] = []
        listen(looked, wrong)
        looked.on("request", lambda request: None if _own(request.url, page) else wrong.append(request.url))
        looked.goto(page if isinstance(page, str) else page.as_uri())
        yield looked
        assert wrong == []
    finally:
        context.close()


def listen(page: Page, heard: list[str]) -> None:
    """Note lines in the console, errors and dialogs, which are closed."""

    def dismiss(dialog: Dialog) -> None:
        heard.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("console", lambda line: heard.append(f"console: {line.text}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("dialog", dismiss)


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong for people who read with their ears or by keyboard."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {[node['html'] for node in each['nodes'][:3]]}" for each in found]


def _own(url: str, page: Path | str) -> bool:
    if isinstance(page, str):
        return url.startswith((f"{page.partition('#')[0]}", f"blob:{page.partition('#')[0]}"))
    return url.startswith(("data:", "about:srcdoc")) or url == page.as_uri()
