"""Checks of what callers hand in: each failure is one line that names the broken rule and the values.

Messages read "<what> must satisfy <inequality>: got <values>", so that the reader sees what was
wrong and what to type instead. The command line prints them as they are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Floats

DEFAULT_K: Final = 10  # the paper's
MOST_PARTICIPANTS: Final = 10_000_000  # a table with a row for each must fit into the memory of any machine
_MOST_ROUNDS: Final = 10**9


class ByzantineThresholdWarning(UserWarning):
    """There are at least alpha Byzantine participants (f >= alpha).

    They alone can then turn an honest participant, so the all-blue state is left again with positive
    probability and red is the only true absorbing state. Absorption probabilities follow the paper
    (section 4.4): the death rate out of all-blue is set to zero. ``distribution`` and
    ``accuracy(..., steps=T)`` follow the real process and need no such convention.

    Examples
    --------
    Three liars reach alpha = 3 by themselves. By the paper's convention the network is likely to end right;
    in the real process everybody is wrong in the end.

    >>> import warnings
    >>> from folkmoot import ByzantineThresholdWarning
    >>> from folkmoot.theory import SlushChain
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ByzantineThresholdWarning)
    ...     chain = SlushChain(20, k=5, alpha=3, byzantine=3)
    >>> print(f"{chain.accuracy(0.9):.3f} {chain.accuracy(0.9, steps=10**6):.3f}")
    0.903 0.000
    """


def integer(name: str, value: object, *, least: int | None = None) -> int:
    """``value`` as an int, without rounding, and not below ``least``."""
    try:
        result = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer: got {name}={value!r}") from None
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer: got {name}={value!r}")
    if least is not None and result < least:
        raise ValueError(f"{name} must satisfy {name} >= {least}: got {name}={result}")
    return result


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """The word, if it is one of those known."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be {' or '.join(map(repr, known))}: got {value!r}")
    return value


def rounds(value: object) -> int:
    """A number of rounds, or an error if it is none."""
    many = integer("rounds", value, least=0)
    if many > _MOST_ROUNDS:
        raise ValueError(f"rounds must satisfy rounds <= {_MOST_ROUNDS:,}: got rounds={many}")
    return many


def seed(value: object) -> int:
    """A seed, or an error if it is none."""
    number = integer("seed", value, least=0)
    if number >= 2**63:
        raise ValueError(f"seed must satisfy seed < 2^63: got seed={number}")
    return number


def query(k: object, alpha: object) -> tuple[int, int]:
    """Sample size and threshold, with k/2 < alpha <= k (appendix A.1)."""
    size = integer("k", k, least=1)
    threshold = integer("alpha", alpha)
    if not size < 2 * threshold <= 2 * size:
        raise ValueError(f"alpha must satisfy k/2 < alpha <= k: got alpha={threshold}, k={size}")
    return size, threshold


def least_alpha(k: int) -> int:
    """floor(k/2) + 1: the least threshold that two colours cannot both reach."""
    return k // 2 + 1


def default_query(participants: int, k: int | None = None, alpha: int | None = None) -> tuple[int, int]:
    """Sample size and threshold where they are not given: k is 10 or all others, alpha the least majority."""
    size = min(DEFAULT_K, max(1, participants - 1)) if k is None else k
    return size, least_alpha(size) if alpha is None else alpha


def population(n: object, byzantine: object) -> tuple[int, int]:
    """Participants in all, n <= MOST_PARTICIPANTS, and how many of them are Byzantine, 0 <= byzantine < n."""
    everyone = integer("n", n, least=1)
    if everyone > MOST_PARTICIPANTS:
        raise ValueError(f"n must satisfy n <= {MOST_PARTICIPANTS:,}: got n={everyone}")
    liars = integer("byzantine", byzantine)
    if not 0 <= liars < everyone:
        raise ValueError(f"byzantine must satisfy 0 <= byzantine < n: got byzantine={liars}, n={everyone}")
    return everyone, liars


def probability(name: str, value: object) -> float:
    """A number in [0, 1]; NaN is not one."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number within [0, 1]: got {name}={value!r}") from None
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must satisfy 0 <= {name} <= 1: got {name}={number}")
    return number


def number(name: str, value: object) -> float:
    """``value`` as a float."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number: got {name}={value!r}") from None


def finite(name: str, value: object) -> float:
    """A number that is neither infinite nor NaN."""
    result = number(name, value)
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite: got {name}={result}")
    return result


def generator(seed: object) -> np.random.Generator:
    """Random numbers of this seed."""
    return np.random.default_rng(integer("seed", seed, least=0))


def accuracies(p: npt.ArrayLike, honest: int | None = None) -> Floats:
    """One accuracy in [0, 1] per honest participant."""
    try:
        values = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"p must be a number or a sequence of numbers: got {p!r}") from None
    if values.ndim != 1:
        raise ValueError(f"p must be one-dimensional: got an array of shape {values.shape}")
    if values.size == 0:
        raise ValueError("p must hold one accuracy per honest participant: got an empty sequence")
    if honest is not None and values.size != honest:
        raise ValueError(
            "p must hold one accuracy per honest participant (n - byzantine = "
            f"{honest}): got {values.size} values"
        )
    bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if bad.size:
        where = int(bad[0])
        raise ValueError(f"p must satisfy 0 <= p <= 1: got p[{where}]={values[where]}")
    return values


def required_votes(n: int, delta: object = None, q: object = None) -> int:
    """Votes that a (super)majority of n needs: floor(n/2) + 1 + delta, or ceil(q n).

    Definition "delta-supermajority rule"; for odd n the first is the paper's ceil(n/2) + delta. Both are more
    than half of n. ``q`` is read as the decimal the caller wrote, so that q=0.55 of n=100 is 55 votes and not
    the 56 that binary rounding would give; a Fraction is exact.
    """
    if q is not None:
        if delta is not None and delta != 0:
            raise ValueError(f"give delta or q, not both: got delta={delta}, q={q}")
        share = q if isinstance(q, Fraction) else Fraction(repr(probability("q", q)))
        if not Fraction(1, 2) < share <= 1:
            raise ValueError(f"q must satisfy 1/2 < q <= 1: got q={q}")
        return math.ceil(share * n)
    margin = integer("delta", 0 if delta is None else delta, least=0)
    needed = n // 2 + 1 + margin
    if needed > n:
        raise ValueError(f"delta must satisfy floor(n/2) + 1 + delta <= n: got delta={margin}, n={n}")
    return needed


def tied_votes(n: int, delta: object = None, q: object = None) -> int | None:
    """How many right votes of n are a tie, n/2; None if n is odd, or a supermajority is wanted.

    A supermajority that is not reached is undecided, not a tie.
    """
    return None if n % 2 or delta or q is not None else n // 2
