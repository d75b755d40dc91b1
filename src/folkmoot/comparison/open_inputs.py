"""Why inputs stay open, and what to type: one line for people, where a talk leaves many without an answer."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.outcome import Outcome
from folkmoot.protocols import SnowProtocol
from folkmoot.votes import UNCOLOURED, Missing, Votes

_MANY: Final = 0.1  # the share of open inputs that is told of
_FEW_PEERS: Final = 3  # the smallest query that a minority cannot win


class OpenInputsWarning(UserWarning):
    """A talk leaves more than a tenth of the inputs undecided, or can never decide some of them.

    Examples
    --------
    Two of eleven voted on each input, and three equal answers are needed. Those who did not vote are asked
    all the same, unless they are absent:

    >>> import warnings
    >>> import numpy as np
    >>> from folkmoot import Slush, compare
    >>> from folkmoot.comparison import OpenInputsWarning
    >>> votes = np.full((11, 20), -1)
    >>> votes[:2] = 1
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", OpenInputsWarning)
    ...     print(compare(votes, Slush(k=5, alpha=3), missing="uncoloured").undecided)
    20.0
    >>> compare(votes, Slush(k=5, alpha=3)).undecided
    0.0
    """


def warn_of_open_inputs(
    votes: Votes,
    lying: Bools,
    protocol: SnowProtocol[Any],
    outcome: Outcome,
    rounds: int,
    missing: Missing,
    *,
    by_trust: bool = False,
    stacklevel: int = 3,
) -> None:
    """One ``OpenInputsWarning`` if there is something to say; ``votes`` are of those who could answer."""
    decision = np.atleast_2d(outcome.decision)
    line = (
        _why_open_by_trust(decision)
        if by_trust
        else why_open(votes, lying, protocol, decision, rounds, missing)
    )
    if line is not None:
        warnings.warn(line, OpenInputsWarning, stacklevel=stacklevel)


def _why_open_by_trust(decision: Ints) -> str | None:
    """What is said of a talk in which everybody who anchors has decided for itself beforehand."""
    often = (decision == UNCOLOURED).mean(axis=0)
    if often.sum() <= _MANY * often.size:
        return None
    return (
        f"{_number(often)} of {often.size:,} inputs stay open: no label has more than half of those who "
        "anchor; see what each decides (Outcome.decisions), or let more rows be held out"
    )


def why_open(
    votes: Votes,
    lying: Bools,
    protocol: SnowProtocol[Any],
    decision: Ints,  # (repetition, input)
    rounds: int,
    missing: Missing,
) -> str | None:
    """What keeps inputs open and what to do about it; None if nearly all are decided."""
    inputs = votes.shape[1]
    often = (decision == UNCOLOURED).mean(axis=0)  # how often each input stays open
    first, needed, most = _reach(votes, lying, protocol, missing)
    empty = ~(votes[~lying] != UNCOLOURED).any(axis=0)
    never = (most < needed) & ~empty & (often > 0)  # not even if all honest voters agreed
    if often.sum() <= _MANY * inputs and not never.any():
        return None
    stuck = (first < needed) & ~empty
    advice = {
        f"nobody voted on {_number(often[empty])}": "no talk can answer these",
        f"no label has the {_words(needed[stuck])} equal first votes that win a query on "
        f"{_number(often[stuck])}": _for_stuck(protocol),
        f"{rounds} rounds did not bring a majority on {_number(often[~stuck & ~empty])}": _for_slow(
            protocol, rounds
        ),
    }
    counts = [float(often[which].sum()) for which in (empty, stuck, ~stuck & ~empty)]
    reasons = [why for why, count in zip(advice, counts, strict=True) if count > 0]
    what = [*advice.values()][int(np.argmax(counts))]
    if missing == "uncoloured" and (votes == UNCOLOURED).any():
        what = "leave out those who did not vote: missing='absent' (--missing absent)"
    return f"{_number(often)} of {inputs:,} inputs stay open: {', '.join(reasons)}; {what}"


def why_one_is_open(
    votes: Votes, lying: Bools, protocol: SnowProtocol[Any], rounds: int, missing: Missing
) -> str:
    """What keeps one input open and what to do about it; ``votes`` (participant, 1) of those who could."""
    if not (votes[~lying] != UNCOLOURED).any():
        return "nobody that follows the protocol voted on it"
    first, needed, _ = _reach(votes, lying, protocol, missing)
    if first[0] < needed[0]:
        return f"no label has the {needed[0]} equal first votes that win a query; {_for_stuck(protocol)}"
    return f"{rounds} rounds did not bring a majority; {_for_slow(protocol, rounds)}"


def _reach(
    votes: Votes, lying: Bools, protocol: SnowProtocol[Any], missing: Missing
) -> tuple[Ints, Ints, Ints]:
    """(input,) each: the most answers of one label at first, how many are needed, and the most there can be.

    Byzantine participants may answer anything. With weights it is not known how many answers are needed: 1.
    """
    there = votes != UNCOLOURED
    voters = there.sum(axis=0)
    liars = (
        (there & lying[:, None]).sum(axis=0) if missing == "absent" else np.full(voters.shape, lying.sum())
    )
    colours = np.unique(votes[there])
    named = np.array([((votes == colour) & ~lying[:, None]).sum(axis=0) for colour in colours])
    first = named.max(axis=0, initial=0) + liars
    most = voters - (there & lying[:, None]).sum(axis=0) + liars
    needed = np.ones_like(voters)
    if protocol.weights is None:
        moots = voters if missing == "absent" else np.full(voters.shape, len(votes))
        for size in np.unique(moots[moots >= 2]).tolist():
            rule = protocol.scaled(size)
            needed[moots == size] = rule.thresholds(len(votes))[~lying].min()
    return first, needed, most


def _for_stuck(protocol: SnowProtocol[Any]) -> str:
    least = checks.least_alpha(protocol.k)
    if _strictest(protocol) > least:
        return f"lower the threshold: alpha={least} (--alpha {least})"
    if protocol.k > _FEW_PEERS:
        few = checks.least_alpha(_FEW_PEERS)
        return f"ask fewer peers: k={_FEW_PEERS}, alpha={few} (--k {_FEW_PEERS} --alpha {few})"
    return "only more votes can decide these"


def _for_slow(protocol: SnowProtocol[Any], rounds: int) -> str:
    least, more = checks.least_alpha(protocol.k), max(50, 4 * rounds)
    longer = f"rounds={more} (--rounds {more})"
    if _strictest(protocol) > least:
        return f"try alpha={least} (--alpha {least}) or {longer}"
    return f"try {longer}"


def _strictest(protocol: SnowProtocol[Any]) -> int:
    return protocol.alpha if isinstance(protocol.alpha, int) else protocol.k


def _words(needed: Ints) -> str:
    lowest, highest = (int(needed.min()), int(needed.max())) if needed.size else (0, 0)
    return f"{lowest}" if lowest == highest else f"{lowest} to {highest}"


def _number(often: Floats) -> str:
    count = float(often.sum())
    return f"{count:,.0f}" if count >= 1 else f"{count:.1g}"
