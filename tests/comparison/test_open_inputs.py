"""Where many inputs stay open one line says why and what to try; whoever tries it has fewer open inputs."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from folkmoot import Report, Slush, Snowflake, StrongConfidence, compare
from folkmoot.adversaries import ConstantClass, Silent
from folkmoot.comparison import OpenInputsWarning
from folkmoot.protocols import SnowProtocol
from folkmoot.trust import Anchor
from folkmoot.votes import Votes


def crowd(*votes: int, workers: int = 30, inputs: int = 40) -> Votes:
    """These votes on each input, by other workers each time."""
    table = np.full((workers, inputs), -1)
    for i in range(inputs):
        for j, vote in enumerate(votes):
            table[(i + 7 * j) % workers, i] = vote
    return table


def told(votes: Votes, protocol: SnowProtocol[Any], **options: Any) -> tuple[Report, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = compare(votes, protocol, **options)
    assert all(warning.category is OpenInputsWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return report, [str(warning.message) for warning in caught]


def followed(line: str, protocol: SnowProtocol[Any], options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The protocol and options after what the line says to type."""
    typed = dict(re.findall(r"--(\w+) (\w+)", line.partition("; ")[2]))
    assert typed
    numbers = {name: int(value) for name, value in typed.items() if name in ("k", "alpha")}
    changed = {name: value if name == "missing" else int(value) for name, value in typed.items()}
    better: Any = protocol
    return replace(better, **numbers), options | {
        name: value for name, value in changed.items() if name not in numbers
    }


CASES: list[tuple[Votes, SnowProtocol[Any], dict[str, Any], str]] = [
    (crowd(0, 1, 1), Slush(10, 6), {"missing": "uncoloured"},
     "40 of 40 inputs stay open: no label has the 6 equal first votes that win a query on 40; leave out "
     "those who did not vote: missing='absent' (--missing absent)"),
    (crowd(1, 1, 1), Slush(2, 2), {"missing": "uncoloured", "rounds": 1},
     "40 of 40 inputs stay open: 1 rounds did not bring a majority on 40; leave out those who did not vote: "
     "missing='absent' (--missing absent)"),
    (crowd(0, 0, 1, 1, 2), Slush(10, 6), {},
     "40 of 40 inputs stay open: no label has the 3 equal first votes that win a query on 40; ask fewer "
     "peers: k=3, alpha=2 (--k 3 --alpha 2)"),
    (crowd(0, 0, 1, 1), Slush(10, 9), {},
     "40 of 40 inputs stay open: no label has the 3 equal first votes that win a query on 40; lower the "
     "threshold: alpha=6 (--alpha 6)"),
    (crowd(0, 0, 1, 1), Slush(10, StrongConfidence(np.full(30, 0.9))), {},
     "40 of 40 inputs stay open: no label has the 3 equal first votes that win a query on 40; lower the "
     "threshold: alpha=6 (--alpha 6)"),
    (crowd(0, 0, 1, 1), Snowflake(10, 6, 3), {"rounds": 0},
     "40 of 40 inputs stay open: 0 rounds did not bring a majority on 40; try rounds=50 (--rounds 50)"),
]  # fmt: skip


@pytest.mark.parametrize(("votes", "protocol", "options", "expected"), CASES)
def test_the_line_helps(
    votes: Votes, protocol: SnowProtocol[Any], options: dict[str, Any], expected: str
) -> None:
    report, lines = told(votes, protocol, **options)
    assert lines == [expected]
    assert report.undecided == 40
    better, changed = followed(expected, protocol, options)
    again, lines = told(votes, better, **changed)
    assert again.undecided == 0
    assert lines == []


def test_only_where_more_than_a_tenth_stays_open() -> None:
    votes = crowd(0, 1, 1)
    votes[:, :4] = crowd(0, 1, 2)[:, :4]
    report, lines = told(votes, Slush(10, 6))
    assert (report.undecided, lines) == (4, [])
    votes[:, :5] = crowd(0, 1, 2)[:, :5]
    votes[:, 5] = -1
    report, lines = told(votes, Slush(3, 2))
    assert report.undecided == 6
    assert lines == [
        "6 of 40 inputs stay open: nobody voted on 1, no label has the 2 equal first votes that win a query "
        "on 5; only more votes can decide these"
    ]


