"""Check rows at their asker: it invites them, mixes them among its own rows, and keeps the map of owners.

It is also where a node answers the invitations of others, by what its policy allows (``check_rows.py``).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from msgspec.structs import replace

from folkmoot.arrays import Array
from folkmoot.files.tabular import shortened
from folkmoot.network.service.admission import Admission
from folkmoot.network.service.check_rows import Contributor
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.session.minutes import MAP, Opened, Seat
from folkmoot.network.session.patience import Health
from folkmoot.network.storage.invitations import Invitations
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.invitation import Invitation, read_invitation
from folkmoot.network.wire.motion import OLD, Motion, motion_name
from folkmoot.network.wire.review import Review, owner_map, owners_digest
from folkmoot.node.transports.budget import Budget
from folkmoot.node.transports.transport import Transport
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.schema import MismatchError

INVITE_SHARE: Final = 0.2  # of the time until the deadline, for check rows to come
LONGEST: Final = 30.0  # seconds for them
TRIES: Final = 4  # times that those who have not answered are invited
GRACE: Final = 0.5  # seconds in which those who seem to be gone may still answer
MOST_MAPS: Final = 16  # of motions that are about to be put
MOST_BYTES: Final = 64 << 20  # of the inputs of a motion with check rows: they are shuffled in memory
INVITATIONS: Final = (1 / 60, 10.0)  # of one asker that get rows: a second, and at once
TOO_OFTEN: Final = f"it shows a member rows for {INVITATIONS[1]:g} motions at once, and for one a minute"


@dataclass
class Invited:
    """An invitation under way, at its asker."""

    invitation: Invitation
    frame: bytes
    began: float
    ready: Callable[[Mapping[int, m.Rows], Mapping[int, str]], None]
    rows: dict[int, m.Rows] = field(default_factory=dict)
    refusals: dict[int, str] = field(default_factory=dict)

    @property
    def end(self) -> float:
        """When no more rows are waited for."""
        return self.began + self.invitation.seconds


class MixedInputs:
    """The rows of a motion with check rows, as its asker's node keeps them."""

    def __init__(self, batch: Batch) -> None:
        self._chunks = list(batch.chunks())

    def read(self, index: int) -> bytes:
        """A chunk."""
        return self._chunks[index]

    def discard(self) -> None:
        """They are not needed any more."""
        self._chunks = []


