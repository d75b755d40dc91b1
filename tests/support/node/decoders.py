"""Everything in a node that reads what somebody else wrote, with samples of it: for damaged frames and files.

``readers`` is the table. ``tests/node/test_fuzz.py`` holds it to the code: a decoder that is not in it fails
there until it is.
"""

from __future__ import annotations

import pkgutil
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot import node
from folkmoot.node.ballots import Ballots
from folkmoot.node.certificate import read_certificate, verify
from folkmoot.node.evidence import check_evidence, evidence_file
from folkmoot.node.membership.exported import read_exported
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.review import FirstVotes, read_first
from folkmoot.node.rosters import frames as of_rosters
from folkmoot.node.rosters.successor import Successor
from folkmoot.node.service import admission
from folkmoot.node.session import frames
from folkmoot.node.session.header import Header, read_header
from folkmoot.node.session.sets import encoded as encoded_set
from folkmoot.node.session.sets import read_commitments, read_revealed
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.audit import check_export, export_log
from folkmoot.node.wire import messages
from folkmoot.node.wire.schema import Column
from support.node.filed import archive_of, file
from support.node.mutated import mutated
from support.node.signed import SignedWorld, Twice, certificate, decided, keys_and_roster, member, play

INPUTS, LABELS = 6, ("no", "yes", "ü")
# What is read from this node's own database, whose seal is checked, or from its signed roster frames.
OWN = {"storage.storage:_EVIDENCE", "rosters.chronicle:_EVIDENCE", "rosters.chronicle:_PRECOMMITS"}


@dataclass(frozen=True)
class Reader:
    """A reader: whatever it is shown, it refuses it in words or has read something that holds together."""

    name: str
    read: Callable[[bytes], Any]
    pool: list[bytes]  # what it takes
    whole: Callable[[bytes, Any], None]  # fails if what was read does not hold together
    covers: tuple[str, ...]  # decoders, by module
    quick: int = 1000  # damaged ones in make test


def decoders() -> set[str]:
    """Every decoder of a node, by its module and name."""
    found = set()
    for each in pkgutil.walk_packages(node.__path__, "folkmoot.node."):
        for name, value in vars(import_module(each.name)).items():
            if isinstance(value, msgspec.msgpack.Decoder | msgspec.json.Decoder):
                found.add(f"{each.name.removeprefix('folkmoot.node.')}:{name}")
    return found


def damaged(reader: Reader, many: int) -> int:
    """Show a reader so many damaged ones; how many of them it read."""
    rng, read, silent = random.Random(f"damaged {reader.name}"), 0, 0
    for _ in range(many):
        data = mutated(rng, rng.choice(reader.pool), reader.pool)
        try:
            found = reader.read(data)
        except ValueError as error:
            silent += not str(error)
            continue
        read += 1
        reader.whole(data, found)
    assert silent == 0, "refused without a word"
    return read


def played() -> SignedWorld:
    """Four members about six inputs, of whom one signs two commitments."""
    votes: list[list[Any]] = [
        [0, 1, 2, 0, 1, None],
        [0, 1, 2, 2, 1, 0],
        [0, 1, 1, 0, 1, 0],
        [2, 2, 2, 2, 2, 2],
    ]
    return play(Terms(labels=LABELS), votes, kinds={3: Twice}, seed=2)


def readers(folder: Path) -> tuple[Reader, ...]:
    """All of them; files are written into the folder."""
    world = played()
    return (*_said(world), *_files(world, folder), *_rosters(folder))


def _anything(_data: bytes, _found: Any) -> None:
    """What was decoded is what its types say: msgspec saw to that."""


