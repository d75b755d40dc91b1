"""A talk of some is the talk of those alone, under their own numbers: liars, graphs and trust move along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pytest

from folkmoot import Everyone, Neighbours, Slush, deliberate
from folkmoot.adversaries.behaviours import Copycat
from folkmoot.adversaries.interface import Adversary, Knows, Sees
from folkmoot.outcome import Outcome
from folkmoot.protocols.sampling import Sampling
from folkmoot.simulation.engine import deliberate_among

THERE = [1, 3, 4, 6, 7, 8, 9]
RNG = np.random.default_rng(2)
VOTES = RNG.integers(0, 2, (10, 60))
GRAPH = RNG.random((10, 10)) < 0.9
GRAPH[np.arange(10), np.arange(10)] = False
# Powers of two, so that rows can be rescaled without rounding; some are not trusted.
TRUST = 2.0 ** RNG.integers(-3, 4, (10, 10)) * RNG.choice([-1, 1, 1, 1], (10, 10))


@dataclass(frozen=True)
class Contrarian(Adversary):
    """Says the opposite of what another participant holds: not a ``Copycat``, and it follows all the same."""

    opposes: int

    knows = Knows.POPULATION
    sees = Sees.TARGET

    def answer(self, seen: int, *, vote: int, truth: int, classes: int) -> int:  # noqa: ARG002
        return seen if seen < 0 else (seen + 1) % classes

    @property
    def follows(self) -> int:
        return self.opposes

    def renumbered(self, place: Mapping[int, int]) -> Self:
        return replace(self, opposes=place[self.opposes])


def same(one: Outcome, other: Outcome) -> bool:
    return np.array_equal(one.decisions[THERE], other.decisions) and np.array_equal(one.rounds, other.rounds)


@pytest.mark.parametrize("kind", [Copycat, Contrarian])
def test_whoever_is_followed_is_followed_by_its_new_number(kind: type[Copycat] | type[Contrarian]) -> None:
    # Participants 4 and 7 are the third and the fifth of those who are there.
    talk = deliberate_among(THERE, VOTES, Slush(3, 2), adversaries={4: kind(7), 0: kind(2)}, seed=1)
    assert same(talk, deliberate(VOTES[THERE], Slush(3, 2), adversaries={2: kind(4)}, seed=1))
    assert not same(talk, deliberate(VOTES[THERE], Slush(3, 2), adversaries={2: kind(3)}, seed=1))
    with pytest.raises(ValueError, match=f"{kind.__name__} follows participant 5, which cannot answer"):
        deliberate_among(THERE, VOTES, Slush(3, 2), adversaries={4: kind(5)})


def test_who_follows_and_does_not_say_how_to_be_renumbered_is_refused() -> None:
    class Forgetful(Contrarian):
        renumbered = Adversary.renumbered

    with pytest.raises(TypeError, match="Forgetful follows a participant, so it must define renumbered"):
        deliberate_among(THERE, VOTES, Slush(3, 2), adversaries={4: Forgetful(7)})


@pytest.mark.parametrize(
    ("law", "among_them"),
    [
        (Neighbours(GRAPH), Neighbours(GRAPH[np.ix_(THERE, THERE)])),
        (Everyone(), Everyone()),
    ],
    ids=["graph", "everyone"],
)
def test_the_sampling_law_among_those_who_are_there(law: Sampling, among_them: Sampling) -> None:
    assert law.restricted(THERE) == among_them
    assert law.restricted(range(10)) == law
    talk = deliberate_among(THERE, VOTES, Slush(3, 2), adversaries={}, sampling=law, seed=1)
    assert same(talk, deliberate(VOTES[THERE], Slush(3, 2), sampling=among_them, seed=1))
    assert (talk.decisions[[0, 2, 5]] == -1).all()


def test_a_law_restricted_in_another_order_is_that_of_the_same_participants() -> None:
    order = [8, 1, 4]
    assert Neighbours(GRAPH).restricted(order) == Neighbours(GRAPH[np.ix_(order, order)])
    assert Neighbours(GRAPH) != Neighbours(GRAPH.T)
    assert len({Neighbours(GRAPH), Neighbours(GRAPH.astype(float))}) == 1
