"""A node that lies in a motion about numbers or probabilities.

The adversaries of ``agree`` see the honest range and the asker's number. A real node has heard some of it: it
asks like all others, and takes what it was told last for what they hold; at first, its own model's numbers.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from folkmoot.adversaries import NumberAdversary, Observation
from folkmoot.arrays import Array, Floats
from folkmoot.network.session.closing import Closing
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.numbers import NumberStance, NumberTalking
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.stance import Told
from folkmoot.network.session.voting import Fetching, Voting
from folkmoot.network.wire.forms import ChanceForm, NumberForm


class NumberLies:
    """What one lying node says in one motion, by what it was told."""

    def __init__(self, adversary: NumberAdversary, form: NumberForm, rng: random.Random) -> None:
        self._adversary, self._form, self._rng = adversary, form, rng
        self.heard: dict[int, Floats] = {}  # what each peer told last

    def first(self, votes: Array) -> Array:
        """What it commits to. Probabilities must add up, so there it says what its model does."""
        return votes if isinstance(self._form, ChanceForm) else self._said(votes, votes, {})

    def answer(self, peer: int, own: Floats) -> Floats | None:
        """What it tells a peer; None is silence."""
        asker = self.heard.get(peer, own)
        lie = self._said(own, np.where(np.isnan(asker), own, asker), self.heard)
        return None if np.isnan(lie).all() else lie

    def _said(self, own: Floats, asker: Floats, heard: Mapping[int, Floats]) -> Floats:
        known = np.stack([own, *heard.values()])
        there = ~np.isnan(known)
        low = np.where(there, known, np.inf).min(axis=0)
        high = np.where(there, known, -np.inf).max(axis=0)
        told = low <= high
        low, high = np.where(told, low, 0.0), np.where(told, high, 0.0)
        die = np.array([self._rng.random() for _ in range(self._form.outputs)])
        asks, says = np.nan_to_num(asker)[:, None], np.nan_to_num(own)[:, None]
        seen = Observation(low[:, None], high[:, None], asker=asks, own=says, die=die[None, None])
        said = np.broadcast_to(np.asarray(self._adversary.answer_number(seen)), seen.asker.shape)[:, 0]
        return np.where(told, np.clip(said, self._form.low, self._form.high), np.nan)


class LyingNumberVoting(Voting):
    """Commits to a lie."""

    def __init__(self, lies: NumberLies, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lies = lies

    def first_votes(self) -> Array:
        """What it commits to."""
        return self._lies.first(super().first_votes())


class LyingNumberStance(NumberStance):
    """Tells each something else, with another version each time."""

    def __init__(self, minutes: Minutes, lies: NumberLies, fetching: Fetching) -> None:
        super().__init__(minutes)
        self._lies, self._fetching = lies, fetching

    def lie_to(self, peer: int) -> Floats | None:
        """What it tells a peer; None is silence."""
        minutes = self._minutes
        votes = minutes.of_asker(self._fetching.votes)
        reviewed = minutes.motion.review is not None  # then which rows are talked about is told late
        return self._lies.answer(peer, votes if reviewed else minutes.motion.form.opening(votes))

    def told_to(self, peer: int) -> Told | None:
        """A lie, signed."""
        lie = self.lie_to(peer)
        if lie is None:
            return None
        self._version += 1
        return self._sign(lie)


class ListeningTalking(NumberTalking):
    """Asks like the others, to know what they hold."""

    def __init__(
        self,
        lies: NumberLies,
        minutes: Minutes,
        patience: Patience,
        stance: NumberStance,
        rng: random.Random,
    ) -> None:
        super().__init__(minutes, patience, stance, rng)
        self._lies = lies

    def _told_by(self, peer: int, version: int, held: Array) -> None:  # noqa: ARG002
        self._lies.heard[peer] = held


class LyingNumberClosing(Closing):
    """Signs what it tells the asker of the motion, or nothing."""

    _stance: LyingNumberStance

    def begin(self, now: float) -> None:
        """Sign a lie, or be silent to the end."""
        lie = self._stance.lie_to(self._minutes.motion.asker)
        if self._minutes.seat.place in self._minutes.closes:
            super().begin(now)
        elif lie is None:
            self.wait(now)
        else:
            self.sign(now, lie)
