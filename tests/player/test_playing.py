"""``play``: which inputs, with what, and one clear line for what cannot be played."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import ConsensusClassifier, Council, Slush, deliberate, play
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.outcome import Outcome
from folkmoot.player.images import data_addresses
from folkmoot.player.page import Player
from support.page_data import held_in

VOTES = [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 0, 1], [0, 1, 0, 1]]


def outcome_of(votes: Any = VOTES, **options: Any) -> Outcome:
    return deliberate(votes, Slush(k=3, alpha=2), record=True, **options)


def numbers(code: str) -> list[int]:
    return [ord(letter) - 40 for letter in code]


def names(player: Player) -> list[str]:
    return [each["name"] for each in held_in(player.html)["inputs"]]


def test_undecided_inputs_come_first_then_close_ones() -> None:
    # Leads of the first votes are 5, 1, 3 and 3.
    outcome = outcome_of()
    assert (outcome.decision >= 0).all()
    assert names(play(outcome)) == ["input 1", "input 2", "input 3", "input 0"]
    assert names(play(outcome, inputs=2)) == ["input 1", "input 2"]
    assert names(play(outcome, inputs=[3, 0])) == ["input 3", "input 0"]
    open_one = outcome.decisions.copy()
    open_one[:, 0] = [0, 0, 1, 1, -1]
    undecided = replace(outcome, decisions=open_one)
    assert names(play(undecided, inputs=1)) == ["input 0"]
    assert names(play({"a": outcome, "b": undecided}, inputs=1)) == ["input 0"]
    many = deliberate(np.tile(VOTES, 10), Slush(k=3, alpha=2), record=True)
    assert len(names(play(many))) == 24
    assert len(names(play(many, inputs=1000))) == 40


def test_a_page_holds_first_votes_adversaries_and_scores() -> None:
    truth = [0, 1, 0, -1]
    outcome = replace(
        outcome_of(adversaries={3: PerfectlyMalicious()}, truth=[0, 1, 0, 0]), names=["a", "b", "c", "d", "e"]
    )
    data = held_in(play({"one malicious": outcome}, truth=truth, inputs=range(4), input_names="wxyz").html)
    assert data["labels"] == ["0", "1"]
    assert [(each["name"], each["truth"]) for each in data["inputs"]] == [
        ("w", 0), ("x", 1), ("y", 0), ("z", -1),
    ]  # fmt: skip
    [moot] = data["moots"]
    assert moot["names"] == ["a", "b", "c", "d", "e"]
    assert moot["malicious"] == {"3": "PerfectlyMalicious()"}
    assert numbers(moot["honest"]) == [1, 1, 1, 0, 1]
    assert moot["rule"] == "Slush, k = 3, alpha = 2; seed 0"
    assert moot["score"] == {
        "right": outcome.accuracy(truth), "undecided": outcome.undecided, "inputs": 4,
    }  # fmt: skip
    # The malicious participant hands in what is wrong: 1, 0, 1, 1.
    first = np.array(VOTES)
    first[3] = [1, 0, 1, 1]
    for i, column in enumerate(moot["runs"]):
        assert numbers(column["first"]) == first[:, i].tolist()
        zeros = int((first[:, i] == 0).sum())
        assert column["majority"] == {
            "decision": int(zeros < 3), "votes": max(zeros, 5 - zeros), "of": 5,
        }  # fmt: skip


def test_rounds_that_change_nothing_are_left_out() -> None:
    # Two camps that never hear three equal answers from the other: nothing ever changes.
    outcome = deliberate([[0]] * 3 + [[1]] * 3, Slush(k=5, alpha=4), record=True, rounds=40)
    [column] = held_in(play(outcome).html)["moots"][0]["runs"]
    turns = outcome.turns(0)
    assert int(turns.round[-1]) == 40
    assert column["quiet"] == 37
    assert sum(numbers(column["rounds"])) == 3
    assert len(column["askers"]) == int((turns.round <= 3).sum())


def test_images_are_ink_on_paper_or_colours() -> None:
    from matplotlib.image import imread

    def read(address: str) -> Any:
        return np.asarray(imread(io.BytesIO(base64.b64decode(address.partition(",")[2])), format="png"))

    dark_on_light = np.full((2, 5, 5), 1.0)
    dark_on_light[:, 2, 2] = 0.0
    dark_on_light[1, 1, 2] = 0.5
    for images in (dark_on_light, 16 * (1 - dark_on_light)):
        addresses, ink = data_addresses(images)
        assert ink
        drawn = read(addresses[1])
        expected = np.zeros((5, 5))
        expected[2, 2], expected[1, 2] = 1.0, 0.5
        np.testing.assert_allclose(drawn[..., 3], expected, atol=1 / 255)  # opacity; the rest is black
        assert (drawn[..., :3] == 0).all()
    colours = np.random.default_rng(0).integers(0, 256, (3, 4, 6, 3), dtype=np.uint8)
    addresses, ink = data_addresses(colours)
    assert not ink
    np.testing.assert_allclose(read(addresses[2])[..., :3] * 255, colours[2], atol=0.01)
    large, _ = data_addresses(np.zeros((1, 500, 300, 3)))
    assert max(read(large[0]).shape) <= 128


def test_with_a_path_it_writes(tmp_path: Path) -> None:
    path = play(outcome_of(), tmp_path / "deliberation.html", title="A deliberation")
    assert path == tmp_path / "deliberation.html"
    page = path.read_text(encoding="utf-8")
    assert "<h1>A deliberation</h1>" in page
    assert page == play(outcome_of(), title="A deliberation").html


def test_a_classifier_plays(tmp_path: Path) -> None:
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).round(1)
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    moot = ConsensusClassifier(
        [DecisionTreeClassifier(max_depth=2)] * 7, protocol=Slush(6, 4), random_state=0
    )
    outcome = moot.fit(X[:80], y[:80]).deliberate(X[80:], y[80:], adversaries=1)
    truth = np.searchsorted(moot.classes_, y[80:])
    page = play(outcome, tmp_path / "deliberation.html", truth=truth, rows=X[80:], inputs=3)
    data = held_in(page.read_text(encoding="utf-8"))
    assert data["labels"] == ["no", "yes"]
    shown = int(data["inputs"][0]["name"].split()[1])
    assert [value for _, value in data["inputs"][0]["row"]] == [f"{value:g}" for value in X[80 + shown]]
    assert data["labels"][data["inputs"][0]["truth"]] == y[80 + shown]
    assert data["moots"][0]["score"]["right"] == pytest.approx(np.mean(outcome.answers == y[80:]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": 0}, "inputs must satisfy inputs >= 1: got inputs=0"),
        ({"inputs": 2.5}, "inputs must be an integer: got inputs=2.5"),
        ({"inputs": []}, "inputs must name at least one input: got none"),
        ({"inputs": [4]}, "inputs must satisfy 0 <= i < 4, the number of inputs: got 4"),
        ({"images": np.zeros((3, 8, 8))}, "images must hold one per input (4): got 3"),
        ({"images": np.zeros((4, 64))}, "images must have the shape (input, height, width), or"),
        ({"images": [["a"]]}, "images must have the shape (input, height, width), or"),
        ({"rows": np.zeros((3, 2))}, "rows must hold one per input (4): got 3"),
        ({"rows": np.zeros(4)}, "rows must have the shape (input, column): got the shape (4,)"),
        ({"truth": [0, 1]}, "truth must hold one class per input (4): got shape (2,)"),
        ({"truth": [0, 1, 2, 0]}, "truth[2] must satisfy -1 <= class < 2: got 2"),
        ({"truth": [0.5] * 4}, "truth must be integers: got an array of float64"),
        ({"input_names": ["a"]}, "input_names must hold one per input (4): got 1"),
        (
            {"path": "nowhere/deliberation.html"},
            "path must name a file in a folder that exists: there is no nowhere",
        ),
        ({"path": "."}, "path must name a file such as deliberation.html: . is a folder"),
    ],
)
def test_one_line_for_what_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        play(outcome_of(), **options)


def test_one_line_for_what_cannot_be_played() -> None:
    turnless = deliberate(VOTES, Council())
    for outcomes in (turnless, {"a": outcome_of(), "b": turnless}):
        with pytest.raises(ValueError, match=r"^play needs turns, and a council has none"):
            play(outcomes)
    with pytest.raises(ValueError, match="at least one Outcome: got none"):
        play({})
    with pytest.raises(TypeError, match="must map names to outcomes: got 3 for 'a'"):
        play({"a": 3})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="must be an Outcome, or map names to outcomes"):
        play([outcome_of()])  # type: ignore[call-overload]
    other = outcome_of([row[:2] for row in VOTES])
    with pytest.raises(ValueError, match="about the same inputs: 'b' has 2 inputs, another 4"):
        play({"a": outcome_of(), "b": other})
    with pytest.raises(ValueError, match="at most 1,000 participants can be drawn: got 1,001"):
        play(deliberate([[0, 1]] * 1001, Slush(k=3, alpha=2), record=True, rounds=1))
