"""The site is built without a warning, and every page of it works in a browser from ``file://``, alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

from support.browser import chromium
from support.clean_copy import clean_copy

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "html"
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BROKEN = "[...document.images].filter(i => i.complete && !i.naturalWidth).length"
IDS = "[...document.querySelectorAll('[id]')].map(e => e.id)"
WIDTHS = "[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().width)"
# What people look for first, and the page that must come first.
QUERIES = {
    "choose k and alpha": "choose-k-and-alpha.html",
    "deploy": "deploy.html",
    "notebook": "learning.html",
    "soft voting": "probabilities.html",
    "cite": "cite.html",
    "install": "install.html",
    "poisoning": "questions.html",
    "differential privacy": "questions.html",
    "PyTorch": "questions.html",
    "Docker": "questions.html",
    "LLM": "questions.html",
    "FAQ": "questions.html",
}
CUT = "[...document.querySelectorAll('h1, dt.sig')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
LINKS = "[...document.querySelectorAll('main a[href]')].map(a => a.href)"


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    """One test, since the site is built once, whoever runs it."""
    build(clean_copy(tmp_path))
    from playwright.sync_api import sync_playwright

    executable = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        every_page_opens_and_its_links_lead_somewhere(browser)
        search_works(browser)
        formulas_are_drawn(browser)
        the_player_plays(browser)
        copy_buttons_leave_out_output(browser)
        pages_fit_a_phone_in_the_dark(browser)
        browser.close()


def build(clone: Path) -> None:
    """``make docs`` in a clean clone, whose environment has the extra ``docs`` alone; its site comes here."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    made = subprocess.run(
        ["make", "docs", f"PYTHON={sys.executable}"],  # noqa: S607
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(clone / "docs" / "_build" / "html", SITE)


@contextmanager
def opened(browser: Browser, **options: Any) -> Iterator[Page]:
    """A tab that fails on an error or warning in the console, a dialog, or a request outside the site."""
    context = browser.new_context(**({"viewport": {"width": 1300, "height": 900}} | options))
    page = context.new_page()
    wrong: list[str] = []
    own = ("data:", "blob:", "about:", SITE.as_uri())
    page.on("console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: None if request.url.startswith(own) else wrong.append(request.url))
    page.on("requestfailed", lambda request: wrong.append(f"missing: {request.url}"))
    yield page
    context.close()
    assert wrong == []


def every_page_opens_and_its_links_lead_somewhere(browser: Browser) -> None:
    found = [path for path in sorted(SITE.rglob("*.html")) if "_static" not in path.parts]
    assert len(found) > 200  # pages, public names and listings of source
    known: dict[Path, set[str]] = {}
    links: dict[Path, list[str]] = {}
    with opened(browser) as page:
        for path in found:
            page.goto(path.as_uri())
            assert page.locator("h1").count() >= 1, path
            assert not page.evaluate(BROKEN), path
            assert page.evaluate(TOO_WIDE) <= 0, path
            known[path], links[path] = set(page.evaluate(IDS)), page.evaluate(LINKS)
    for path, hrefs in links.items():
        for parts in (urlsplit(href) for href in hrefs if href.startswith("file:")):
            goal = Path(unquote(parts.path))
            assert goal.exists(), f"{path.name} -> {parts.path}"
            if parts.fragment and goal in known:
                assert unquote(parts.fragment) in known[goal], f"{path.name} -> {parts.path}#{parts.fragment}"


def search_works(browser: Browser) -> None:
    with opened(browser) as page:
        page.goto(f"{(SITE / 'search.html').as_uri()}?q=supermajority")
        page.wait_for_selector("#search-results li a", timeout=20_000)
        titles = " ".join(page.locator("#search-results li a").all_inner_texts())
        assert "supermajorities" in titles
        for asked, wanted in QUERIES.items():
            page.goto(f"{(SITE / 'search.html').as_uri()}?q={asked.replace(' ', '+')}")
            page.wait_for_selector("#search-results li a", timeout=20_000)
            page.wait_for_selector("#search-results .excerpt", timeout=20_000)
            hits = [each.get_attribute("href") for each in page.locator("#search-results li > a").all()[:5]]
            assert wanted in [str(hit).partition("#")[0].partition("?")[0] for hit in hits], asked


def formulas_are_drawn(browser: Browser) -> None:
    with opened(browser) as page:
        page.goto((SITE / "theorems" / "slush-vs-delta-majority.html").as_uri())
        assert page.locator("math").count() > 10
        sizes = page.evaluate(
            "[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().width)"
        )
        assert min(sizes) > 3
        assert "$" not in page.locator("main article").inner_text()
        assert page.locator("script[src*=mathjax i]").count() == 0


def the_player_plays(browser: Browser) -> None:
    for name in ("index.html", "digits-in-ten-minutes.html"):
        with opened(browser) as page:
            page.goto((SITE / name).as_uri())
            page.locator("iframe").first.scroll_into_view_if_needed()
            dots = page.frame_locator("iframe").first.locator(".ring .dot")
            dots.first.wait_for(timeout=20_000)
            assert dots.count() >= 30


def copy_buttons_leave_out_output(browser: Browser) -> None:
    with opened(browser) as page:
        page.goto((SITE / "crowds.html").as_uri())
        page.wait_for_selector("button.copybtn")
        assert page.locator("div.output pre").count() >= 2
        assert page.locator("div.output button.copybtn").count() == 0


def pages_fit_a_phone_in_the_dark(browser: Browser) -> None:
    with opened(browser, viewport={"width": 360, "height": 740}, color_scheme="dark") as page:
        page.goto((SITE / "index.html").as_uri())
        assert page.evaluate(TOO_WIDE) <= 0
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.goto(
            (SITE / "api" / "folkmoot.ConsensusClassifier.html").as_uri()
        )  # a long name without a space
        assert page.evaluate(TOO_WIDE) <= 0
        assert page.evaluate(CUT) == 0
