"""The page lets nothing in, reads out loud, and heeds who asks for less motion."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from folkmoot import Slush, deliberate, play
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.outcome import Outcome
from folkmoot.player.document import part
from folkmoot.player.page import SCRIPTS
from folkmoot.player.playing import deliberations_to_play
from folkmoot.report.curves import Curve, curves
from folkmoot.report.page import Page as ReportPage
from support.browser import listen, opened, violations
from support.hostile_words import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def outcomes_and_truth(participants: int = 12) -> tuple[dict[str, Outcome], Any]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 5)
    votes = np.where(rng.random((participants, 5)) < 0.5, truth, rng.integers(0, 4, (participants, 5)))
    options: dict[str, Any] = {"truth": truth, "classes": 4, "record": True}
    few = deliberate(votes, Slush(k=5, alpha=3), **options)
    many = deliberate(votes, Slush(k=5, alpha=3), adversaries={1: PerfectlyMalicious()}, **options)
    return {"nobody malicious": few, "1 malicious": many}, truth


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outcomes, truth = outcomes_and_truth()
    images = np.random.default_rng(1).random((5, 8, 8))
    rows = np.arange(10.0).reshape(5, 2)
    return play(
        outcomes,
        tmp_path_factory.mktemp("player") / "deliberation.html",
        truth=truth,
        images=images,
        rows=rows,
    )


def ready(page: Page) -> None:
    page.wait_for_selector(".ring .dot")


def test_what_others_wrote_stays_text(browser: Browser, tmp_path: Path) -> None:
    outcomes, truth = outcomes_and_truth()
    names = [f"{word} {i}" for i, word in enumerate((HOSTILE * 2)[:12])]
    hostile = {
        word: replace(outcome, names=names, labels=HOSTILE[:4])
        for word, outcome in zip(HOSTILE[1:3], outcomes.values(), strict=True)
    }
    path = play(
        hostile,
        tmp_path / "deliberation.html",
        truth=truth,
        rows=[[word, word] for word in HOSTILE[:5]],
        inputs=range(5),
        input_names=HOSTILE[:5],
        title=HOSTILE[0] + HOSTILE[1],
        about=HOSTILE[1] + HOSTILE[5],
    )
    with opened(browser, path) as page:  # which fails on dialogs, console lines and requests
        ready(page)
        assert page.title() == HOSTILE[0] + HOSTILE[1]
        assert HOSTILE[1] + HOSTILE[5] in page.inner_text("header p")
        assert page.inner_text(".moots .name >> nth=0") == HOSTILE[1]
        assert HOSTILE[1] in page.inner_text(".key")
        assert page.locator(".who option").nth(1).inner_text() == names[0]
        for _ in range(3):
            page.locator("body").press("ArrowDown")
        # Marks that reorder are seen.
        assert page.inner_text(".about h2").startswith("\u00b7gnol\u00b7\u00b7")
        page.click("summary")
        assert page.inner_text(".row dd >> nth=0").startswith("\u00b7gnol")
        page.locator("body").press("End")
        assert page.locator("script").count() == 2  # the data and the page's own
        assert page.locator(".player img").count() == 0
        assert page.locator("iframe").count() == 0


def test_the_policy_names_what_is_there(plain: Path) -> None:
    html = plain.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    for what, element in (("script", "script"), ("style", "style")):
        found = re.search(rf"<{element}>(.*?)</{element}>", html, re.DOTALL)
        assert found is not None
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{what}-src 'sha256-{digest}'" in policy[1]
    assert " style=" not in html
    assert "".join(part(script) for script in SCRIPTS).count("innerHTML") == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"use strict";\nconst Parts', '"use strict"; \nconst Parts'),  # one byte
        ("<script>", "<script>alert(1);"),
        ("<body>", "<body><script>alert(1)</script>"),
        ("<body>", '<body><img src="data:," onerror="alert(1)">'),
        ("<body>", '<body><script src="https://example.org/x.js"></script>'),
    ],
)
def test_a_script_that_was_changed_does_not_run(
    browser: Browser, plain: Path, tmp_path: Path, old: str, new: str
) -> None:
    html = plain.read_text(encoding="utf-8")
    assert html.count(old) == 1
    changed = tmp_path / "changed.html"
    changed.write_text(html.replace(old, new), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    refused: list[str] = []
    answered: list[str] = []
    listen(page, refused)
    page.on("response", lambda response: answered.append(response.url))
    page.goto(changed.as_uri())
    page.wait_for_timeout(150)
    own = old == "<body>"  # then our own script is as it was, and only the other is refused
    assert page.locator(".ring .dot").count() == (12 if own else 0)
    assert page.locator(".wait").is_visible() != own
    assert any("Content Security Policy" in line for line in refused)
    assert not any(line.startswith("dialog") for line in refused)
    assert [url for url in answered if not url.startswith(("file:", "data:"))] == []
    context.close()


@pytest.mark.parametrize("width", [1400, 500])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(browser: Browser, plain: Path, report: Path, dark: bool, width: int) -> None:
    with opened(browser, plain, width=width, dark=dark, reduced_motion="reduce") as page:
        ready(page)
        page.keyboard.press("2")
        page.keyboard.press("n")
        page.select_option(".who", "3")
        page.click("summary")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
    with opened(browser, report, width=width, dark=dark, reduced_motion="reduce") as page:
        ready(page)
        page.wait_for_selector(".curve")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report that opens with the player and goes on with curves, as that of the demo does."""
    outcomes, truth = outcomes_and_truth()
    page = ReportPage("A <report>")
    page.text("Words.")
    page.player(deliberations_to_play(outcomes, truth=truth))
    page.heading("Curves")
    lines = [
        Curve("consensus", [(0, 0.9), (5, 0.85), (30, 0.8)], 0, "strong"),
        Curve("<img src=x onerror=alert(1)>", [(0, 0.9), (5, 0.55), (30, 0.42)], 1),
    ]
    page.curves("accuracy", curves("Accuracy", "liars", lines), "Accuracy by liars")
    wide = [f"a column {i}" for i in range(9)]  # on a phone it is scrolled, by keyboard too
    page.table(wide, [["consensus", *(["0.9"] * 8)]], bold="consensus")
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page.html(), encoding="utf-8")
    return path


