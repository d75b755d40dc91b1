"""How a running node is at this moment: its peers, the motions under way, and how near its limits are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from folkmoot import __version__
from folkmoot.network.service.admission import MOST_OPEN, MOST_OPEN_EACH
from folkmoot.network.service.assembly import AnyNode, Assembly
from folkmoot.network.service.node import Node
from folkmoot.network.storage.chronicle import Proposal
from folkmoot.node.membership.roster import quorum
from folkmoot.node.transports.mesh import Mesh


class PeerStatus(msgspec.Struct, frozen=True):
    """One of the others, as this node sees it."""

    name: str
    connected: bool
    benched: bool  # did not answer lately, and is not asked at present
    latency: float | None  # seconds to it and back, as the kernel measures them; None if it does not say
    skew: float | None  # seconds that its clock was ahead when it said hello
    frames: int  # that came from it since the start
    refused: int  # of its messages that were not acted on
    abstained: int  # motions since the start in which it had no vote on some inputs
    seen: float | None = None  # when it last said something, in seconds since 1970; None: not since the start
    may_ask: bool = True
    motions_today: tuple[int, int | None] = (0, None)  # put in the last 24 hours, and the most
    rows_today: tuple[int, int | None] = (0, None)


class MotionStatus(msgspec.Struct, frozen=True):
    """A motion under way."""

    motion: str
    asker: str
    phase: str
    inputs: int
    round: int
    rounds: int  # at the most
    closes: int
    remaining: float  # seconds
    participants: int = 0  # in the roster that it was put under
    epoch: int = 0  # of that roster
    protocol: str = ""


class InvitationStatus(msgspec.Struct, frozen=True):
    """A motion of this node that is not put yet: participants are invited to send check rows for it."""

    inputs: int
    remaining: float  # seconds until no more rows are waited for
    sent: dict[str, int]  # whose rows have come, and how many
    refused: dict[str, str]  # who sends none, and why
    owing: list[str]  # who has not answered


class ProposalStatus(msgspec.Struct, frozen=True):
    """A roster that is proposed to replace the one in force."""

    proposal: str
    joined: list[str]
    left: list[str]
    rotated: list[str]
    replaced: list[str]
    signed: list[str]
    counted: int  # of the signatures, those that count for the quorum
    needed: int
    owed: list[str]  # whose old key must sign, too


class Status(msgspec.Struct, frozen=True, tag=True):
    """A node at one moment. Budgets come in pairs: what is used, and the most."""

    node: str
    version: str
    moot: str
    participants: int
    quorum: int
    seconds: float  # since its start
    peers: list[PeerStatus]
    motions: list[MotionStatus]
    own_motions: tuple[int, int]
    all_motions: tuple[int, int]
    disk: tuple[int, int]  # bytes
    has_room: bool  # for new motions
    epoch: int = 0  # of the roster
    present: bool = True  # whether it is in the roster in force; if not, it cannot ask any more
    rosters: int = 1  # under which motions may still be under way
    proposals: list[ProposalStatus] = []
    two_successors: list[str] = []  # who has signed two successors of one roster
    invitations: list[InvitationStatus] = []  # to send check rows for motions of this node
    audit: tuple[int, str] = (0, "")  # the number of the audit log's last entry, and its link: the head
    labels: list[str] | None = None  # that its model knows; None: it does not say
    sandbox: str = ""  # what keeps its model from doing harm


def newest_of(node: AnyNode) -> Node:
    """The node under the roster in force, through which motions are put."""
    return node.node if isinstance(node, Assembly) else node


def status(
    node: AnyNode, mesh: Mesh, disk: int, labels: Sequence[str] | None = None, sandbox: str = ""
) -> Status:
    """How a node is now; ``disk`` are the bytes that it may store, ``labels`` those that its model knows."""
    now, place = node.transport.now(), node.seat.place
    connected, benched = set(mesh.connected()), set(node.health.benched(now))
    latencies, skews = mesh.latencies(), mesh.skews()
    sessions = node.sessions()
    return Status(
        node=node.roster[place].name,
        version=__version__,
        moot=node.roster.digest,
        participants=node.seat.n,
        quorum=quorum(node.seat.n),
        seconds=round(now - node.since, 3),
        peers=[
            PeerStatus(
                name=member.name,
                connected=bytes.fromhex(member.fingerprint) in connected,
                benched=peer in benched,
                latency=latencies.get(bytes.fromhex(member.fingerprint)),
                skew=skews.get(bytes.fromhex(member.fingerprint)),
                frames=node.by_peer[peer]["frames"],
                refused=node.by_peer[peer]["refused"],
                abstained=node.by_peer[peer]["abstained"],
                seen=_clock_time(node, peer),
                **_spent(node, peer),
            )
            for peer, member in enumerate(node.roster)
            if peer != place
        ],
        motions=[
            MotionStatus(
                motion=session.name.hex(),
                asker=node.roster_of(session.motion.moot)[session.motion.asker].name,
                phase=session.phase.value,
                inputs=session.motion.asked,
                round=session.rounds,
                rounds=session.motion.rounds,
                closes=len(session.closes),
                remaining=round(session.end - now, 3),
                participants=session.seat.n,
                epoch=node.roster_of(session.motion.moot).epoch,
                protocol=session.motion.protocol,
            )
            for session in sessions
        ],
        own_motions=(sum(session.motion.asker == place for session in sessions), MOST_OPEN_EACH),
        all_motions=(len(sessions), MOST_OPEN),
        disk=(node.storage.used(), disk),
        has_room=node.storage.has_room,
        epoch=node.roster.epoch,
        present=node.present if isinstance(node, Assembly) else True,
        rosters=len(node.halls) if isinstance(node, Assembly) else 1,
        proposals=[_proposal(each) for each in node.chronicle.proposals]
        if isinstance(node, Assembly)
        else [],
        two_successors=node.accused() if isinstance(node, Assembly) else [],
        invitations=_invitations(node, now),
        audit=node.storage.audit.head(),
        labels=None if labels is None else list(labels),
        sandbox=sandbox,
    )


def _invitations(node: AnyNode, now: float) -> list[InvitationStatus]:
    newest = newest_of(node)
    names = [member.name for member in newest.roster]
    return [
        InvitationStatus(
            inputs=each.invitation.inputs,
            remaining=round(each.end - now, 3),
            sent={names[place]: rows.contribution.rows for place, rows in sorted(each.rows.items())},
            refused={names[place]: why for place, why in sorted(each.refusals.items())},
            owing=[
                name
                for place, name in enumerate(names)
                if place not in each.rows and place not in each.refusals
            ],
        )
        for each in newest.reviews.under_way()
    ]


def _proposal(proposal: Proposal) -> ProposalStatus:
    changes, standing = proposal.succession.changes(proposal.old), proposal.standing
    return ProposalStatus(
        proposal=proposal.succession.name.hex(),
        joined=[*changes.joined],
        left=[*changes.left],
        rotated=[*changes.rotated],
        replaced=[*changes.replaced],
        signed=[proposal.old[place].name for place in standing.signed],
        counted=standing.counted,
        needed=standing.needed,
        owed=[*standing.owed],
    )


def _spent(node: AnyNode, peer: int) -> dict[str, Any]:
    """What a peer may ask of this node, and has asked in the last day."""
    may, limits, (motions, rows) = node.access_of(peer)
    return {
        "may_ask": may,
        "motions_today": (motions, limits.motions_a_day),
        "rows_today": (rows, limits.rows_a_day),
    }


def _clock_time(node: AnyNode, peer: int) -> float | None:
    seen = node.seen[peer]
    return None if seen is None else round(node.transport.clock() - (node.transport.now() - seen), 3)


def as_dict(value: Status) -> dict[str, Any]:
    """For ``--json``."""
    told = msgspec.to_builtins(value)
    del told["type"]
    return dict(told)
