"""A node that plays an adversary: the session of a liar, in the place of an honest one.

A real node has no truth, so an adversary that must know it (perfectly malicious) takes its own model's
answer for the truth. One that must see what others hold without asking cannot be played by a node.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from folkmoot.adversaries import ATTACKS, NUMBER_ATTACKS, Adversary, FarAway, Knows, NumberAdversary, Sees
from folkmoot.arrays import Array, Colours
from folkmoot.network.session.closing import Closing
from folkmoot.network.session.comparing import Comparing
from folkmoot.network.session.gathering import Gathering
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import WITHOUT_TRUST, Event
from folkmoot.network.session.revealing import Revealing
from folkmoot.network.session.session import Session
from folkmoot.network.session.stance import Stance, Told
from folkmoot.network.session.talking import Talking
from folkmoot.network.session.voting import Fetching, Voting
from folkmoot.network.wire.forms import ChanceForm, NumberForm
from folkmoot.protocols import SnowProtocol
from folkmoot.testing.number_liars import (
    ListeningTalking,
    LyingNumberClosing,
    LyingNumberStance,
    LyingNumberVoting,
    NumberLies,
)
from folkmoot.votes import UNCOLOURED, to_levels

PLAYABLE = tuple(name for name, kind in ATTACKS.items() if Knows.POPULATION not in kind.knows)
PLAYABLE_IN_NUMBERS = tuple(NUMBER_ATTACKS)  # who sees the others there takes what it was told for it


class Liar:
    """An adversary in the place of an honest participant."""

    def __init__(
        self, adversary: Adversary, rng: random.Random, in_numbers: NumberAdversary | None = None
    ) -> None:
        """``in_numbers`` is how it lies in motions about these; absurd numbers, if it is not said."""
        if Knows.POPULATION in adversary.knows:
            name = next((name for name, kind in ATTACKS.items() if kind is type(adversary)), "this")
            raise ValueError(f"a node cannot play {name!r}, which sees what others hold without asking")
        self._adversary = adversary
        self._rng = rng
        self.in_numbers = in_numbers or FarAway()

    @property
    def fickle(self) -> bool:
        """Whether its answer may change with every query, and not only with who asks."""
        return self._adversary.sees is Sees.DIE

    def first(self, votes: Colours, classes: int) -> Colours:
        """The first votes it commits to, given what its model says."""

        def vote(said: int) -> int:
            return self._adversary.first_vote(vote=said, truth=said, classes=classes)

        return _each(vote, votes)

    def answer(self, asker: int, votes: Colours, classes: int) -> Colours | None:
        """What it tells this asker; None is silence."""
        if self._adversary.sees is Sees.DIE:
            dice = [self._rng.randrange(classes) for _ in range(votes.size)]
            pairs = zip(dice, votes.tolist(), strict=True)
            told = [
                self._adversary.answer(die, vote=said, truth=said, classes=classes) for die, said in pairs
            ]
            return np.array(told, dtype=np.int8)
        seen = asker if self._adversary.sees is Sees.ASKER else 0

        def answer(said: int) -> int:
            return self._adversary.answer(seen, vote=said, truth=said, classes=classes)

        colours = _each(answer, votes)
        return None if (colours == UNCOLOURED).all() else colours


class LyingSession(Session):
    """A session whose node lies: in its first votes, to whoever asks, and in its close.

    It reveals and listens to nobody, asks nobody, and leaves the talk when others do.
    """

    def __init__(self, liar: Liar, *arguments: Any, **options: Any) -> None:
        """Everything after the liar is as for a ``Session``."""
        self._liar = liar
        super().__init__(*arguments, **options)

    def _take_places(self, alpha: int, weights: Sequence[float] | None) -> None:
        minutes, patience, liar = self.minutes, self._patience, self._liar
        fetching = Fetching(self.motion)
        self._table = WITHOUT_TRUST
        self._gathering = Gathering(minutes, patience)
        self._comparing = Comparing(minutes, self._secrets)
        self._revealing = None
        if not self.motion.is_labels:
            self._take_number_places(fetching)
            return
        stance = self._stance = _LyingStance(minutes, self.motion.rule(alpha), liar, fetching)
        self._voting = _LyingVoting(minutes, patience, stance, self._secrets, fetching, liar)
        self._revealing = Revealing(minutes, patience, stance, self._comparing)
        self._talking = _OnlyAnswering(minutes, patience, stance, self._rng, weights)
        self._closing = _LyingClosing(minutes, patience, stance, self._rng)

    def _take_number_places(self, fetching: Fetching) -> None:
        minutes, patience, motion = self.minutes, self._patience, self.motion
        chances = motion.answers == "probabilities"
        form = ChanceForm(motion.asked, motion.classes) if chances else NumberForm(motion.asked)
        lies = NumberLies(self._liar.in_numbers, form, self._rng)
        stance = self._stance = LyingNumberStance(minutes, lies, fetching)
        self._revealing = Revealing(minutes, patience, stance, self._comparing)
        self._voting = LyingNumberVoting(lies, minutes, patience, stance, self._secrets, fetching)
        self._talking = ListeningTalking(lies, minutes, patience, stance, self._rng)
        self._closing = LyingNumberClosing(minutes, patience, stance, self._rng)


class _LyingVoting(Voting):
    def __init__(
        self,
        minutes: Minutes,
        patience: Patience,
        stance: Stance,
        secrets: random.Random,
        fetching: Fetching,
        liar: Liar,
    ) -> None:
        super().__init__(minutes, patience, stance, secrets, fetching)
        self._liar = liar

    def first_votes(self) -> Array:
        """What it commits to; where probabilities are asked for, it is sure of the lie."""
        votes, form = super().first_votes(), self._minutes.motion.form
        lies = self._liar.first(form.first_colours(votes), self._minutes.motion.classes)
        if votes.ndim == 1:
            return lies
        certain = to_levels(np.eye(self._minutes.motion.classes)[lies]).astype(votes.dtype)
        return np.where(lies[:, None] == UNCOLOURED, votes.dtype.type(-1), certain)


class _LyingStance(Stance):
    def __init__(self, minutes: Minutes, rule: SnowProtocol[Any], liar: Liar, fetching: Fetching) -> None:
        super().__init__(minutes, rule)
        self._liar, self._fetching = liar, fetching

    def lie_to(self, peer: int) -> Colours | None:
        """What it tells a peer, given what its model said; None is silence."""
        motion = self._minutes.motion
        votes = motion.form.first_colours(self._minutes.of_asker(self._fetching.votes))
        return self._liar.answer(peer, votes, motion.classes)

    def told_to(self, peer: int) -> Told | None:
        """A lie, signed."""
        lie = self.lie_to(peer)
        if lie is None:
            return None
        self._version += self._liar.fickle
        return self._sign(lie)


class _OnlyAnswering(Talking):
    def tick(self, now: float) -> Event | float:
        """It is asked and does not ask; it leaves when others do."""
        if self.has_ended(now) or len(self._minutes.closes) > self._minutes.seat.n // 4:
            return Event.TALKED
        return self._patience.talk_by

    def may_tell(self) -> bool:
        """It does not wait for the talk."""
        return self._minutes.voted is not None


class _LyingClosing(Closing):
    _stance: _LyingStance

    def begin(self, now: float) -> None:
        """Sign what it tells the asker, or be silent to the end."""
        if self._minutes.seat.place in self._minutes.closes:
            super().begin(now)
            return
        lie = self._stance.lie_to(self._minutes.motion.asker)
        if lie is None:
            self.wait(now)
        else:
            self.sign(now, lie)


def _each(rule: Callable[[int], int], votes: Colours) -> Colours:
    """The rule for every vote; where the model said nothing, so does the liar."""
    told = np.full(votes.shape, UNCOLOURED, dtype=np.int8)
    for said in np.unique(votes).tolist():
        if said != UNCOLOURED:
            told[votes == said] = rule(said)
    return told
