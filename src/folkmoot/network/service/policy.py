"""Which motions a node is willing to play: limits on their parameters, on by default.

The parameters of a motion are its asker's, and some turn the talk against those who play it. With k=1,
alpha=1 and enough rounds one participant that always gives the same answer turns all others to it. With
labels that no model knows every honest node abstains, and signs whatever label somebody speaks for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from folkmoot import checks
from folkmoot.network.service.access import KEYS as ACCESS
from folkmoot.network.service.access import Access
from folkmoot.network.wire.messages import MOST_BYTES, MOST_CHECK_ROWS
from folkmoot.network.wire.motion import LOCAL, MOST_INPUTS, MOST_LABELS, MOST_ROUNDS, MOST_SECONDS, Motion
from folkmoot.node.membership.fields import check_keys
from folkmoot.node.membership.roster import faults

LEAST_ALPHA: Final = 6  # is enough in a moot of any size
LEAST_K: Final = 3
_BOUNDS: Final[dict[str, tuple[float, float]]] = {  # beyond these the format of motions has its own limits
    "least_alpha": (1, 1000),
    "least_k": (1, 1000),
    "most_rounds": (1, MOST_ROUNDS),
    "least_seconds": (1.0, MOST_SECONDS),
    "most_inputs": (1, MOST_INPUTS),
    "most_labels": (2, MOST_LABELS),
    "most_header_bytes": (1000, MOST_BYTES),
    "check_rows": (0, MOST_CHECK_ROWS),
}


@dataclass(frozen=True)
class Policy:
    """What a node asks of the motions of others, and of its own.

    Parameters
    ----------
    least_alpha : int or None
        How many equal answers must win a round at least. None is f + 1, with f the largest number below n/5,
        and never more than 6: then f liars cannot win a round by themselves, in a moot of up to 30.
    least_k : int or None
        How many peers must be asked in a round at least. None is 3, or all others where there are fewer.
    most_rounds : int
        How often a participant asks at the most.
    least_seconds : float
        The shortest deadline.
    most_inputs : int
        How many inputs a motion may hold.
    most_labels : int
        How many labels it may name.
    most_header_bytes : int
        How long its header may be; it names every chunk of 256 KiB of inputs in 34 bytes.
    known_labels : bool
        Whether the node's own model must know at least one of the labels, if it says which it knows.
    check_rows : int
        How many rows of its holdout the node shows in a motion by peer review, to those who may ask it. None
        is shown twice.
    access : Access
        Who may ask, how much a day, and which motions are approved; everybody, anything, if it is not said.

    Examples
    --------
    >>> from folkmoot.network.service.policy import Policy
    >>> Policy().least(n=7), Policy().least(n=101), Policy().least(n=2)
    ((2, 3), (6, 3), (1, 1))
    >>> Policy.read({"most_rounds": 0})
    Traceback (most recent call last):
        ...
    ValueError: most_rounds must be a whole number from 1 to 10,000: got 0
    """

    least_alpha: int | None = None
    least_k: int | None = None
    most_rounds: int = 500
    least_seconds: float = 2.0
    most_inputs: int = MOST_INPUTS
    most_labels: int = 100
    most_header_bytes: int = 256 * 1024
    known_labels: bool = True
    check_rows: int = 0
    access: Access = field(default_factory=Access)

    @classmethod
    def read(cls, table: object, folder: Path = Path()) -> Policy:
        """The policy in a table of ``node.toml`` in ``folder``; what it does not name is as by default."""
        if not isinstance(table, Mapping):
            raise ValueError(f"policy must be a table, such as [policy] above its lines: got {table!r}")
        names = [*(each.name for each in fields(cls) if each.name != "access"), *ACCESS]
        for problem in check_keys(table, names, optional=names):
            raise ValueError(problem)
        own = {name: _checked(name, value) for name, value in table.items() if name not in ACCESS}
        return cls(**own, access=Access.read(table, folder))

    def least(self, n: int) -> tuple[int, int]:
        """The least alpha and the least k in a moot of n."""
        alpha = min(faults(n) + 1, LEAST_ALPHA) if self.least_alpha is None else self.least_alpha
        return alpha, min(LEAST_K, n - 1) if self.least_k is None else self.least_k

    def objection(
        self, motion: Motion, header_bytes: int, n: int, labels: Collection[str] | None = None
    ) -> str | None:
        """Why a motion is not played in a moot of n by a node whose model knows these labels; or None."""
        least_alpha, least_k = self.least(n)
        local = motion.alpha == LOCAL  # then each takes its own, and none takes less than a majority
        alpha = checks.least_alpha(motion.k) if local else motion.alpha
        fewest = 3 * faults(n)  # with them and the own number f are trimmed at either end
        if not motion.is_labels and motion.k < fewest:
            return f"k must be at least {fewest} for {motion.answers} in a moot of {n}: got k={motion.k}"
        if motion.k < least_k:
            return f"k must be at least {least_k} in a moot of {n}: got k={motion.k}"
        if motion.is_labels and alpha < least_alpha:
            given = f"'local' with k={motion.k}, which can be {alpha}" if local else f"alpha={alpha}"
            return f"alpha must be at least {least_alpha} in a moot of {n}: got {given}"
        if motion.rounds > self.most_rounds:
            return f"rounds must be at most {self.most_rounds:,}: got {motion.rounds:,}"
        if motion.seconds < self.least_seconds:
            return f"the deadline must be at least {self.least_seconds:g} s away: got {motion.seconds:g} s"
        if motion.inputs > self.most_inputs:
            return f"a motion may hold {self.most_inputs:,} inputs at the most: got {motion.inputs:,}"
        if motion.classes > self.most_labels:
            return f"a motion may name {self.most_labels} labels at the most: got {motion.classes}"
        if header_bytes > self.most_header_bytes:
            most = f"{self.most_header_bytes:,}"
            return f"the header of a motion may have {most} bytes at the most: got {header_bytes:,}"
        named = self.known_labels and motion.labels  # numbers have none
        if named and labels is not None and not set(labels) & set(motion.labels):
            return "none of the labels is one that the model of this node knows"
        return None


def _checked(name: str, value: Any) -> Any:
    if name == "known_labels":
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false: got {value!r}")
        return value
    least, most = _BOUNDS[name]
    kind = "a number" if isinstance(least, float) else "a whole number"
    whole = isinstance(value, int) and not isinstance(value, bool)
    fits = whole or (isinstance(value, float) and isinstance(least, float))
    if not fits or not least <= value <= most:
        raise ValueError(f"{name} must be {kind} from {least:,g} to {int(most):,}: got {value!r}")
    return value
