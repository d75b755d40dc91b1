"""The site is built without a warning, and every page of it works in a browser from ``file://``, alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from support.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "html"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> Path:
    """The site as ``make docs`` makes it, from the beginning."""
    for folder in ("_build", "api", "gallery"):
        shutil.rmtree(ROOT / "docs" / folder, ignore_errors=True)
    made = subprocess.run(
        ["make", "docs"],  # noqa: S607
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return SITE


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser, site: Path) -> Iterator[Page]:
    """A page that fails on a line in the console, an error, a dialog, or a request outside the site."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    looked = context.new_page()
    wrong: list[str] = []
    looked.on("console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None)
    looked.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    looked.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    own = ("data:", "blob:", "about:", site.as_uri())
    looked.on("request", lambda request: None if request.url.startswith(own) else wrong.append(request.url))
    looked.on("requestfailed", lambda request: wrong.append(f"missing: {request.url}"))
    yield looked
    context.close()
    assert wrong == []


def pages(site: Path) -> list[Path]:
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def test_every_page_opens_and_asks_nothing_of_anybody(page: Page, site: Path) -> None:
    found = pages(site)
    assert len(found) > 250  # one for each public name alone is 190
    for path in found:
        page.goto(path.as_uri())
        assert page.locator("h1").count() >= 1 or path.name in ("genindex.html", "search.html"), path
        assert not page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).length"), (
            path
        )
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, path


def test_links_between_pages_lead_somewhere(page: Page, site: Path) -> None:
    known: dict[Path, set[str]] = {}
    links: dict[Path, list[str]] = {}
    for path in pages(site):
        page.goto(path.as_uri())
        known[path] = set(page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)"))
        links[path] = page.evaluate("[...document.querySelectorAll('main a[href]')].map(a => a.href)")
    for path, hrefs in links.items():
        for href in hrefs:
            if not href.startswith("file:"):
                continue
            parts = urlsplit(href)
            goal = Path(unquote(parts.path))
            assert goal.exists(), f"{path.name} -> {href}"
            if parts.fragment and goal in known:
                assert unquote(parts.fragment) in known[goal], f"{path.name} -> {href}"


def test_search_works_from_a_file(page: Page, site: Path) -> None:
    page.goto(f"{(site / 'search.html').as_uri()}?q=supermajority")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    titles = " ".join(page.locator("#search-results li a").all_inner_texts())
    assert "supermajorit" in titles.lower() or "theory" in titles.lower()


def test_formulas_are_mathml_and_are_drawn(page: Page, site: Path) -> None:
    page.goto((site / "theorems" / "slush-vs-delta-majority.html").as_uri())
    assert page.locator("math").count() > 10
    assert page.locator("math").first.bounding_box() is not None
    assert "$" not in page.locator("main article").inner_text()
    assert page.locator("script[src*=mathjax i]").count() == 0


@pytest.mark.parametrize("name", ["index.html", "digits-in-ten-minutes.html"])
def test_the_player_plays_on_the_page(page: Page, site: Path, name: str) -> None:
    page.goto((site / name).as_uri())
    page.locator("iframe").first.scroll_into_view_if_needed()
    frame = page.frame_locator("iframe").first
    frame.locator(".ring .dot").first.wait_for(timeout=20_000)
    assert frame.locator(".ring .dot").count() >= 30


def test_the_first_page_is_readable_on_a_phone_and_in_the_dark(browser: Browser, site: Path) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme="dark")
    looked = context.new_page()
    looked.goto((site / "index.html").as_uri())
    wide = looked.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    assert looked.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()
