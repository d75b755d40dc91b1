"""What a node has in its folder after motions were played: storage, history, archive, with real keys."""

from __future__ import annotations

from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.history import RosterHistory
from folkmoot.node.service.archive import NodeArchive
from folkmoot.node.session.statement import asked
from folkmoot.node.storage.storage import Storage
from support.node.signed import SignedWorld, certificate, decided, keys_and_roster

CLOCK = 1e9


def identity(roster: Roster, place: int) -> Identity:
    """The node at a place of ``keys_and_roster``."""
    keys, _ = keys_and_roster(len(roster))
    member = roster[place]
    return Identity(
        member.name, member.organisation, member.addresses[0], member.addresses, keys[place],
        member.certificate, member.fingerprint,
    )  # fmt: skip


def archive_of(n: int, place: int = 0) -> NodeArchive:
    """An empty one."""
    _, roster = keys_and_roster(n)
    storage = Storage(":memory:")
    return NodeArchive(storage, RosterHistory(storage, roster), identity(roster, place))


def file(storage: Storage, world: SignedWorld, **summary: object) -> bytes:
    """Store a motion that was played to its end, as the node at place 0 does; its name."""
    motion, header = decided(world), world.header
    name = world.motion
    signature = world.keys[header.asker].sign(asked(name))
    storage.open_motion(
        name, header.encoded(), signature, world.people, world.members.faults, CLOCK, CLOCK + 60
    )
    storage.append(name, world.nodes[0].journal, CLOCK)
    for each in motion.evidence.values():
        storage.accuse(name, each, CLOCK)
    assert motion.answer is not None
    storage.conclude(name, motion.answer, certificate(world), CLOCK + 1, seconds=1.5, **summary)
    return name
