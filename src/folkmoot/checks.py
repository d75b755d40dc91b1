"""Checks of what callers hand in: each failure is one line that names the broken rule and the values.

Messages read "<what> must satisfy <inequality>: got <values>", so that the reader sees what was
wrong and what to type instead. The command line prints them with its options for the names of arguments.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from string import Formatter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Floats

DEFAULT_K: Final = 10  # the paper's
MOST_PARTICIPANTS: Final = 10_000_000  # a table with a row for each must fit into the memory of any machine
_MOST_ROUNDS: Final = 10**9


class MootWarning(UserWarning):
    """Any warning of folkmoot: the result is there all the same, and the message says what to look at.

    Examples
    --------
    >>> import warnings
    >>> from folkmoot import MootWarning
    >>> warnings.simplefilter("ignore", MootWarning)  # or "error"
    """


class ByzantineThresholdWarning(MootWarning):
    """There are at least alpha Byzantine participants (f >= alpha).

    They alone can then turn an honest participant. So the all-blue state is left with positive probability,
    and red is the only true absorbing state. Absorption probabilities follow the paper (section 4.4): the
    death rate out of all-blue is set to zero. ``distribution`` and ``accuracy(..., steps=T)`` follow the real
    process and need no such convention.
    """


class ArgumentError(ValueError):
    """An argument that does not fit. The message names arguments as the caller knows them."""

    def __init__(self, message: str, **given: object) -> None:
        self.message = message
        self.given = given
        super().__init__(self.named({}))

    def named(self, options: Mapping[str, str]) -> str:
        """The message with these names, such as options of a command, for those of arguments."""
        return "".join(
            literal + self._filled(field, spec or "", conversion, options)
            for literal, field, spec, conversion in Formatter().parse(self.message)
        )

    def _filled(
        self, field: str | None, spec: str, conversion: str | None, options: Mapping[str, str]
    ) -> str:
        if field is None:
            return ""
        name = field.removesuffix("=")
        if conversion is not None:
            return repr(self.given[name]) if conversion == "r" else str(self.given[name])
        if name == field:
            return options.get(name, name).lstrip("-" if spec == "bare" else "")
        return f"{options[name]} {self.given[name]}" if name in options else f"{name}={self.given[name]}"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self.message, **self.given), ()


def _bad(name: str, rule: str, value: object) -> ValueError:
    """The error of one argument, or of something else with a name, that breaks a rule."""
    if not name.isidentifier():
        return ValueError(f"{name} {rule.replace(f'{{{name}:bare}}', name)}: got {name}={value}")
    return ArgumentError(f"{{{name}}} {rule}: got {{{name}=}}", **{name: value})


def integer(name: str, value: object, *, least: int | None = None) -> int:
    """``value`` as an int, without rounding, and not below ``least``."""
    try:
        result = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer: got {name}={value!r}") from None
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer: got {name}={value!r}")
    if least is not None and result < least:
        raise _bad(name, f"must satisfy {{{name}:bare}} >= {least}", result)
    return result


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """The word, if it is one of those known."""
    if not isinstance(value, str) or value not in known:
        words = " or ".join(map(repr, known)) if len(known) < 4 else f"one of {', '.join(known)}"
        raise ArgumentError(f"{{{name}}} must be {words}: got {{{name}!r}}", **{name: value})
    return value


def rounds(value: object) -> int:
    """A number of rounds, or an error if it is none."""
    many = integer("rounds", value, least=0)
    if many > _MOST_ROUNDS:
        raise ArgumentError(
            f"{{rounds}} must satisfy rounds <= {_MOST_ROUNDS:,}: got {{rounds=}}",
            rounds=many,
        )
    return many


def seed(value: object) -> int:
    """A seed, or an error if it is none."""
    number = integer("seed", value, least=0)
    if number >= 2**63:
        raise ArgumentError("{seed} must satisfy seed < 2^63: got {seed=}", seed=number)
    return number


def query(k: object, alpha: object) -> tuple[int, int]:
    """Sample size and threshold, with k/2 < alpha <= k (appendix A.1)."""
    size = integer("k", k, least=1)
    threshold = integer("alpha", alpha)
    if not size < 2 * threshold <= 2 * size:
        raise ArgumentError(
            "{alpha} must satisfy k/2 < alpha <= k: got {alpha=}, {k=}",
            alpha=threshold,
            k=size,
        )
    return size, threshold


def least_alpha(k: int) -> int:
    """floor(k/2) + 1: the least threshold that two classes cannot both reach."""
    return k // 2 + 1


def default_query(participants: int, k: int | None = None, alpha: int | None = None) -> tuple[int, int]:
    """Sample size and threshold where they are not given: k is 10 or all others, alpha the least majority."""
    size = min(DEFAULT_K, max(1, participants - 1)) if k is None else k
    return size, least_alpha(size) if alpha is None else alpha


def population(n: object, byzantine: object, *, argument: str = "byzantine") -> tuple[int, int]:
    """Participants in all, n <= MOST_PARTICIPANTS, and how many of them are Byzantine, 0 <= byzantine < n.

    ``argument`` is what the caller calls the second.
    """
    everyone = integer("n", n, least=1)
    if everyone > MOST_PARTICIPANTS:
        raise ArgumentError(f"{{n}} must satisfy n <= {MOST_PARTICIPANTS:,}: got {{n=}}", n=everyone)
    malicious = integer(argument, byzantine)
    if not 0 <= malicious < everyone:
        raise ArgumentError(
            f"{{{argument}}} must satisfy 0 <= {{{argument}:bare}} < n: got {{{argument}=}}, {{n=}}",
            n=everyone,
            **{argument: malicious},
        )
    return everyone, malicious


def probability(name: str, value: object) -> float:
    """A number in [0, 1]; NaN is not one."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number within [0, 1]: got {name}={value!r}") from None
    if not 0.0 <= number <= 1.0:
        raise _bad(name, f"must satisfy 0 <= {{{name}:bare}} <= 1", number)
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
        raise _bad(name, "must be finite", result)
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
        raise ArgumentError(f"{{p}} must be one-dimensional: got an array of shape {values.shape}")
    if values.size == 0:
        raise ArgumentError("{p} must hold one accuracy per honest participant: got an empty sequence")
    if honest is not None and values.size != honest:
        raise ArgumentError(
            f"{{p}} must hold one accuracy per honest participant (n - byzantine = {honest}): got "
            f"{values.size} values"
        )
    bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if bad.size:
        where = int(bad[0])
        raise ArgumentError(f"{{p}} must satisfy 0 <= p <= 1: got p[{where}]={values[where]}")
    return values


