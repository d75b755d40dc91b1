"""The account of a motion about texts: proposals, choices, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from folkmoot.aggregation.texts import Verdict
from folkmoot.node.choices import unpack_choices, verdicts
from folkmoot.node.session.header import Header


class CandidateTold(msgspec.Struct, frozen=True):
    """A proposed text; members by name."""

    text: str  # the spelling of most proposers
    # The members that proposed it, and those that chose it at the end.
    proposed_by: list[str]
    chosen_by: list[str]
    same_as: int  # the first candidate of its class: that one means the same to a quorum


class TextsTold(NamedTuple):
    """Parts of an account; all empty for another motion, and before first votes are agreed."""

    candidates: list[list[CandidateTold]]
    first_votes: list[dict[str, int | float]]
    final_votes: list[dict[str, int | float]]
    shares: list[float | None]
    why: list[str]  # why an input has no decision, if it has none
    independence: tuple[float | None, list[list[str]]] | None


def texts_told(
    header: Header,
    tables: Sequence[Mapping[int, bytes]],
    coin: bytes,
    faults: int,
    names: Sequence[str],
    decisions: Sequence[Any],
) -> TextsTold:
    """Read the agreed tables; ``coin`` is the value of the first poll's commitments."""
    if header.terms.answers != "text" or header.invites or not tables:
        return TextsTold([], [], [], [], [], None)
    choices = tables[1] if len(tables) > 1 else {}
    judged = verdicts(header, (tables[0], choices), coin, faults)
    cast = {i: unpack_choices(data, header.inputs) for i, data in sorted(choices.items())}
    told = []
    for k, each in enumerate(judged):
        best = {i: choice.best for i, choices in cast.items() if (choice := choices[k]) is not None}
        told.append(
            [
                CandidateTold(
                    candidate.text,
                    [names[i] for i in candidate.proposers],
                    [names[i] for i, chosen in best.items() if chosen == place],
                    each.classes[place],
                )
                for place, candidate in enumerate(each.candidates)
            ]
        )
    from folkmoot.texts.outcome import independence_of, why_undecided  # brings scipy's graphs

    found_independence = independence_of(judged, names)
    worth = None if found_independence.votes is None else round(found_independence.votes, 2)
    return TextsTold(
        told,
        [{each.text: len(each.proposers) for each in one.candidates} for one in judged],
        [{one.text(first): votes for first, votes in one.votes.items()} for one in judged],
        [_share(one, decision) for one, decision in zip(judged, decisions, strict=True)],
        [why_undecided(one) for one in judged],
        (worth, [list(group) for group in found_independence.groups]) if len(tables) > 1 else None,
    )


def _share(found: Verdict, decision: str | None) -> float | None:
    """Of all choices, the share of the decision, or of the class with most choices if there is none."""
    total = sum(found.votes.values())
    if not total:
        return None
    named = {found.text(first): votes for first, votes in found.votes.items()}
    return round(named.get(decision or "", max(named.values())) / total, 6)
