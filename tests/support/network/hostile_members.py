"""Members that come between an honest node and its transport, and use the rules against the others."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from msgspec.structs import replace

from folkmoot.network.service.node import Node
from folkmoot.network.transports.memory import World
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.packing import pack, unpack
from support.network.moot_in_memory import Moot


class Equivocating:
    """Commits to all but its victim, reads what these reveal, and commits to the victim with copied votes.

    It says that it is not as far yet until it has read enough, and never closes, so that no node is given two
    things that it has signed and that contradict each other.
    """

    def __init__(self, victim: int, *, blindly: bool = False) -> None:
        """``blindly``: commit to something else at once, without having read anything."""
        self.victim, self.blindly = victim, blindly
        self.copied: set[bytes] = set()  # motions in which it came so far

    def __call__(self, moot: Moot, place: int, node: Node, world: World) -> None:
        send, receive, key = world.send, node.received, moot.keys[place]
        fingerprint = bytes.fromhex(moot.roster[place].fingerprint)
        read: dict[bytes, dict[int, bytes]] = defaultdict(dict)
        second: dict[bytes, tuple[m.Commit, m.Reveal]] = {}

        def commit_again(name: bytes, first: bytes) -> None:
            salt = bytes(31) + b"2"
            commitment = statements.commitment_to(name, fingerprint, salt, first)
            signature = key.sign(statements.committed(name, place, commitment))
            bare = m.Reveal(name, salt, first, bytes(64), want=False)
            reveal = replace(bare, signature=key.sign(statements.revealed(bare, place)))
            second[name] = m.Commit(name, place, commitment, signature, want=True), reveal
            self.copied.add(name)
            send(self.victim, m.encode(second[name][0]))

        def trusting(name: bytes) -> bool:
            session = node.session(name)
            return session is not None and session.motion.trust

        def sent(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Hello | m.Announce) or not trusting(message.motion):
                send(peer, frame)
            elif isinstance(message, m.Close):
                pass
            elif peer == self.victim and isinstance(message, m.Commit) and message.node == place:
                if self.blindly and message.motion not in second:
                    session = node.session(message.motion)
                    assert session is not None
                    classes, inputs = session.motion.classes, session.motion.inputs
                    commit_again(message.motion, pack(np.zeros(inputs, np.int8), classes))
                elif message.motion in second:
                    send(peer, m.encode(replace(second[message.motion][0], want=message.want)))
                else:
                    send(peer, m.encode(m.Pending(message.motion)))
            elif peer == self.victim and isinstance(message, m.Reveal):
                if message.motion in second:
                    send(peer, m.encode(replace(second[message.motion][1], want=message.want)))
            else:
                send(peer, frame)

        def received(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Reveal) and peer not in (self.victim, place):
                read[message.motion][peer] = message.first
                session = node.session(message.motion)
                if (
                    session is not None
                    and message.motion not in second
                    and len(read[message.motion]) >= moot.n - 2
                ):
                    votes = np.stack([
                        unpack(first, session.motion.inputs, session.motion.classes)
                        for first in read[message.motion].values()
                    ])  # fmt: skip
                    counts = [(votes == colour).sum(axis=0) for colour in range(session.motion.classes)]
                    copied = np.argmax(np.stack(counts), axis=0).astype(np.int8)
                    commit_again(message.motion, pack(copied, session.motion.classes))
            receive(peer, frame)

        world.send = sent  # type: ignore[method-assign]
        node.received = received  # type: ignore[method-assign]


class ClaimsMarks:
    """Says that it holds other commitments of everybody than it does, and has none to show."""

    def __call__(self, moot: Moot, place: int, node: Node, world: World) -> None:  # noqa: ARG002
        send = world.send

        def sent(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Marks):
                bare = replace(message, marks=bytes(byte ^ 0x55 for byte in message.marks))
                frame = m.encode(
                    replace(bare, signature=moot.keys[place].sign(statements.marked(bare, place)))
                )
            elif isinstance(message, m.Commit) and message.node != place:
                return
            send(peer, frame)

        world.send = sent  # type: ignore[method-assign]
