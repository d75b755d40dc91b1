"""The one way to ask for what was lost: ``Have``, marks of what one holds; whoever holds more sends it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from folkmoot.node.session.agreement import Agreement
from folkmoot.node.session.book import Book
from folkmoot.node.session.frames import MARK, Body, Have, Reveal
from folkmoot.node.session.statement import NO_ROUND, Kind, Said

MOST_BYTES = 1 << 20  # of the sets and votes in a reply
MOST_STATEMENTS = 6  # in a reply, per member

Part = Said | Body | Reveal


class Deciding(Protocol):
    """What is asked about: a poll, or a change of the roster."""

    @property
    def number(self) -> int:
        """Which poll it is."""

    @property
    def agreements(self) -> Sequence[Agreement]:
        """By stage, those that have begun."""

    @property
    def stage(self) -> Agreement:
        """The one that goes on, or was the last."""

    @property
    def reveals(self) -> Mapping[int, Reveal]:
        """Of agreed commitments, by member."""


def request(book: Book, poll: Deciding) -> Have:
    """Ask for what this member lacks at the place where it is."""
    stage = poll.stage
    marks = b"".join(sorted(mark for mark, _ in _marked(book, _held(book, poll, stage, stage.round))))
    return Have(book.motion, poll.number, stage.stage, stage.round, marks)


def reply(book: Book, polls: Sequence[Deciding], have: Have) -> list[Part]:
    """What the sender of a ``Have`` lacks and this member holds, as much as fits."""
    if have.poll >= len(polls) or have.stage >= len(polls[have.poll].agreements):
        return []
    poll = polls[have.poll]
    stage = poll.agreements[have.stage]
    lengths = range(0, len(have.marks), MARK)
    known = {have.marks[i : i + MARK] for i in lengths}
    found: list[Part] = []
    size = statements = 0
    parts = _outcome(poll, stage) if stage.decided is not None else _held(book, poll, stage, have.round)
    for mark, part in _marked(book, parts):
        if mark in known:
            continue
        known.add(mark)
        if isinstance(part, Said):
            statements += 1
            if statements > MOST_STATEMENTS * book.members.n:
                continue
        else:
            size += len(part.body if isinstance(part, Body) else part.votes)
            if size > MOST_BYTES and found:
                continue
        found.append(part)
    return found


def _outcome(poll: Deciding, stage: Agreement) -> Iterator[Part]:
    """What was decided: the quorum of precommits, the set, and the reveals in it."""
    yield from stage.certificate
    if stage.decided is not None:
        yield Body(poll.number, stage.stage, stage.bodies[stage.decided])
    if stage.stage == 1:
        yield from poll.reveals.values()


def _held(book: Book, poll: Deciding, stage: Agreement, number: int) -> Iterator[Part]:
    """All of a stage from a round on, with the sets and the prevotes that it rests on."""
    if stage.stage == 0:
        yield from book.all_of((Kind.COMMIT, poll.number, 0, 0))
    else:
        yield from poll.reveals.values()
    values: dict[bytes, None] = {}
    rests_on: dict[tuple[int, bytes], None] = {}
    for kind in (Kind.PROPOSE, Kind.PREVOTE, Kind.PRECOMMIT):
        for each in book.rounds(kind, poll.number, stage.stage):
            for said in book.all_of((kind, poll.number, stage.stage, each)):
                if each >= number or kind == Kind.PRECOMMIT:
                    yield said
                    values[said.value] = None
                    if said.just != NO_ROUND:
                        rests_on[said.just, said.value] = None
    for just, value in rests_on:
        yield from stage.justification(just, value)
    for value in values:
        if value in stage.bodies:
            yield Body(poll.number, stage.stage, stage.bodies[value])


def _marked(book: Book, parts: Iterator[Part]) -> Iterator[tuple[bytes, Part]]:
    for part in parts:
        if isinstance(part, Said):
            yield book.mark(part), part
        elif isinstance(part, Body):
            yield hashlib.sha256(part.body).digest()[:MARK], part
        else:
            yield (
                hashlib.sha256(bytes([part.poll]) + part.member.to_bytes(4, "big") + part.salt).digest()[
                    :MARK
                ],
                part,
            )
