"""The page in a real browser: it plays, draws what ``turns`` says, and lets nothing in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from folkmoot import Everyone, Slush, Snowball, deliberate, play
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.adversaries.behaviours import RandomClass
from folkmoot.adversaries.interface import Adversary
from folkmoot.outcome import Outcome
from support.browser import opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

INPUTS = 6
NONE = "\u2013"  # what stands in a dot without a label
# All that is drawn of every frame, read from the drawing itself.
READ = """() => {
  const { player } = document.querySelector(".player");
  return player.frames().map((_, f) => {
    player.go(f);
    const dots = [...document.querySelectorAll(".ring [data-who]")];
    const asker = document.querySelector(".ring .asker");
    return {
      where: document.querySelector(".where").textContent,
      said: document.querySelector(".said").textContent,
      held: Object.fromEntries(dots.map((dot) => [dot.dataset.who, dot.querySelector("text").textContent])),
      asker: asker && Number(asker.dataset.who),
      wires: [...document.querySelectorAll(".wire")].map((wire) =>
        [Number(wire.dataset.peer), wire.getAttribute("class")]),
      tally: Object.fromEntries([...document.querySelectorAll(".tally .line")].map((line) =>
        [line.querySelector(".chip").textContent, line.querySelector(".many").textContent])),
      at: document.querySelector(".log .at") && document.querySelector(".log .at").textContent,
    };
  });
}"""


def first_votes(participants: int = 14, inputs: int = INPUTS, seed: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, inputs)
    right = rng.random((participants, inputs)) < 0.45
    return np.where(right, truth, rng.integers(0, 3, (participants, inputs))), truth


def outcome_of(**options: Any) -> Outcome:
    votes, truth = first_votes()
    protocol = options.pop("protocol", Slush(k=6, alpha=4))
    return deliberate(votes, protocol, truth=truth, record=True, rounds=12, seed=5, classes=3, **options)


def liars(kind: type[Adversary]) -> dict[int, Adversary]:
    return {i: kind() for i in (2, 9, 11)}


def state(page: Page) -> dict[str, Any]:
    page.wait_for_selector(".ring .dot")
    found: dict[str, Any] = page.evaluate("document.querySelector('.player').player.state")
    return found


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _, truth = first_votes()
    outcomes = {
        "nobody malicious": outcome_of(),
        "3 malicious": outcome_of(adversaries=liars(PerfectlyMalicious)),
        "3 that throw dice": outcome_of(adversaries=liars(RandomClass)),
    }
    path = tmp_path_factory.mktemp("player") / "deliberation.html"
    return play(outcomes, path, truth=truth, rows=np.arange(12.0).reshape(INPUTS, 2))


def test_plays_steps_and_scrubs(browser: Browser, three: Path) -> None:
    from playwright.sync_api import expect

    with opened(browser, three) as page:
        assert state(page)["frame"] == 0
        last = page.evaluate("document.querySelector('.player').player.frames().length - 1")
        page.click("[data-do=step]")
        page.keyboard.press("ArrowRight")
        assert state(page)["frame"] == 2
        page.click("[data-do=back]")
        assert state(page)["frame"] == 1
        page.locator("body").press("End")
        assert state(page)["frame"] == last
        assert page.inner_text(".where").startswith("the end")
        page.locator("body").press("Home")
        page.keyboard.press("Shift+ArrowRight")  # to the first question of round 1, then of round 2
        page.keyboard.press("Shift+ArrowRight")
        assert page.inner_text(".where").startswith("round 2 of ")
        page.keyboard.press("Shift+ArrowLeft")
        assert page.inner_text(".where").startswith("round 1 of ")

        page.locator("body").press("Home")
        page.select_option(".speed", "fast")
        page.click("h1")
        page.keyboard.press(" ")
        expect(page.locator(".where")).to_contain_text("round 2 of ", timeout=20_000)
        assert state(page)["playing"]
        page.click("[data-do=play]")
        stopped = state(page)
        assert not stopped["playing"]
        page.wait_for_timeout(200)
        assert state(page)["frame"] == stopped["frame"]

        page.fill(".scrub", "5")
        assert state(page)["frame"] == 5
        box = page.locator(".rounds").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 58, box["y"] + 60)
        page.mouse.down()
        assert state(page)["frame"] == 0
        page.mouse.move(box["x"] + box["width"] - 8, box["y"] + 60)
        page.mouse.up()
        assert state(page)["frame"] == last

        jump = page.locator(".log button").first
        to = int(jump.get_attribute("data-to") or -1)
        jump.click()
        assert state(page)["frame"] == to
        page.locator("body").press("Home")
        page.keyboard.press("n")
        assert state(page)["frame"] == to


def test_inputs_moots_and_participants_are_chosen(browser: Browser, three: Path) -> None:
    with opened(browser, three, width=500) as page:
        state(page)
        page.locator(".inputs button").nth(2).click()
        assert state(page)["input"] == 2
        name = page.locator(".inputs button").nth(2).get_attribute("title")
        assert page.inner_text(".about h2").startswith(f"{name}, truly")
        page.locator("body").press("ArrowDown")
        assert state(page)["input"] == 3
        page.locator(".moots button").nth(1).click()
        assert state(page)["moot"] == 1
        assert page.locator(".ring .malicious").count() == 3
        assert page.inner_text(".others .chosen th") == "3 malicious"
        page.locator("body").press("3")
        assert state(page)["moot"] == 2
        page.locator("body").press("End")
        page.locator(".ring [data-who='4']").click()
        assert state(page)["who"] == 4
        assert "#4 holds" in page.inner_text(".one")
        assert page.locator(".wire").count() == 6  # whom it asked last
        page.locator("body").press("Escape")
        assert state(page)["who"] == -1
        page.select_option(".who", "9")
        assert "#9 is malicious (RandomClass)" in page.inner_text(".one")
        assert page.evaluate("document.documentElement.scrollWidth") == 500


WEIGHTS = np.random.default_rng(1).random(14)
OUTCOMES: dict[str, dict[str, Any]] = {
    "one at a time": {},
    "liars that throw dice": {"adversaries": liars(RandomClass)},
    "lockstep": {"schedule": "lockstep", "adversaries": liars(PerfectlyMalicious)},
    "asks itself": {"sampling": Everyone()},
    "snowball": {"protocol": Snowball(k=6, alpha=4, beta=3)},
    "weighted": {"protocol": Snowball(k=6, alpha=4, beta=3, weights=WEIGHTS.tolist())},
}


def drawn(page: Page, i: int) -> list[dict[str, Any]]:
    page.evaluate("(i) => document.querySelector('.player').player.choose(i, 0)", i)
    found: list[dict[str, Any]] = page.evaluate(READ)
    return found


@pytest.mark.parametrize("kind", OUTCOMES)
def test_what_is_drawn_is_what_turns_say(browser: Browser, tmp_path: Path, kind: str) -> None:
    outcome = outcome_of(**OUTCOMES[kind])
    _, truth = first_votes()
    path = play(outcome, tmp_path / "deliberation.html", truth=truth, inputs=range(INPUTS))
    with opened(browser, path) as page:
        state(page)
        assert outcome.votes is not None
        for i in range(0, INPUTS, 2):
            frames = drawn(page, i)
            names = dict(enumerate("012")) | {-1: NONE}
            held = {who: int(colour) for who, colour in enumerate(outcome.votes[:, i])}
            start, *steps, end = frames
            assert start["held"] == {str(who): names[colour] for who, colour in held.items()}
            turns = list(outcome.turns(i))
            changes = [turn.round for turn in turns if turn.before != turn.after]
            kept = [turn for turn in turns if turn.round <= max(changes, default=0) + 3]
            assert len(steps) == len(kept)
            later: dict[int, int] = {}
            before = 1
            for turn, frame in zip(kept, steps, strict=True):
                if later and turn.round != before:
                    held |= later
                    later = {}
                before = turn.round
                (later if kind == "lockstep" else held)[turn.participant] = turn.after
                assert frame["asker"] == turn.participant
                assert frame["where"].startswith(f"round {turn.round} of ")
                wires = sorted((peer, drawn_as.split()[1:]) for peer, drawn_as in frame["wires"])
                assert wires == sorted(
                    (
                        peer,
                        [
                            "none" if answer < 0 else f"k{answer}",
                            *(["lie"] if peer in outcome.malicious else []),
                        ],
                    )
                    for peer, answer in zip(turn.asked, turn.answers, strict=True)
                )
                said = dict(zip(turn.asked, turn.answers, strict=True))
                for who, colour in held.items():
                    shown = said[who] if who in outcome.malicious and who in said else colour
                    assert frame["held"][str(who)] == names[shown]
                tally = {colour: float(many.split()[0]) for colour, many in frame["tally"].items()}
                assert tally == pytest.approx(
                    {str(c): many for c, many in enumerate(turn.tally) if many}, abs=0.051
                )
                changed = turn.before != turn.after
                assert (frame["at"] is not None) == changed
                assert (f"changes to {turn.after}" in frame["said"]) == changed
                assert ("no label reaches" in frame["said"]) == (turn.won < 0)
            held |= later
            for who in np.flatnonzero(outcome.honest).tolist():
                assert end["held"][str(who)] == names[held[who]] == names[int(outcome.decisions[who, i])]


def test_absent_participants_take_no_part(browser: Browser, tmp_path: Path) -> None:
    votes = [[1, 0], [1, 0], [0, 0], [-1, 1], [-1, -1]]
    outcome = deliberate(votes, Slush(k=4, alpha=3), missing="absent", record=True)
    path = play(outcome, tmp_path / "deliberation.html", inputs=[0])
    with opened(browser, path) as page:
        state(page)
        page.locator("body").press("End")
        assert page.inner_text(".needs") == "labels of 3 participants"
        assert page.inner_text(".said").startswith("The deliberation is over: 100% hold 1")
        frames = drawn(page, 0)
        assert all(frame["held"]["3"] == frame["held"]["4"] == NONE for frame in frames)
        assert all(peer not in (3, 4) for frame in frames for peer, _ in frame["wires"])