class Reviews:
    """The invitations of one node: those it has sent, and its answers to those of others."""

    def __init__(
        self,
        seat: Seat,
        moot: bytes,
        transport: Transport[int],
        health: Health,
        admission: Admission,
        contributor: Contributor,
        storage: Storage,
        transmit: Callable[[int, bytes], None],
        randbytes: Callable[[int], bytes],
        log: Callable[..., None],
        counts: Counter[str],
        check_model: Callable[[Motion], None],
    ) -> None:
        self._seat, self._moot, self._transport, self._health = seat, moot, transport, health
        self._admission, self.contributor, self._storage = admission, contributor, storage
        self._transmit, self._randbytes, self._log = transmit, randbytes, log
        self._under_way: dict[bytes, Invited] = {}
        self._maps: dict[bytes, tuple[bytes, m.Owners]] = {}  # by motion, until it is put
        self._invitations = Invitations(storage)
        self._budgets = [Budget(*INVITATIONS) for _ in range(seat.n)]
        self._counts, self._check_model = counts, check_model
        self.changed: Callable[[], None] = lambda: None  # called when an invitation has come a step on

    def start(self) -> None:
        """Say which invitations were under way when this node last stopped: nothing comes of them."""
        for lost in self._invitations.lose():
            self._log("warning", "invitation lost", invitation=lost.name, inputs=lost.inputs, why=lost.why)

    # ---- the asker -----------------------------------------------------------------------------

    def invite(self, draft: Motion, inputs: Inputs, ready: Callable[[Motion | str, Inputs], None]) -> None:
        """Gather check rows for a motion; ``ready`` is told the motion to put, and its inputs, or why not."""
        size = draft.inputs * draft.columns * np.dtype(draft.dtype).itemsize
        if size > MOST_BYTES:
            raise ValueError(
                f"a motion with check rows may have {MOST_BYTES >> 20} MB of inputs: got "
                f"{size / 2**20:.1f} MB; put them in several motions"
            )
        if draft.answers != "labels":  # nobody should show rows for a motion that cannot be put
            self._check_model(draft)
        seconds = min(LONGEST, INVITE_SHARE * draft.seconds)
        self._admission.check_terms(replace(draft, seconds=draft.seconds - seconds))
        invitation = Invitation(
            self._moot, self._seat.place, self._randbytes(16), self._transport.clock(), seconds,
            draft.labels, draft.inputs, draft.columns, draft.dtype, draft.schema,
        )  # fmt: skip
        invitation.check()
        name = invitation.name

        def in_vain(why: str) -> None:
            self._invitations.end(name, why)
            ready(why, inputs)

        def done(rows: Mapping[int, m.Rows], refusals: Mapping[int, str]) -> None:
            without = {
                place: refusals.get(place, f"it did not answer in {seconds:.3g} s")
                for place in range(self._seat.n)
                if place not in rows
            }
            self._invitations.answered(name, without)
            if not rows:
                in_vain(_nobody({self._admission.name_of(place): why for place, why in without.items()}))
                return
            left = replace(draft, seconds=draft.seconds - seconds, created=self._transport.clock())
            try:
                motion, mixed, owners = mix(left, inputs, invitation, rows, self._randbytes(32))
            except (ValueError, OSError) as error:  # with check rows they may be too many
                in_vain(str(error))
                return
            said = motion_name(motion.encoded())
            bare = m.Owners(said, self._seat.place, *owners, bytes(64))
            signature = self._seat.key.sign(statements.opens_owners(bare))
            self._maps[said] = name, replace(bare, signature=signature)
            if len(self._maps) > MOST_MAPS:  # of motions that could not be put
                del self._maps[next(iter(self._maps))]
            inputs.discard()
            ready(motion, mixed)

        self._invitations.begin(name, invitation.created, draft.inputs)
        signature = self._seat.key.sign(statements.invites(name, self._seat.place))
        frame = m.encode(m.Invite(invitation.encoded(), signature))
        invited = Invited(invitation, frame, self._transport.now(), done)
        self._under_way[name] = invited
        try:
            invited.rows[self._seat.place] = self._given(invitation)
        except MismatchError as error:
            invited.refusals[self._seat.place] = error.why
        self._tick(invited)
        self.changed()

    def under_way(self) -> list[Invited]:
        """The invitations whose rows have not all come yet."""
        return list(self._under_way.values())

    def opened(self, name: bytes) -> dict[int, Opened]:
        """The map of owners of a motion that is put now."""
        if name not in self._maps:
            return {}
        invitation, owners = self._maps.pop(name)
        self._invitations.end(invitation)
        return {MAP: owners}

    def drop(self, motion: Motion, why: str) -> None:
        """A motion with check rows is not put after all; they were shown in vain."""
        waiting = self._maps.pop(motion_name(motion.encoded()), None)
        if waiting is not None:
            self._invitations.end(waiting[0], why)

    def _tick(self, invited: Invited) -> None:
        """Invite those who have not answered, or end the invitation."""
        now = self._transport.now()
        if self._under_way.get(invited.invitation.name) is not invited or self._ended(invited, now):
            return
        for peer in self._owing(invited):
            self._transmit(peer, invited.frame)
        again, grace = now + invited.invitation.seconds / TRIES, invited.began + GRACE
        when = min(again, invited.end, grace if grace > now else again)
        self._transport.later(when, lambda: self._tick(invited))

    def _owing(self, invited: Invited) -> list[int]:
        told = invited.rows.keys() | invited.refusals.keys()
        return [peer for peer in range(self._seat.n) if peer != self._seat.place and peer not in told]

    def _ended(self, invited: Invited, now: float) -> bool:
        owing = self._owing(invited)
        live = [peer for peer in owing if self._health.live(peer, now)]
        if now < invited.end - 1e-9 and (live or (owing and now < invited.began + GRACE)):
            return False
        del self._under_way[invited.invitation.name]
        self._log(
            "info", "check rows gathered", contributors=len(invited.rows), refused=len(invited.refusals),
            rows=sum(each.contribution.rows for each in invited.rows.values()),
        )  # fmt: skip
        invited.ready(dict(sorted(invited.rows.items())), dict(sorted(invited.refusals.items())))
        return True

    # ---- messages ------------------------------------------------------------------------------

    def takes(self, peer: int, message: m.AnyMessage) -> bool:
        """Whether a message is about an invitation; then it is dealt with."""
        if isinstance(message, m.Invite):
            self._on_invite(peer, message)
            return True
        if isinstance(message, m.Rows):
            self._on_rows(peer, message)
            return True
        if isinstance(message, m.Refuse) and message.motion in self._under_way:
            invited = self._under_way[message.motion]
            said = statements.refusal(message.motion, peer, message.reason)
            fine = message.node == peer and statements.holds(self._seat.keys[peer], message.signature, said)
            if fine and peer not in invited.rows:
                invited.refusals[peer] = message.reason
                self._ended(invited, self._transport.now())
                self.changed()
            return True
        return False

    def _on_rows(self, peer: int, message: m.Rows) -> None:
        invited = self._under_way.get(message.motion)
        what = message.contribution
        if invited is None or peer in invited.rows or what.node != peer:
            return
        if hashlib.sha256(message.data).digest() != what.digest:
            return
        if not statements.holds(
            self._seat.keys[peer], what.signature, statements.contributed(message.motion, what)
        ):
            return
        try:
            invited.invitation.read_rows(message.data, what.rows)
        except ValueError:
            return
        invited.refusals.pop(peer, None)
        invited.rows[peer] = message
        self._ended(invited, self._transport.now())
        self.changed()

    def _on_invite(self, peer: int, message: m.Invite) -> None:
        """An invitation, from its asker itself: rows, or why not."""
        try:
            wanted = read_invitation(message.header)
        except (ValueError, TypeError):
            return
        now, clock = self._transport.now(), self._transport.clock()
        if wanted.asker != peer or wanted.moot != self._moot or not self._admission.favour(peer, now):
            return
        if not abs(clock - wanted.created) < wanted.seconds + OLD:
            return
        name = wanted.name
        if not statements.holds(self._seat.keys[peer], message.signature, statements.invites(name, peer)):
            return
        why = self._admission.withholds_rows(wanted, clock)
        if why is None and not self.contributor.knows(wanted) and self._budgets[peer].pay(now):
            why = TOO_OFTEN
        if why is None:
            try:
                self._transmit(peer, m.encode(self._given(wanted)))
                return
            except MismatchError as error:
                why = error.why
        self._transmit(peer, m.encode(self._admission.no(name, why)))

    def _given(self, wanted: Invitation) -> m.Rows:
        known = self.contributor.knows(wanted)
        rows = self.contributor.rows_for(wanted)
        if not known:
            what = rows.contribution
            self._counts["check_rows_shown"] += what.rows
            asker = self._admission.name_of(wanted.asker)
            self._storage.showed(wanted.name, asker, what.rows, what.digest, self._transport.clock())
        return rows


