"""Everybody's first votes in the shapes in which listening needs them, made once for all who listen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Ints, Singles
from folkmoot.trust.camps import copies
from folkmoot.trust.counting import PackedVotes, agreement_counts, pack_votes
from folkmoot.trust.few_inputs import FOLDS, fold_of
from folkmoot.votes import Votes, check_votes, class_count


@dataclass(frozen=True, eq=False)
class Heard:
    """First votes that have been revealed; ``hear`` makes it."""

    votes: Votes
    packed: PackedVotes
    agreements: Ints
    one_hot: Singles  # (participant, colour, input)

    @property
    def cast(self) -> Ints:
        """(participant,): on how many inputs each has voted."""
        return np.diag(self.agreements)

    @cached_property
    def original(self) -> Ints:
        """(participant,): the first whose votes each repeats; itself if it repeats nobody's."""
        return copies(self.agreements)

    @cached_property
    def sharing(self) -> Ints:
        """(participant,): how many cast the same votes."""
        return np.bincount(self.original, minlength=len(self.votes))[self.original]

    @cached_property
    def without_a_fold(self) -> tuple[Heard, ...]:
        """The same votes without each of the folds in turn."""
        fold, classes = fold_of(self.votes.shape[1]), self.one_hot.shape[1]
        return tuple(hear(self.votes[:, fold != each], classes) for each in range(FOLDS))


def hear(votes: npt.ArrayLike, classes: int | None) -> Heard:
    """First votes, checked and counted."""
    cast = check_votes(votes, classes)
    packed = pack_votes(cast, classes)
    colours = np.arange(class_count(cast, classes))
    one_hot = (cast[:, None, :] == colours[None, :, None]).astype(np.float32)
    return Heard(cast, packed, agreement_counts(packed), one_hot)
