"""A finished motion as a page that plays what one node knows of it: docs/watch.md.

Everybody's first votes and signed closes are there. Of the talk a node knows what it asked itself, and keeps
the questions that changed its mind; what others asked each other it never saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.network.storage.account import outcome_of
from folkmoot.network.storage.storage import Storage, StoredMotion
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import LOCAL, Motion
from folkmoot.network.wire.verdict import first_votes, last_votes
from folkmoot.outcome import Turns
from folkmoot.player.form import Input, Moot, Talk
from folkmoot.player.page import Player, player_data, player_page
from folkmoot.votes import UNCOLOURED
from folkmoot.watching import closest_first

_SHOWN = 24  # inputs


def motion_page(storage: Storage, stored: StoredMotion) -> Player:
    """The page of a motion; ValueError while it is open."""
    if stored.closed is None:
        raise ValueError(
            f"motion {stored.name.hex()[:12]} is still open at this node: --play shows it once it is over"
        )
    motion, names = stored.motion, stored.names
    if not motion.is_labels:
        raise ValueError(f"--play shows talks about labels, and this motion is about {motion.answers}")
    held, verdict = storage.held(stored.name), outcome_of(storage, stored)
    first = first_votes(motion, len(names), held.closes, verdict.closed, held.owners)
    last = last_votes(motion, len(names), held.closes)
    counted = np.isin(np.arange(len(names)), list(verdict.closed))
    chosen = closest_first([(first.astype(np.int64), verdict.decisions.astype(np.int64))], motion.classes)[
        :_SHOWN
    ]
    place = stored.summary.get("place")  # older motions do not know it, nor changes of mind
    told = {i: motion.labels.index(label) for i, label in held.truths.items() if label in motion.labels}
    alpha = "thresholds of their own" if motion.alpha == LOCAL else f"alpha = {motion.alpha}"
    moot = Moot(
        name=f"motion {stored.name.hex()[:12]}",
        rule=f"{motion.protocol}, k = {motion.k}, {alpha}",
        names=names,
        honest=counted,
        talks=[
            Talk(
                first=first[:, i],
                turns=_turns(stored.summary.get("changes", []), i, place or 0, motion.classes),
                decision=int(verdict.decisions[i]),
                end=last[:, i],
            )
            for i in chosen
        ],
        inputs=motion.asked,
        undecided=verdict.undecided,
        right=_right(verdict.decisions, told),
        liars={who: statements.kind(proof) for who, proof in held.evidence},
        trust=_own_trust(stored, place),
    )
    data = player_data(
        list(motion.labels),
        [Input(f"input {i}", told.get(i, UNCOLOURED)) for i in chosen],
        [moot],
        noun="accused",
        node=True,
    )
    title = f"Motion {stored.name.hex()[:12]} by {names[motion.asker]}"
    return player_page(title, _about(motion, stored, place, len(chosen)), data)


def _about(motion: Motion, stored: StoredMotion, place: int | None, shown: int) -> str:
    who = "this node" if place is None else stored.names[place]
    parts = [
        f"What {who} knows of it: everybody's first votes and signed closes, and those of "
        "its own questions that changed its mind. What others asked each other it never saw."
    ]
    if shown < motion.asked:
        parts.append(f"Shown are {shown} of {motion.asked:,} inputs, undecided and close ones first.")
    return " ".join(parts)


def _turns(changes: Sequence[Any], i: int, place: int, classes: int) -> Turns:
    """The node's own questions about an input that changed its mind, as the talk of one participant."""
    own = [each for each in changes if each[0] == i]
    if not own:
        return Turns.none(classes)
    most = max(len(answers) for *_, answers in own)
    asked, said, counts = (np.full((len(own), most), fill) for fill in (0, UNCOLOURED, 0))
    for row, (*_, answers) in enumerate(own):
        for column, (peer, colour, fine) in enumerate(answers):
            asked[row, column], said[row, column], counts[row, column] = peer, colour, fine
    heard = np.where(counts > 0, said, UNCOLOURED)
    rounds, before, after, alpha = (np.array([each[n] for each in own]) for n in (1, 2, 3, 4))
    return Turns(
        round=rounds,
        participant=np.full(len(own), place),
        size=np.array([len(answers) for *_, answers in own]),
        alpha=alpha,
        asked=asked,
        answers=said.astype(np.int8),
        counted=counts > 0,
        tally=np.stack([(heard == colour).sum(axis=1) for colour in range(classes)], axis=1).astype(float),
        won=after,
        before=before,
        after=after,
    )


def _right(decisions: Colours, told: dict[int, int]) -> float | None:
    """The share of inputs with a known truth that are decided right."""
    if not told:
        return None
    return float(np.mean([decisions[i] == colour for i, colour in told.items()]))


def _own_trust(stored: StoredMotion, place: int | None) -> Any:
    """(participant, participant): whom this node trusts; of the others it does not know."""
    if place is None or "trust" not in stored.summary:
        return None
    weights = np.zeros((len(stored.names), len(stored.names)))
    weights[place] = stored.summary["trust"]
    return weights
