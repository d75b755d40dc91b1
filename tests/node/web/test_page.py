"""The page of a node in a real browser: how one asks, follows, filters and is told why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from folkmoot.node.wire.batch import Batch
from support.browser import browser, opened, violations
from support.live_page import LIVE, column, dropped, ready, table
from support.node.in_thread import Running, running
from support.node.served import Played

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]

# First votes of three inputs, by member: agreed but for one, contested and the own model overruled, tied.
VOTES: list[list[str | None]] = [
    ["even", "even", "even", "odd"],
    ["even", "odd", "odd", "odd"],
    ["even", "odd", "odd", "odd"],
    ["even", "odd", "even", "odd"],
    ["odd", "even", None, "odd"],
]
WHO = ["decision", "agree", "my model"]


@pytest.fixture
def played() -> Played:
    return Played(5)


@pytest.fixture
def node(played: Played, tmp_path: Path) -> Iterator[Running]:
    with running(played, tmp_path) as found:
        yield found


def put(played: Played, inputs: int = 4) -> bytes:
    """A motion, as if somebody had put it before the page was opened."""
    terms = played.forms.terms(labels=("even", "odd"))
    return played.begins(Batch(np.zeros((inputs, 2))), terms)


def shown(page: Page) -> dict[str, list[str]]:
    """What the table of decisions has, by input."""
    names = page.locator(".decisions thead").first.locator("th").all_inner_texts()
    rows = [row for row in table(page, ".decisions .scroll > .table") if len(row) == len(names)]
    return {row[0]: [" ".join(row[names.index(name)].split()) for name in WHO] for row in rows}


def test_asking_following_filtering_and_why(browser: Browser, node: Running, played: Played) -> None:
    with opened(browser, node.address) as page:
        ready(page)
        assert column(page, "#peers", "state")["north"] == "this node"
        dropped(page, "rows.csv", "x,y\n1,2\n3,4\n5,6\n7,8\n")
        page.get_by_role("button", name="Put 4 inputs to the moot").click()
        page.wait_for_selector("#asking >> text=making first votes", timeout=LIVE)
        (name,) = played.accounts
        node.do(played.goes_on, name, phase="agreeing on who voted", committed=played.names_of[:3])
        page.wait_for_selector("#asking >> text=3 of 5", timeout=LIVE)
        abstained = dict.fromkeys(played.names_of, "has no votes")
        node.do(played.ends, name, VOTES, abstained=abstained, took_part=played.names_of)
        page.wait_for_selector("#asking >> text=3 of 4 inputs decided", timeout=LIVE)
        page.wait_for_selector(".decisions tbody tr")
        assert shown(page) == {
            "0": ["even", "80%", "even"],
            "1": ["odd", "60%", "even overruled"],
            "2": ["\N{EN DASH} first votes are tied", "50%", "even"],
            "3": ["odd", "100%", "odd"],
        }
        for only, found in (("undecided", ["2"]), ("contested", ["1", "2"]), ("overruled", ["1"])):
            page.locator(".decisions select").first.select_option(only)
            page.wait_for_selector(f".decisions >> text=/{len(found)} of {len(found)} input.* of this kind/")
            assert list(shown(page)) == found
        page.get_by_role("button", name="why input 1").click()
        page.wait_for_selector(".why .table")
        voters = dict(row[:2] for row in table(page, ".why .table"))
        assert voters == {who: votes[1] for who, votes in zip(played.names_of, VOTES, strict=True)}
        assert page.locator("#motion details summary").first.inner_text() == "5 members"
        assert column(page, "#motions", "decided")[name.hex()[:8]] == "75%"


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1400, 400])
def test_25_members_fit_and_everybody_can_read_it(
    browser: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    played = Played(25, "a node with a long name of its own")
    played.names_of[1:] = [f"St. Mary's Hospital {number}" for number in range(24)]
    over, live = put(played, 40), put(played)
    played.ends(over, alike=[played.names_of[2:5]], effective_votes=7.2, took_part=played.names_of)
    played.goes_on(live, phase="agreeing on who voted", committed=played.names_of[:9])
    played.accuses(over, played.names_of[3])
    with running(played, tmp_path) as node, opened(browser, node.address, width=width, dark=dark) as page:
        ready(page)
        page.locator("#motions .pick").nth(1).click()
        page.get_by_role("button", name="why input 3").click()
        page.wait_for_selector(".why .table")
        page.locator("#accused summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert violations(page) == []
        names = page.locator("#ring text.outside").evaluate_all(
            "all => all.map(each => each.getBBox()).map(box => [box.x, box.y, box.width, box.height])"
        )
        assert len(names) == 25
        assert not [(a, b) for a, b in combinations(names, 2) if _overlap(a, b)]
        assert all(x >= 0 and x + wide <= 640 for x, _, wide, _ in names)


def _overlap(a: list[float], b: list[float]) -> bool:
    """Whether more than the space around two lines of text is shared."""
    apart = min(a[3], b[3]) * 0.75
    beside = a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0]
    return not beside and abs(a[1] - b[1]) < apart


@pytest.mark.slow
def test_words_of_others_stay_words(browser: Browser, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>\u202e"
    played = Played(4)
    played.names_of[1] = hostile
    name = put(played)
    played.ends(name, took_part=played.names_of, abstained={hostile: hostile}, silent=[hostile])
    played.accuses(name, hostile)
    with running(played, tmp_path) as node, opened(browser, node.address) as page:
        ready(page)
        page.wait_for_selector(".decisions tbody tr")
        assert page.locator("img").count() == 0
        assert "\u202e" not in page.locator("body").inner_text()
        assert "<img src=x" in page.locator("#peers").inner_text()


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["probabilities", "numbers"])
def test_other_kinds_of_answers(browser: Browser, tmp_path: Path, answers: str) -> None:
    played = Played(4)
    name = put(played, 2)
    said: dict[str, Any] = {
        "probabilities": {
            "decisions": ["even", None], "own_votes": ["odd", None], "shares": [0.75, 0.5],
            "first_votes": [{"even": 0.7, "odd": 0.3}, {}],
        },
        "numbers": {
            "labels": [], "decisions": [3.25, None], "own_votes": [3.0, None], "shares": [None, None],
            "first_votes": [{"lowest": 1.0, "median": 3.0, "highest": 9.5, "votes": 4}, {}],
        },
    }[answers]  # fmt: skip
    played.ends(name, **said, answers=answers, why_undecided=[None, "no label leads"], undecided=1)
    with running(played, tmp_path) as node, opened(browser, node.address) as page:
        ready(page)
        page.wait_for_selector(".decisions tbody tr")
        first, second = table(page, ".decisions .scroll > .table")
        text = " ".join(first)
        for word in ("3.25", "1, 3, 9.5", "3") if answers == "numbers" else ("even", "0.700", "overruled"):
            assert word in text
        assert "no label leads" in " ".join(second)
