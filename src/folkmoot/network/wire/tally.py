"""First votes beside a decision: how many participants began with which label, and which led."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from folkmoot.arrays import Colours


def tallies(votes: Colours, labels: Sequence[str]) -> list[dict[str, int]]:
    """How many voted for each label, by input; labels that nobody voted for are left out.

    Inputs with the same counts share one dictionary: there are far fewer kinds than inputs.

    Parameters
    ----------
    votes : array of int8, shape (participant, input)
        Colours, or -1 for no vote.
    labels : sequence of str
        What the colours are called.

    Returns
    -------
    list of dict
        The count of each label, in the order of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.network.wire.tally import tallies
    >>> tallies(np.array([[0, 1], [1, -1], [1, -1]], dtype=np.int8), ["no", "yes"])
    [{'no': 1, 'yes': 2}, {'yes': 1}]
    """
    if not len(votes):
        return [{}] * votes.shape[1]
    ordered = np.ascontiguousarray(np.sort(votes, axis=0).T + np.int8(1)).view(f"S{len(votes)}").ravel()
    kinds: dict[bytes, dict[str, int]] = {}
    found = []
    for votes_in_order in ordered.tolist():
        if votes_in_order not in kinds:
            kinds[votes_in_order] = _count(votes_in_order, labels)
        found.append(kinds[votes_in_order])
    return found


def majority(tally: Mapping[str, int]) -> str | None:
    """The label with the most votes; None if two are level, or nobody voted.

    Parameters
    ----------
    tally : mapping of str to int
        The count of each label.

    Returns
    -------
    str or None
        The label that leads.

    Examples
    --------
    >>> from folkmoot.network.wire.tally import majority
    >>> majority({"no": 1, "yes": 2}), majority({"no": 2, "yes": 2})
    ('yes', None)
    """
    most = max(tally.values(), default=0)
    leaders = [label for label, count in tally.items() if count == most]
    return leaders[0] if len(leaders) == 1 else None


def majorities(found: Sequence[Mapping[str, int]]) -> list[str | None]:
    """The majority of each tally.

    Parameters
    ----------
    found : sequence of mapping
        What ``tallies`` returned.

    Returns
    -------
    list of str or None
        The label that leads, by input.

    Examples
    --------
    >>> from folkmoot.network.wire.tally import majorities
    >>> majorities([{"no": 1}, {}])
    ['no', None]
    """
    leaders = {id(tally): majority(tally) for tally in {id(tally): tally for tally in found}.values()}
    return [leaders[id(tally)] for tally in found]


def _count(votes_in_order: bytes, labels: Sequence[str]) -> dict[str, int]:
    """Of bytes that are colours and one more; nobody's vote is 0 and comes first."""
    counts: dict[str, int] = {}
    for byte in votes_in_order:
        if byte:
            counts[labels[byte - 1]] = counts.get(labels[byte - 1], 0) + 1
    return counts