def mix(
    draft: Motion, inputs: Inputs, invitation: Invitation, sent: Mapping[int, m.Rows], seed: bytes
) -> tuple[Motion, MixedInputs, tuple[bytes, tuple[m.Owned, ...]]]:
    """The motion with check rows among the asker's own, its inputs, and what its map is made of.

    A check row that is the same as one of the asker's, or as that of a contributor before, is dropped.
    """
    own = np.concatenate([draft.read_chunk(i, inputs.read(i)) for i in range(len(draft.chunks))])
    seen = {own[i].tobytes() for i in range(len(own))}
    owned, kept = [], [own]
    for _, message in sorted(sent.items()):
        rows = invitation.read_rows(message.data, message.contribution.rows)
        dropped = []
        for i in range(len(rows)):
            data = rows[i].tobytes()
            if data in seen:
                dropped.append(i)
            seen.add(data)
        owned.append(m.Owned(message.contribution, tuple(dropped)))
        kept.append(rows[_without(len(rows), dropped)])
    every = np.concatenate(kept)
    owners = owner_map(seed, len(own), owned)
    order = np.empty(len(every), dtype=np.int64)
    where = [owners.asked, *(places for places, _ in owners.rows.values())]
    order[np.concatenate(where)] = np.arange(len(every))
    batch = Batch(np.ascontiguousarray(every[order]))
    learnt = draft.review is not None and draft.review.learnt
    motion = replace(
        draft, trust=draft.answers != "numbers", inputs=len(every), chunk_rows=batch.chunk_rows,
        chunks=batch.digests(), review=Review(len(own), invitation.name, owners_digest(seed, owned), learnt),
    )  # fmt: skip
    motion.check()
    return motion, MixedInputs(batch), (seed, tuple(owned))


def _without(rows: int, dropped: Sequence[int]) -> Array:
    return np.setdiff1d(np.arange(rows), np.array(dropped, dtype=np.int64))


def _nobody(without: Mapping[str, str]) -> str:
    """Why no motion is put: nobody has sent check rows, each for a reason of its own."""
    named: dict[str, list[str]] = {}
    for name, why in without.items():
        named.setdefault(why, []).append(name)
    each = "; ".join(f"{shortened(names)}: {why}" for why, names in named.items())
    return (
        f"peer review needs check rows, and none of {len(without)} participants sent any ({each}): set "
        "check_rows in [policy] of their node.toml, and give them a holdout of labelled rows"
    )
