"""Who talks about what: votes, liars and those who cannot answer, checked; and their talks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries import Adversary, Knows, handed_in
from folkmoot.arrays import Bools, Ints
from folkmoot.outcome import Outcome
from folkmoot.protocols import SnowProtocol
from folkmoot.sampling import Sampling
from folkmoot.simulation import deliberate
from folkmoot.simulation.among import deliberate_among
from folkmoot.simulation.peer_reviewed import Reviewing, review_gold_first
from folkmoot.simulation.self_anchored import Listeners, listen_first
from folkmoot.trust import Anchor, Gold
from folkmoot.trust.conduct import Opinion
from folkmoot.votes import UNCOLOURED, Votes, check_votes, class_count


@dataclass(frozen=True, eq=False)
class Scene:
    """What is the same for all talks and rules that are compared."""

    votes: Votes
    truth: Ints | None  # -1 where not known
    classes: int
    adversaries: dict[int, Adversary]  # of those who can answer
    faults: dict[int, str]
    keys: Callable[[Votes], Ints] | None
    sampling: Sampling | None
    options: dict[str, Any]  # of ``deliberate``

    @classmethod
    def checked(
        cls,
        votes: npt.ArrayLike,
        truth: npt.ArrayLike | None,
        classes: int | None,
        adversaries: Mapping[int, Adversary],
        faults: Mapping[int, str],
        keys: Callable[[Votes], Ints] | None,
        sampling: Sampling | None,
        options: dict[str, Any],
    ) -> Scene:
        """A scene; a ValueError or TypeError says what is wrong."""
        cast, right, classes = _checked(votes, truth, classes)
        _check_numbers("faults", faults, len(cast))
        _check_numbers("adversaries", adversaries, len(cast))
        adversaries = {i: liar for i, liar in adversaries.items() if i not in faults}
        _check_seers(adversaries, right)
        return cls(cast, right, classes, adversaries, dict(faults), keys, sampling, options)

    @property
    def there(self) -> list[int]:
        """Who can answer."""
        return [i for i in range(len(self.votes)) if i not in self.faults]

    @property
    def lying(self) -> Bools:
        """(participant,): who is an adversary."""
        return np.isin(np.arange(len(self.votes)), list(self.adversaries))

    @property
    def whole_truth(self) -> Ints | None:
        """The truth if it is known of every input: what adversaries may be told."""
        return None if self.truth is None or (self.truth == UNCOLOURED).any() else self.truth

    def seen(self, given: npt.ArrayLike | None) -> Votes:
        """The votes that a centre sees: as given, or with what the adversaries hand in."""
        if given is None:
            missing = self.options["missing"]
            return handed_in(self.votes, self.adversaries, self.truth, self.classes, missing=missing)
        votes = check_votes(given, self.classes)
        if votes.shape != self.votes.shape:
            raise ValueError(f"seen must have the shape of votes {self.votes.shape}: got {votes.shape}")
        return votes

    def review(self, gold: Gold) -> Listeners[Opinion] | None:
        """Those who learn from gold what is right; None, with a warning, if nobody can."""
        one_each("gold", gold.anchors, len(self.votes))
        cast = self.votes.copy()
        cast[list(self.faults)] = UNCOLOURED
        return review_gold_first(
            cast,
            gold,
            adversaries=self.adversaries,
            truth=self.whole_truth,
            classes=self.classes,
            missing=self.options["missing"],
        )

    def listen(self, anchors: Sequence[Anchor | None] | Gold | Reviewing) -> Listeners[Opinion] | None:
        """Those who learn whom to trust by their anchors; None, with a warning, if nobody can."""
        if isinstance(anchors, Reviewing):
            return anchors.first(self.votes, self.adversaries, self.whole_truth)
        given: Sequence[Anchor | None] = anchors.anchors if isinstance(anchors, Gold) else anchors
        one_each("anchors", given, len(self.votes))
        there = [None if i in self.faults else anchor for i, anchor in enumerate(given)]
        return listen_first(
            self.votes,
            there,
            gold=anchors if isinstance(anchors, Gold) else None,
            adversaries=self.adversaries,
            truth=self.whole_truth,
            classes=self.classes,
        )

    def talk(
        self, protocol: SnowProtocol[Any], listeners: Listeners[Opinion] | None = None, **more: Any
    ) -> Outcome:
        """The deliberation of those who can answer, or of those who listened."""
        held = self.votes if listeners is None else listeners.held
        options = self.options | more | {"truth": self.whole_truth, "classes": self.classes}
        if self.keys is not None:
            options["keys"] = self.keys(held)
        if listeners is not None:
            del options["missing"]  # who anchors has decided, and the others do not talk
            return listeners.talk(protocol, self.adversaries, **options)
        options |= {"adversaries": self.adversaries, "sampling": self.sampling}
        if not self.faults:
            return deliberate(held, protocol, **options)
        return deliberate_among(self.there, held, protocol, **options)


def one_each(
    what: str, values: Sequence[Any] | npt.NDArray[Any], many: int, each: str = "participant"
) -> None:
    """ValueError if there is not one for each."""
    if len(values) != many:
        raise ValueError(f"{what} must hold one per {each} ({many}): got {len(values)}")


def _checked(
    votes: npt.ArrayLike, truth: npt.ArrayLike | None, classes: int | None
) -> tuple[Votes, Ints | None, int]:
    """Votes, truth (-1 where not known) and the number of colours in both."""
    cast = check_votes(votes, classes)
    classes = class_count(cast, classes, truth)
    if truth is None:
        return cast, None, classes
    right = np.asarray(truth)
    if right.shape != cast.shape[1:]:
        raise ValueError(f"truth must hold one class per input ({cast.shape[1]}): got shape {right.shape}")
    if right.dtype.kind not in "iu":
        raise TypeError(f"truth must be integers: got an array of {right.dtype}")
    bad = np.flatnonzero((right < UNCOLOURED) | (right >= classes))
    if bad.size:
        raise ValueError(f"truth[{bad[0]}] must satisfy -1 <= class < {classes}: got {right[bad[0]]}")
    return cast, right.astype(np.int64), classes


def _check_numbers(what: str, numbers: Mapping[int, object], participants: int) -> None:
    for number in numbers:
        if not 0 <= checks.integer(what, number) < participants:
            raise ValueError(f"{what} must name participants 0..{participants - 1}: got {number}")


def _check_seers(adversaries: Mapping[int, Adversary], truth: Ints | None) -> None:
    """Those who must know the truth need all of it."""
    seer = next((i for i, liar in adversaries.items() if Knows.TRUTH in liar.knows), None)
    if seer is None or (truth is not None and (truth != UNCOLOURED).all()):
        return
    what = "give truth=" if truth is None else f"truth[{int((truth == UNCOLOURED).argmax())}] is -1"
    raise ValueError(
        f"participant {seer} is {type(adversaries[seer]).__name__}, which must know the truth: {what}"
    )