def test_curves_show_what_was_measured(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.wait_for_selector(".curve")
        figure = page.locator("figure.curves")
        axis = figure.locator(".axis.mid").all_text_contents()
        assert axis == ["0", "5", "30", "liars"]  # ticks where something was measured
        assert figure.locator(".axis.end").all_text_contents() == ["40%", "50%", "60%", "70%", "80%", "90%"]
        drawing = figure.locator("svg[role=img]")
        drawing.scroll_into_view_if_needed()
        box = drawing.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 52 + (box["width"] - 66) / 6, box["y"] + 100)  # near 5 liars of 30
        assert page.locator(".tip b").first.inner_text() == "5 liars"
        assert page.locator(".tip .value").all_text_contents() == ["85.0%", "55.0%"]
        assert page.locator(".tip").inner_text().count("<img src=x onerror=alert(1)>") == 1
        assert figure.locator("path.curve").count() == 4  # two lines, two in the legend
        page.locator(".legend button").nth(1).click()
        assert figure.locator(".axis.end").all_text_contents() == ["80%", "82%", "84%", "86%", "88%", "90%"]


def test_less_motion_is_heeded(browser: Browser, plain: Path) -> None:
    moving = """() => [".shape", ".wire", ".bar"].map((each) => {
      const style = getComputedStyle(document.querySelector(each));
      return `${style.transitionDuration} ${style.animationName}`;
    })"""
    found = {}
    for motion in ("reduce", "no-preference"):
        with opened(browser, plain, reduced_motion=motion) as page:
            ready(page)
            page.keyboard.press("ArrowRight")
            found[motion] = page.evaluate(moving)
    assert set(found["reduce"]) == {"0s none"}
    assert "0s none" not in found["no-preference"]


def test_in_a_notebook_it_can_do_nothing_but_run(browser: Browser, tmp_path: Path) -> None:
    outcomes, truth = outcomes_and_truth()
    player = play(outcomes, truth=truth, title='A "title" & <more>')
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><title>notebook</title>{player._repr_html_()}", encoding="utf-8")
    with opened(browser, cell) as page:
        frame = page.frame_locator("iframe")
        frame.locator(".ring .dot").first.wait_for()
        assert page.get_attribute("iframe", "sandbox") == "allow-scripts"
        assert frame.locator("h1").inner_text() == 'A "title" & <more>'
        frame.locator("[data-do=step]").click()
        assert frame.locator(".where").inner_text().startswith("round 1 of ")
        inside = page.frames[1]
        assert inside.evaluate("origin") == "null"
        assert (
            inside.evaluate("() => { try { return String(parent.document.title); } catch { return 'no'; } }")
            == "no"
        )