def required_votes(n: int, delta: object = None, q: object = None) -> int:
    """Votes that a (super)majority of n needs: floor(n/2) + 1 + delta, or ceil(q n).

    Definition "delta-supermajority rule"; for odd n the first is the paper's ceil(n/2) + delta. Both are more
    than half of n. ``q`` is read as the decimal that the caller wrote, so q=0.55 of n=100 is 55 votes and not
    56 by binary rounding. A Fraction is exact.
    """
    if q is not None:
        if delta is not None and delta != 0:
            raise ArgumentError("give {delta} or {q}, not both: got {delta=}, {q=}", delta=delta, q=q)
        share = q if isinstance(q, Fraction) else Fraction(repr(probability("q", q)))
        if not Fraction(1, 2) < share <= 1:
            raise ArgumentError("{q} must satisfy 1/2 < q <= 1: got {q=}", q=q)
        return math.ceil(share * n)
    margin = integer("delta", 0 if delta is None else delta, least=0)
    needed = n // 2 + 1 + margin
    if needed > n:
        raise ArgumentError(
            "{delta} must satisfy floor(n/2) + 1 + delta <= n: got {delta=}, {n=}",
            delta=margin,
            n=n,
        )
    return needed


def tied_votes(n: int, delta: object = None, q: object = None) -> int | None:
    """The number of right votes of n that is a tie, n/2; None if n is odd, or a supermajority is wanted.

    A supermajority that is not reached is undecided, not a tie.
    """
    return None if n % 2 or delta or q is not None else n // 2
