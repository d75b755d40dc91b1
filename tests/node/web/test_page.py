"""The page of a node in a real browser: how one asks, follows, filters and is told why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from folkmoot.cli.node.ask import BELIEVE
from folkmoot.node.account import CandidateTold
from folkmoot.node.session.terms import Terms
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
    terms = Terms(labels=("even", "odd"))
    return played.begins(Batch(np.zeros((inputs, 2))), terms)


def shown(page: Page) -> dict[str, list[str]]:
    """What the table of decisions has, by input."""
    names = page.locator(".decisions thead").first.locator("th").all_inner_texts()
    rows = [row for row in table(page, ".decisions .scroll > .table") if len(row) == len(names)]
    return {row[0]: [" ".join(row[names.index(name)].split()) for name in WHO] for row in rows}


@pytest.mark.slow
def test_texts_that_were_proposed_and_chosen(browser: Browser, node: Running, played: Played) -> None:
    """Each candidate with who proposed and who chose it; a text of a member is text, and no markup."""
    name = played.begins(Batch(np.zeros((2, 2))), Terms(answers="text"))
    markup = "<b id=bold>Lyon</b>"
    long = "It is Paris, as everybody knows who has been there. " * 5
    told = [
        [
            CandidateTold("Paris", ["north", "member-01"], ["north", "member-01", "member-02"], 0),
            CandidateTold(markup, ["member-03"], [], 0),
            CandidateTold(long, ["member-04"], [], 2),
        ],
        [],
    ]
    changes = {
        "decisions": ["Paris", None], "shares": [0.75, None], "candidates": told, "labels": [],
        "why_undecided": [None, "nobody proposed an answer"], "own_votes": ["Paris", None], "undecided": 1,
        "first_votes": [{"Paris": 2, markup: 1}, {}], "final_votes": [{"Paris": 3}, {}],
    }  # fmt: skip
    node.do(played.ends, name, [[None, None]] * 5, **changes)
    with opened(browser, node.address) as page:
        ready(page)
        page.wait_for_selector(".decisions tbody tr")
        rows = [" ".join(" ".join(row).split()) for row in table(page, ".decisions .scroll > .table")]
        assert "Paris 75%" in rows[0]
        assert "1 Paris by north, member-01; chosen by north, member-01, member-02" in rows[0]
        assert f"2 {markup} by member-03; chosen by nobody; the same as 1" in rows[0]
        assert "nobody proposed an answer" in rows[1]
        assert page.locator("#bold").count() == 0
        folded = page.locator(".written")
        folded.locator("summary").click()
        assert folded.locator("p").inner_text().strip() == long.strip()


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
        assert (
            page.locator("#motion .reasons").locator("xpath=..").locator("summary").inner_text()
            == "5 members"
        )
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
        wide = page.evaluate("document.getElementById('ring').viewBox.baseVal.width")
        assert not [(a, b) for a, b in combinations(names, 2) if _overlap(a, b)]
        assert all(x >= 0 and x + each <= wide for x, _, each, _ in names)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 400])
def test_names_stand_beside_the_circles_of_a_small_moot(browser: Browser, tmp_path: Path, width: int) -> None:
    played = Played(5, "north")
    with running(played, tmp_path) as node, opened(browser, node.address, width=width) as page:
        ready(page)
        drawn = (
            "all => all.map(each => each.getBoundingClientRect())"
            ".map(box => [box.left, box.right, box.top, box.bottom])"
        )
        names, circles = (
            page.locator(f"#ring {which}").evaluate_all(drawn) for which in ("text.outside", "circle.shape")
        )
        assert (len(names), len(circles)) == (5, 5)
        for left, right, top, bottom in names:
            assert not [
                each for each in circles
                if left < each[1] + 2 and each[0] < right + 2 and top < each[3] and each[2] < bottom
            ]  # fmt: skip


def _overlap(a: list[float], b: list[float]) -> bool:
    """Whether more than the space around two lines of text is shared."""
    apart = min(a[3], b[3]) * 0.75
    beside = a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0]
    return not beside and abs(a[1] - b[1]) < apart


@pytest.mark.slow
@pytest.mark.parametrize(
    ("whom", "terms"),
    [
        ("plurality", {"rule": "plurality", "believe": "all"}),
        ("dawid-skene", {"rule": "dawid-skene", "believe": "all"}),
        ("own", {"believe": "own", "rows": 0}),
    ],
)
def test_whom_to_believe_has_the_words_of_the_prompt(
    browser: Browser, tmp_path: Path, whom: str, terms: dict[str, Any]
) -> None:
    """As ``folkmoot ask --believe`` makes terms of them (``believing`` of cli/node/ask.py)."""
    assert whom in BELIEVE
    played = Played(4)
    played.model = msgspec.structs.replace(played.model, rules=["plurality", "dawid-skene", "weighted"])
    with running(played, tmp_path) as node, opened(browser, node.address) as page:
        ready(page)
        offered = page.locator("[data-term=whom] option").all_inner_texts()
        assert offered == list(BELIEVE)
        page.locator("[data-term=whom]").select_option(whom)
        dropped(page, "rows.csv", "x,y\n1,2\n")
        page.get_by_role("button", name="Put 1 input to the moot").click()
        page.wait_for_selector("#asking >> text=making first votes", timeout=LIVE)
        (account,) = played.accounts.values()
        used = {"rule": account.terms.used_rule if hasattr(account.terms, "used_rule") else account.rule}
        told = msgspec.structs.asdict(account.terms) | used
        assert {name: told[name] for name in terms} == terms


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