def _beginning(data: bytes) -> Any:
    """As admission does: what else there is may be nested without end."""
    try:
        return admission._START.decode(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _written_so(write: Callable[[Any], bytes]) -> Callable[[bytes, Any], None]:
    def whole(data: bytes, found: Any) -> None:
        assert write(found) == data, "one encoding each"

    return whole


def _as_it_was(pool: list[bytes]) -> Callable[[bytes, Any], None]:
    def whole(data: bytes, _found: Any) -> None:
        assert data in pool, "not a byte can be changed"

    return whole


def _said(world: SignedWorld) -> Iterator[Reader]:
    """What nodes say to each other."""
    name, n = world.motion, world.n
    told = [frames.encoded(frames.read_stored(each)) for each in world.nodes[0].journal]
    talk = [frames.encoded(each) for each in (
        frames.Have(name, 0, 1, 2, bytes(64)), frames.Ask(name, 7), frames.Answer(name, 7, bytes(3)),
    )]  # fmt: skip
    wire = [each for each in told if messages.kind_of(each) in (0, 1)] + talk
    yield Reader("frames of a session", frames.read, wire, _anything, ("session.frames:_WIRE",), 4000)
    yield Reader(
        "journals", frames.read_stored, world.nodes[0].journal, _anything, ("session.frames:_STORED",)
    )
    agreed = [poll.agreements for poll in decided(world).polls]
    sets = [[stages[i].bodies[stages[i].decided or b""] for stages in agreed] for i in (0, 1)]
    yield Reader("sets of commitments", read_commitments, sets[0], _written_so(encoded_set),
                 ("session.sets:_READ_COMMITMENTS",))  # fmt: skip
    yield Reader("sets of reveals", read_revealed, sets[1], _written_so(encoded_set),
                 ("session.sets:_READ_REVEALED",))  # fmt: skip
    schema = (Column("age", "years", 0.0, 120.0), Column("dose"))
    headers = [
        Header(bytes(32), 1, bytes(16), 1e9, terms, INPUTS, 2, schema=schema).encoded()
        for terms in (
            Terms(labels=LABELS, protocol="snowball", k=3), Terms(answers="numbers", step=0.5),
            Terms(answers="probabilities", labels=LABELS, believe="own"),
        )
    ]  # fmt: skip
    yield Reader("headers", lambda data: read_header(data, n), headers, _written_so(Header.encoded),
                 ("session.header:_DECODER",), 4000)  # fmt: skip
    yield Reader("beginnings of headers", _beginning, headers, _anything,
                 ("service.admission:_START",))  # fmt: skip
    said = [messages.encode(each) for each in (
        messages.Announce(headers[0], bytes(64), 3.0), messages.Refuse(name, 3, "why ü", bytes(64)),
        messages.Fetch(name, -1), messages.Chunk(name, 3, bytes(100)), messages.Knows(LABELS),
        messages.Knows(None),
    )]  # fmt: skip
    yield Reader("messages about motions", messages.read_message, said, _anything,
                 ("wire.messages:_OF_MOTIONS",), 4000)  # fmt: skip
    hello = [messages.encode(messages.Hello(name, 1.5e9, (bytes(32),)))]
    yield Reader("greetings", messages.read_hello, hello, _anything, ("wire.messages:_HELLO",))
    first = [msgspec.msgpack.encode(FirstVotes(bytes(4), (1, 3), b"\x01", b"order"))]
    yield Reader("ballots with rows", read_first, first, _anything, ("review:_DECODER",))
    for answers in ("labels", "probabilities", "numbers"):
        form = Ballots(answers, INPUTS, len(LABELS))
        votes = form.nothing()
        votes[0] = [255, 0, 0] if answers == "probabilities" else 2
        pool = [form.pack(votes), form.pack(form.nothing())]
        yield Reader(f"votes: {answers}", form.unpack, pool, _packed(form), ())


def _packed(form: Ballots) -> Callable[[bytes, Any], None]:
    def whole(data: bytes, found: Any) -> None:
        assert form.pack(found) == data or not data, "one encoding each"

    return whole


def _files(world: SignedWorld, folder: Path) -> Iterator[Reader]:
    """What is in files that one node writes and others check."""
    keys, roster = keys_and_roster(world.n)
    shown = [certificate(world), certificate(world, 1)]
    yield Reader("certificates", lambda data: verify(data, roster), shown, _certified(shown, roster),
                 ("certificate:_DECODER",), 300)  # fmt: skip
    found = decided(world).evidence.values()
    proofs = [evidence_file(each, roster[each.one.member].fingerprint) for each in found]
    yield Reader("evidence", lambda data: check_evidence(data, roster), proofs, _as_it_was(proofs),
                 ("evidence:_DECODER",))  # fmt: skip
    archive = archive_of(world.n)
    file(archive.storage, world)
    log = archive.storage.audit
    export = export_log(
        archive.storage.check_audit(), log.base(), roster[0].name, roster[0].fingerprint, keys[0]
    )
    exports = [export.encode()]
    yield Reader(
        "audit logs", lambda data: check_export(data.decode(), roster), exports, _as_it_was(exports), ()
    )
    for name in ("model.skops", "model.schema.toml", "holdout.npz"):
        (folder / name).touch()

    def taken(data: bytes) -> dict[str, Any]:
        (folder / "exported.toml").write_bytes(data)
        return read_exported(folder)

    def harmless(_data: bytes, found: dict[str, Any]) -> None:
        assert found.keys() <= {"model", "schema", "holdout", "labels"}
        assert all((folder / found[key]).parent == folder for key in found.keys() - {"labels"})

    exported = [
        b'model = "model.skops"\nlabels = ["no", "yes"]\n',
        b'holdout = "holdout.npz"\nlabels = [1, 2.5]\n',
    ]
    yield Reader("exports", taken, exported, harmless, ())


def _certified(pool: list[bytes], roster: Roster) -> Callable[[bytes, Any], None]:
    """Nothing in it can be changed but which members of a quorum signed."""
    outcome = verify(pool[0], roster)

    def whole(data: bytes, found: Any) -> None:
        assert (found.motion, found.answer) == (outcome.motion, outcome.answer)
        assert read_certificate(data).header == read_certificate(pool[0]).header

    return whole


def _rosters(folder: Path) -> Iterator[Reader]:
    """Rosters in frames, in files, and a member's line."""
    _, old = keys_and_roster(4)
    keys = [Ed25519PrivateKey.from_private_bytes(bytes([place] * 32)) for place in (1, 2)]
    changes: list[tuple[list[Member], tuple[str, ...]]] = [
        ([*old, member("zoe", keys[0])], ()),
        ([*old][1:], ()),
        ([member(old[0].name, keys[1]), *[*old][1:]], (old[0].name,)),
    ]
    contents = [Successor.after(old, members, replaced).content for members, replaced in changes]
    yield Reader("contents of rosters", lambda data: Successor.read(data, old), contents,
                 _written_so(lambda found: found.content), ("rosters.successor:_DECODER",), 500)  # fmt: skip
    previous, signed = bytes.fromhex(old.digest), ((0, bytes(64)), (3, bytes(range(64))))
    told = [messages.encode(each) for each in (
        of_rosters.Rosters(previous, ((bytes(32), b"\x05"),)),
        of_rosters.Proposed(previous, bytes(32), contents[0], signed),
        of_rosters.Agreeing(previous, frames.encoded(frames.Have(previous, 0, 0, 0, bytes(8)))),
        of_rosters.Followed(previous, contents[1], signed, 2, signed),
    )]  # fmt: skip
    yield Reader("frames about rosters", of_rosters.read, told, _anything, ("rosters.frames:_DECODER",), 2000)
    path = folder / "roster.toml"
    Roster([*old][:2]).write(path)  # to read a certificate takes long

    def in_file(data: bytes) -> Roster:
        path.write_bytes(data)
        return Roster.read(path)

    def a_roster(_data: bytes, found: Roster) -> None:
        assert len(found.digest) == 64

    yield Reader("roster files", in_file, [path.read_bytes()], a_roster, (), 150)
    lines = [each.line().encode() for each in old]

    def a_member(_data: bytes, found: Member) -> None:
        assert Member.parse(found.line()) == found

    yield Reader("lines of members", lambda data: Member.parse(data.decode(errors="surrogateescape")), lines,
                 a_member, (), 300)  # fmt: skip


def kinds(pool: list[bytes]) -> set[int]:
    """Which kinds of frames there are."""
    return {messages.kind_of(each) for each in pool}


def some_rows() -> Any:
    """Inputs of a motion."""
    return np.arange(2.0 * INPUTS).reshape(INPUTS, 2)