def test_where_alpha_can_never_be_reached_one_input_is_enough() -> None:
    votes = np.zeros((11, 40), dtype=np.int64)
    assert told(votes, Slush(5, 3), missing="uncoloured", classes=2)[1] == []
    votes[2:, 0] = -1
    report, lines = told(votes, Slush(5, 3), missing="uncoloured", classes=2)
    assert report.undecided == 1
    assert lines == [
        "1 of 40 inputs stay open: no label has the 3 equal first votes that win a query on 1; leave out "
        "those who did not vote: missing='absent' (--missing absent)"
    ]


def test_liars_may_say_anything_and_the_faulty_are_not_counted() -> None:
    votes = crowd(0, 0, 1, 1)
    # Two liars with votes of their own would reach the threshold of 3 with any label.
    liars = {i: ConstantClass(0) if i < 15 else Silent() for i in range(0, 30, 2)}
    report, lines = told(votes, Slush(10, 9), adversaries=liars, faults={1: "gone"})
    assert report.undecided > 0
    assert len(lines) == 1
    assert "rounds did not bring a majority" in lines[0]


def test_where_everybody_voted_it_is_told_as_well() -> None:
    votes = np.array([[0] * 20, [1] * 20, [0] * 20, [1] * 20])
    line = "20 of 20 inputs stay open: no label has the 3 equal first votes that win a query on 20; lower"
    for missing in ("uncoloured", "absent"):
        assert told(votes, Slush(3, 3), missing=missing)[1][0].startswith(line)
        assert told(votes[[0, 2, 0, 2]], Slush(3, 3), missing=missing)[1] == []


def test_a_talk_by_trust_that_leaves_much_open_is_told_too() -> None:
    """Two camps of equal size, each as sure of itself as the other."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    votes = np.where(rng.random((8, 400)) < 0.9, truth, 1 - truth)
    votes[4:] = np.where(rng.random((4, 400)) < 0.9, 1 - truth, truth)
    anchors = [Anchor.of_counts(18, 20, 2)] * 8
    report, lines = told(votes, Slush(3, 2), anchors=anchors)
    assert report.anchored == 8
    assert report.undecided > 40
    assert len(lines) == 1
    assert re.match(
        r"\d+ of 400 inputs stay open: no label has more than half of those who anchor; see", lines[0]
    )


@pytest.mark.parametrize(
    ("votes_each", "inputs", "best"), [(9, 9, None), (10, 200, 1.0), (10, 201, None), (11, 220, 1.0)]
)
def test_the_best_participant_has_shown_it(votes_each: int, inputs: int, best: float | None) -> None:
    # Three participants with few votes, all right, beside six with many, right half of the time.
    votes = np.full((9, inputs), -1)
    votes[:3, :votes_each] = 1
    report, _ = told(votes, Slush(2, 2), truth=np.ones(inputs, dtype=np.int64), classes=2, repeats=1)
    assert report.accuracy("best participant") == best
    votes[3:] = np.arange(inputs) % 2
    report, _ = told(votes, Slush(2, 2), truth=np.ones(inputs, dtype=np.int64), classes=2, repeats=1)
    many = inputs // 2 / inputs if inputs >= 10 else None
    assert report.accuracy("best participant") == (best if best is not None else many)


def test_the_best_of_a_sparse_crowd_is_not_right_once_of_once() -> None:
    votes = crowd(1, 1, 0, inputs=300)
    votes = np.vstack([votes, np.full((1, 300), -1)])
    votes[-1, 0] = 1
    report = compare(votes, Slush(10, 6), truth=np.ones(300, dtype=np.int64), repeats=1)
    each = [(row == 1)[row >= 0].mean() for row in votes[:-1]]
    assert report.accuracy("best participant") == pytest.approx(max(each))
    assert max(each) < 1
