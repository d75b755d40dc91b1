"""How motions under way stand at a node: what ``status``, ``live`` and ``opening`` tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from folkmoot.arrays import Ints
from folkmoot.node.ballots import shares_of
from folkmoot.node.review import ballots_of, reviewed
from folkmoot.node.service.interface import Live, MotionStatus
from folkmoot.node.service.own_motions import QueuedMotion
from folkmoot.node.service.running_motion import RunningMotion
from folkmoot.node.session.header import Header
from folkmoot.node.session.statement import Kind
from folkmoot.node.session.terms import Terms

WAITS = "waiting"


def phase_of(running: RunningMotion) -> str:
    """The node's present phase in a motion."""
    motion = running.motion
    if motion.answer is not None:
        return "decided"
    if motion.talking:
        return "talk"
    poll = motion.polls[-1]
    which = "rows" if running.header.invites else ("first votes", "final votes")[poll.number]
    if motion.wanted is not None:
        return f"making {which}"
    return f"agreeing on {'who voted' if poll.agreed is None else which}"


def motion_status(running: RunningMotion, now: float) -> MotionStatus:
    """A motion in the list of those under way."""
    header, talk = running.header, running.motion.talk
    return MotionStatus(
        motion=running.name.hex(),
        asker=running.roster.names[header.asker],
        phase=phase_of(running),
        inputs=header.asked,
        round=0 if talk is None else talk.round,
        rounds=header.terms.rounds if header.terms.protocol else 0,
        remaining=round(running.ends - now, 3),
        participants=len(running.roster),
        epoch=running.roster.epoch,
        rule=header.terms.used_rule,
    )


def live_of(running: RunningMotion, now: float) -> Live:
    """A motion as somebody sees it who waits for it."""
    header, names, motion = running.header, running.roster.names, running.motion
    talk = motion.talk
    if not running.shares:  # of agreed votes, which are always the same
        first = _first_votes(running)
        running.shares = {} if first is None else shares(header.terms, first)
    return Live(
        phase=phase_of(running),
        round=0 if talk is None else talk.round,
        rounds=header.terms.rounds if header.terms.protocol else 0,
        remaining=round(running.ends - now, 3),
        committed=[names[i] for i in running.committed],
        closed=[names[i] for i in _closed(running)],
        accused=[names[i] for i in sorted(motion.evidence)],
        refused={names[i]: why for i, why in sorted(running.refusals.items())},
        asked=[] if talk is None else [names[i] for i in talk.asked],
        heard=0 if talk is None else len(talk.answered),
        shares=running.shares,
        held={} if talk is None else shares(header.terms, talk.colours[None]),
    )


def live_of_waiting(queued: QueuedMotion) -> Live:
    """A motion that has no place yet."""
    terms = queued.header.terms
    return Live(WAITS, 0, terms.rounds if terms.protocol else 0, terms.seconds, [], [])


def opening_of(header: Header, names: Sequence[str]) -> dict[str, Any]:
    """The event when a motion begins; ``names`` are those of the members."""
    terms = header.terms
    return {
        "asker": names[header.asker],
        "inputs": header.asked,
        "labels": list(terms.labels),
        "answers": terms.answers,
        "rule": terms.used_rule,
        "rounds": terms.rounds if terms.protocol else 0,
        "seconds": terms.seconds,
        "terms": {name: getattr(terms, name) for name in terms.__struct_fields__},
        "participants": list(names),
    }


def _closed(running: RunningMotion) -> list[int]:
    """Who has said what it holds at the end: a final vote, or where there is none the result."""
    last = running.header.polls - 1
    kind = Kind.COMMIT if last else Kind.RESULT
    book = running.motion.book
    return sorted({said.member for said in book.all_of((kind, last, 0, 0))})


def _first_votes(running: RunningMotion) -> Ints | None:
    """The first votes once they are agreed; where validation rows are among the inputs, on what is asked."""
    tables = running.motion.tables
    if not tables or running.header.invites or not running.header.terms.labels:
        return None
    first = reviewed(running.header, tables[0], len(running.roster))
    return None if first.asked is None else first.form.likeliest(first.asked)


def shares(terms: Terms, votes: Ints) -> dict[str, float]:
    """Of all votes, the share of each label that has any."""
    return {terms.labels[i]: share for i, share in shares_of(votes).items()}


def undecided_of(header: Header, answer: bytes | None) -> int:
    """How many of the asker's inputs have no decision."""
    if header.invites:
        return 0
    if answer is None:
        return header.asked
    form = ballots_of(header, 1)
    return int((form.unpack(answer) == form.nothing()).sum())
