"""A finished motion as a page that plays what one node knows of it: docs/watch.md.

First and final votes are those that the moot agreed on. Queries of members in rounds are
neither signed nor kept, so none are shown.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from folkmoot.arrays import Ints
from folkmoot.node.account import MotionVotes, account_of
from folkmoot.node.evidence import what_of
from folkmoot.outcome import Turns
from folkmoot.player.form import Input, PlayedMoot, PlayedRun, closest_first
from folkmoot.player.page import player_data, player_page
from folkmoot.votes import NO_VOTE

_SHOWN: Final = 24  # inputs


def motion_page(found: MotionVotes) -> str:
    """The page of a motion; ValueError if there is nothing to play. A thread may make it."""
    stored, header = found.stored, found.stored.header
    terms = header.terms
    name = stored.name.hex()[:12]
    if terms.answers in ("numbers", "text") or header.invites:
        what = "invites validation rows" if header.invites else f"is about {terms.answers}"
        raise ValueError(f"a page plays votes for labels, and motion {name} {what}")
    if found.outcome is None or found.first is None or found.first.asked is None:
        raise ValueError(f"motion {name} is not decided at this node: its page is there once it is")
    account = account_of(found)
    first = found.first.form.likeliest(found.first.asked)
    end = first if found.final is None else found.final
    number = {label: place for place, label in enumerate(terms.labels)}
    decisions = np.array([number.get(str(each), NO_VOTE) for each in account.decisions])
    chosen = closest_first([(first, decisions)], len(terms.labels))[:_SHOWN]
    truths = {i: number[label] for i, label in stored.truths.items()}
    moot = PlayedMoot(
        name=f"motion {name}",
        rule=_rule(account.rule, terms.protocol, found.final),
        names=stored.names,
        honest=np.isin(np.arange(len(stored.names)), sorted(found.tables[0])),
        runs=[
            PlayedRun(first[:, i], Turns.none(len(terms.labels)), int(decisions[i]), end[:, i])
            for i in chosen
        ],
        inputs=account.inputs,
        undecided=account.undecided,
        right=float(np.mean([decisions[i] == truth for i, truth in truths.items()])) if truths else None,
        malicious={who: what_of(each) for who, each in stored.evidence.items()},
    )
    data: dict[str, Any] = player_data(
        list(terms.labels),
        [Input(f"input {i}", truths.get(i, NO_VOTE)) for i in chosen],
        [moot],
        noun="accused",
        node=True,
    )
    return player_page(f"Motion {name} by {account.asker}", _about(len(chosen), account.inputs), data).html


def _rule(rule: str, protocol: str, final: Ints | None) -> str:
    if final is None:
        return rule
    return f"final votes after {protocol}" if protocol else "final votes, by whom each believes"


def _about(shown: int, inputs: int) -> str:
    about = "First votes, and final votes where there are any, as the moot agreed on them."
    if shown < inputs:
        about += f" Shown are {shown} of {inputs:,} inputs, undecided and close ones first."
    return about
