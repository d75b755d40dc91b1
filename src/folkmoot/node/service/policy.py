"""Which motions a node takes part in: limits on their terms, on by default.

The terms of a motion are its asker's, and some turn a talk against those who take part in it: with k = 1,
alpha = 1 and enough rounds one member that always gives the same answer turns all others to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from folkmoot import checks
from folkmoot.node.membership.fields import check_keys
from folkmoot.node.service.access import KEYS as ACCESS
from folkmoot.node.service.access import Access
from folkmoot.node.session.header import MOST_INPUTS, Header
from folkmoot.node.session.statement import most_faults
from folkmoot.node.session.terms import LOCAL, MOST_LABELS, MOST_ROUNDS, MOST_ROWS

LEAST_ALPHA: Final = 6  # is enough in a moot of any size
LEAST_K: Final = 3
_BOUNDS: Final[dict[str, tuple[float, float]]] = {  # beyond these the terms have limits of their own
    "least_alpha": (1, 1000),
    "least_k": (1, 1000),
    "most_rounds": (1, MOST_ROUNDS),
    "least_seconds": (1.0, 86_400.0),
    "most_inputs": (1, MOST_INPUTS),
    "most_labels": (2, MOST_LABELS),
    "most_header_bytes": (1000, 1 << 23),
    "validation_rows": (0, MOST_ROWS),
}


@dataclass(frozen=True)
class Policy:
    """What a node asks of the motions of others, and of its own.

    Parameters
    ----------
    least_alpha : int or None
        How many equal answers must win a round of a talk at least. None is f + 1, where f members may lie,
        and never more than 6.
    least_k : int or None
        How many members must be asked in a round of a talk at least. None is 3, or all others where there
        are fewer.
    most_rounds : int
        How many rounds a talk may have.
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
    validation_rows : int
        How many rows of its holdout the node shows in a motion by peer review, to those who may ask it. None
        is shown twice.
    access : Access
        Who may ask, how much a day, and which motions are approved; everybody, anything, if it is not said.

    Examples
    --------
    >>> from folkmoot.node.service.policy import Policy
    >>> Policy().least(n=7), Policy().least(n=101), Policy().least(n=2)
    ((3, 3), (6, 3), (1, 1))
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
    validation_rows: int = 0
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
        """The least alpha and the least k of a talk among n members."""
        alpha = min(most_faults(n) + 1, LEAST_ALPHA) if self.least_alpha is None else self.least_alpha
        return alpha, min(LEAST_K, n - 1) if self.least_k is None else self.least_k

    def objection(
        self, header: Header, header_bytes: int, n: int, labels: Collection[str] | None = None
    ) -> str | None:
        """Why a motion among n members is refused by a node whose model knows these labels; or None."""
        terms = header.terms
        if terms.protocol and (why := self._objection_to_talk(header, n)):
            return why
        if terms.seconds < self.least_seconds:
            return f"the deadline must be at least {self.least_seconds:g} s away: got {terms.seconds:g} s"
        if header.inputs > self.most_inputs:
            return f"a motion may hold {self.most_inputs:,} inputs at the most: got {header.inputs:,}"
        if len(terms.labels) > self.most_labels:
            return f"a motion may name {self.most_labels} labels at the most: got {len(terms.labels)}"
        if (why := self.objection_to_size(header_bytes)) is not None:
            return why
        named = self.known_labels and terms.labels  # numbers have none
        if named and labels is not None and not set(labels) & set(terms.labels):
            return "none of the labels is one that the model of this node knows"
        return None

    def objection_to_size(self, header_bytes: int) -> str | None:
        """Why a header of so many bytes is not even read; or None."""
        if header_bytes <= self.most_header_bytes:
            return None
        most = f"{self.most_header_bytes:,}"
        return f"the header of a motion may have {most} bytes at the most: got {header_bytes:,}"

    def _objection_to_talk(self, header: Header, n: int) -> str | None:
        terms, (least_alpha, least_k) = header.terms, self.least(n)
        local = terms.alpha == LOCAL  # then each takes its own, and none takes less than a majority
        rule = terms.talk(n)
        alpha = checks.least_alpha(rule.k) if local else rule.alpha
        if rule.k < least_k:
            return f"k must be at least {least_k} in a moot of {n}: got k={rule.k}"
        if isinstance(alpha, int) and alpha < least_alpha:
            given = f"'local' with k={rule.k}, which can be {alpha}" if local else f"alpha={alpha}"
            return f"alpha must be at least {least_alpha} in a moot of {n}: got {given}"
        if terms.rounds > self.most_rounds:
            return f"rounds must be at most {self.most_rounds:,}: got {terms.rounds:,}"
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
