"""Storms of a few seeds, on all sizes and with all kinds of liars; the slow suite plays ten thousand."""

from __future__ import annotations

import pytest

from support.node.liars import KINDS
from support.node.storms import SIZES, Told, play


@pytest.mark.parametrize("part", range(3))
def test_what_is_promised_holds_in_storms(part: int) -> None:
    told = Told()
    for seed in range(20 * part, 20 * part + 20):
        told.add(play(seed, SIZES[seed % len(SIZES)]))
    assert told.storms == 20
    assert told.honest_votes > 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_promised_holds_with_every_kind(kind: str) -> None:
    for n in (4, 7):
        for seed in (1, 2):
            play(1000 + seed, n, [kind])


@pytest.mark.parametrize(("about", "first"), [("texts", 5000), ("talk", 6000)])
def test_what_is_promised_holds_about_texts_and_after_a_talk(about: str, first: int) -> None:
    """A poll of proposals and one of choices, of which some fit no candidate; or members ask each other."""
    told = Told()
    for seed in range(first, first + 24):
        told.add(play(seed, SIZES[seed % len(SIZES)], about=about))
    assert told.storms == 24
    assert told.honest_votes > 0


@pytest.mark.parametrize(("seed", "n"), [(11_064, 16), (11_663, 10)])
def test_what_broke_a_promise_once_does_not_again(seed: int, n: int) -> None:
    """A journal of more statements than a frame has; votes revealed too late by whom a liar held up."""
    play(seed, n, [kind for kind in KINDS if kind != "holds up the victim and leaves it out"])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(100))
def test_what_is_promised_holds_in_ten_thousand_storms(part: int) -> None:
    for seed in range(10_000 + 100 * part, 10_000 + 100 * part + 100):
        play(seed, SIZES[seed % len(SIZES)])
