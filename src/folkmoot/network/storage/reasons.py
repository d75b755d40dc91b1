"""Why an input of a motion was decided so, as one node knows it.

A node knows its own changes of mind, and of the others the first and last votes that they have signed. Who
else asked whom it does not know, so an explanation here says less than one of a simulated talk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from folkmoot.explanation import ChangeOfMind, Explanation, Reply, Unheard, Voice
from folkmoot.explanation.explanation import CountedBy
from folkmoot.explanation.words import called, shares_in_words
from folkmoot.network.storage.account import outcome_of, why_undecided
from folkmoot.network.storage.storage import Held, Storage, StoredMotion
from folkmoot.network.wire import statements
from folkmoot.network.wire.verdict import Verdict, first_votes, last_votes
from folkmoot.votes import UNCOLOURED

_KNOWN: Final = (
    "A node knows its own changes of mind, and of the others the first and last votes that they have signed; "
    "who else asked whom is not known here."
)


def reason(storage: Storage, stored: StoredMotion, i: int) -> Explanation:
    """Explain the decision on input i of a motion; ValueError if there is no such input."""
    motion = stored.motion
    if not motion.is_labels:
        raise ValueError(f"--why explains labels, and this motion is about {motion.answers}")
    if not 0 <= i < motion.asked:
        raise ValueError(f"--why must be an input of the motion, 0 to {motion.asked - 1}: got {i}")
    held, verdict = storage.held(stored.name), outcome_of(storage, stored)
    own, labels = stored.summary.get("place"), motion.labels
    everybody = held.closes
    first = first_votes(motion, len(stored.names), everybody, everybody, held.owners)[:, i].astype(np.int64)
    last = last_votes(motion, len(stored.names), everybody)[:, i].astype(np.int64)
    decision = int(verdict.decisions[i])
    voices = tuple(_voices(stored, held, verdict, first, last, own))
    by: CountedBy = "trust" if motion.trust and "trust" in stored.summary else "equal"
    answer = _label(decision, labels)
    missing = [_KNOWN]
    if stored.closed is None:
        missing.insert(0, "The motion is still open: this is what is known so far.")
    return Explanation(
        called=f"input {i}",
        answer=answer,
        runner_up=_label(_runner_up(first, decision, motion.classes), labels),
        labels=tuple(labels),
        voices=voices,
        counted_by=by,
        changes=_changes(stored, i, first, last, own),
        unheard=tuple(Unheard(voice.name, voice.note) for voice in voices if voice.part != "talks"),
        closeness=None,
        rounds=int(stored.summary.get("rounds", 0)),
        sentence=_sentence(answer, voices, verdict, i, by, why_undecided(stored, verdict)[i]),
        missing=tuple(missing),
        columns=("first vote", "end"),
        held=np.stack([first, last], axis=1),
    )


def _label(colour: int, labels: Sequence[str]) -> str | None:
    return None if colour == UNCOLOURED else labels[colour]


def _voices(
    stored: StoredMotion, held: Held, verdict: Verdict, first: Any, last: Any, own: int | None
) -> list[Voice]:
    labels = stored.motion.labels
    accused = {place: statements.kind(proof) for place, proof in held.evidence}
    trust = stored.summary.get("trust")
    found = []
    for place, name in enumerate(stored.names):
        part, note = "talks", "this node" if place == own else ""
        if place in accused:
            part, note = "accused", f"proven to have contradicted itself: {accused[place]}"
        elif place in verdict.silent:
            part, note = "absent", "has not signed what it held in the end"
        elif place in verdict.abstained:
            note = f"had no vote at first: {verdict.abstained[place]}"
        found.append(
            Voice(
                name=name,
                voted=_label(int(first[place]), labels),
                counts=float(trust[place]) if trust is not None else float(part == "talks"),
                opened=_label(int(first[place]), labels),
                holds=_label(int(last[place]), labels),
                part=part,  # type: ignore[arg-type]
                note=note,
            )
        )
    return found


def _runner_up(first: Any, decision: int, classes: int) -> int:
    votes = Counter(first.tolist())
    others = [colour for colour in range(classes) if colour != decision]
    return max(others, key=lambda colour: (votes[colour], -colour))


def _changes(
    stored: StoredMotion, i: int, first: Any, last: Any, own: int | None
) -> tuple[ChangeOfMind, ...] | None:
    """The changes of this node; of those for which there was no room, that it changed at all."""
    if own is None:
        return None
    labels, names = stored.motion.labels, stored.names
    found = [
        ChangeOfMind(
            round=number,
            name=names[own],
            before=_label(before, labels),
            after=_label(after, labels),
            answers=tuple(
                Reply(names[place], _label(said, labels), counted) for place, said, counted in told
            ),
            tally=float(sum(said == after and counted for _, said, counted in told)),
            alpha=alpha,
        )
        for place_of, number, before, after, alpha, told in stored.summary.get("changes", [])
        if place_of == i
    ]
    if not found and first[own] != last[own]:
        found = [ChangeOfMind(0, names[own], _label(int(first[own]), labels), _label(int(last[own]), labels))]
    return tuple(found)


def _sentence(
    answer: str | None, voices: Sequence[Voice], verdict: Verdict, i: int, by: CountedBy, why: str | None
) -> str:
    closed = [voice for voice in voices if voice.part == "talks"]
    votes = Counter(voice.voted for voice in closed if voice.voted is not None)
    cast = f"{shares_in_words(votes, 'were')} at first" if votes else "nobody had voted"
    if answer is None:
        return f"There is no decision: of those who closed, {cast}, and {why}."
    if by == "trust":
        share = f"{verdict.agreement[i]:.2f}".removeprefix("0")
        return (
            f"{called(answer)} was decided because this node holds it, and {share} of those whom it trusts, "
            f"by trust, hold it too; of those who closed, {cast}."
        )
    return (
        f"{called(answer)} was decided because {verdict.signed[i]} of {verdict.participants} signed it in "
        f"the end ({verdict.quorum} must) and {verdict.voters[i]} had voted for it at first "
        f"({verdict.least_voters} must); of those who closed, {cast}."
    )
