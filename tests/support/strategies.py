"""Random but valid parameters for property tests."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from folkmoot.arrays import Ints
from folkmoot.checks import ByzantineThresholdWarning
from folkmoot.protocols.sampling import Everyone, Others
from folkmoot.theory import LocalSlushChain, SlushChain
from folkmoot.votes import Votes


@st.composite
def queries(draw: st.DrawFn, most_k: int = 20) -> tuple[int, int]:
    """(k, alpha) with k/2 < alpha <= k."""
    k = draw(st.integers(1, most_k))
    return k, draw(st.integers(k // 2 + 1, k))


def law_of(self_sampling: bool) -> Everyone | Others:
    """The library's name of the law under which a node may draw itself, or may not."""
    return Everyone() if self_sampling else Others()


def draws_itself(chain: SlushChain | LocalSlushChain) -> bool:
    """The oracles' word for a chain's law."""
    return isinstance(chain.sampling, Everyone)


def quiet_chain(n: int, k: int, alpha: int, *, byzantine: int = 0, self_sampling: bool = True) -> SlushChain:
    """A chain without the warning for byzantine >= alpha."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ByzantineThresholdWarning)
        return SlushChain(n, k, alpha, byzantine=byzantine, sampling=law_of(self_sampling))


@st.composite
def chains(
    draw: st.DrawFn,
    *,
    most: int,
    least: int = 1,
    odd: bool = False,
    honest_only: bool = False,
    allow_f_over_alpha: bool = True,
    self_sampling: bool | None = None,
    mixing: bool = False,
) -> SlushChain:
    """A chain of at most ``most`` participants; ``mixing`` asks for alpha <= ceil(n/2), so none is frozen."""
    n = draw(st.integers(least, most))
    if odd and n % 2 == 0:
        n = n + 1 if n < most else n - 1
    own = draw(st.booleans()) if self_sampling is None else self_sampling
    own = own or n == 1
    k = draw(st.integers(1, n if own else n - 1))
    if mixing:
        k = min(k, 2 * ((n + 1) // 2) - 1)
    top = min(k, (n + 1) // 2) if mixing else k
    alpha = draw(st.integers(k // 2 + 1, top))
    most_f = 0 if honest_only else n - 1 if allow_f_over_alpha else min(n - 1, alpha - 1)
    f = draw(st.integers(0, most_f))
    return quiet_chain(n, k, alpha, byzantine=f, self_sampling=own)


@st.composite
def vote_tables(
    draw: st.DrawFn, *, most_participants: int = 7, most_inputs: int = 6, most_classes: int = 4
) -> tuple[Votes, int]:
    """(votes, classes), with abstentions and often with ties."""
    n = draw(st.integers(1, most_participants))
    inputs = draw(st.integers(1, most_inputs))
    classes = draw(st.integers(2, most_classes))
    row = st.lists(st.integers(-1, classes - 1), min_size=inputs, max_size=inputs)
    return np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=np.int64), classes


class Renamed(NamedTuple):
    """A table of votes, and other orders of participants, inputs and colours."""

    votes: Votes
    classes: int
    who: list[int]
    where: list[int]
    name: list[int]

    @property
    def colours(self) -> Ints:
        """The new name of each colour; -1 indexes the last, so that uncoloured stays uncoloured."""
        return np.array([*self.name, -1])


@st.composite
def renamed_tables(draw: st.DrawFn) -> Renamed:
    """What no rule's answer may depend on but for its names."""
    votes, classes = draw(vote_tables())
    return Renamed(votes, classes, *(draw(st.permutations(range(m))) for m in (*votes.shape, classes)))
