"""Everything that reads what somebody else wrote, with samples of it: for damaged frames and files.

``readers`` is the table. ``test_fuzz.py`` holds it to the code: a decoder, a reader or a kind of message that
is not in it fails there until it is.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import msgspec
import numpy as np

from folkmoot import network, web
from folkmoot.federated.agreement import Statement
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.levels import to_levels
from folkmoot.network.membership.quorum_choice import read_quorum_set
from folkmoot.network.membership.roster import Member, Roster
from folkmoot.network.service import control
from folkmoot.network.service.status import PeerStatus, Status
from folkmoot.network.session.series import Rounds, Series, read_series
from folkmoot.network.storage.account import account_of
from folkmoot.network.storage.audit import check_export, export_log
from folkmoot.network.storage.certificate import read_certificate, write_certificate
from folkmoot.network.storage.opened import read_opened
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.ballots import form_of, pack_statement, read_set, unpack_statement
from folkmoot.network.wire.forms import Answers, ChanceForm, Form, LabelForm, NumberForm
from folkmoot.network.wire.invitation import Invitation, read_invitation
from folkmoot.network.wire.messages import Close
from folkmoot.network.wire.motion import Motion, read_header
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.network.wire.packing import pack
from folkmoot.network.wire.review import CheckedForm, OwnerMap, Review, read_map
from folkmoot.network.wire.schema import Column
from folkmoot.network.wire.succession import Succession
from folkmoot.network.wire.succession_file import read_succession, write_succession
from folkmoot.network.wire.verdict import verdict
from folkmoot.web.api import _truths_in
from folkmoot.web.putting import asked_in_json
from support.network.epochs import member, roster_of, signatures
from support.network.federated_moot import FederatedMoot
from support.network.moot_in_memory import Moot, keys_and_roster
from support.network.number_moot import NumberMoot

INPUTS = 30
INVITATION = Invitation(
    bytes(32), 5, bytes(16), 1e9, 3.0, ("a", "b"), INPUTS, 1, "<i4", (Column("age", "years", 0.0, 120.0),)
)
GIVEN = m.Contribution(5, 10, bytes(32), bytes(32), bytes(64))
NAMES = ("anna", "bert", "cleo", "dora", "emil")


@dataclass(frozen=True)
class Reader:
    """A reader: whatever it is shown, it refuses it in words or has read something that holds together."""

    name: str
    read: Callable[[bytes], Any]
    pool: list[bytes]  # what it takes
    whole: Callable[[bytes, Any], None]  # fails if what was read does not hold together
    covers: tuple[str, ...]  # decoders and functions of folkmoot.network and folkmoot.web, by module
    refuses: tuple[type[Exception], ...] = (ValueError,)
    quick: int = 1000  # damaged ones in make test


def messages() -> list[bytes]:
    """A valid frame of every kind, with and without what is optional."""
    heard = m.Heard(3, 1 << 40, bytes(32), bytes(64))
    motion, name = Moot(np.zeros((6, INPUTS), np.int8), 0).motion()[0], bytes(range(32))
    votes = pack(np.zeros(INPUTS, np.int8), 2)
    return [m.encode(each) for each in (
        m.Hello(name, 1.5e9), m.Announce(motion.encoded(), bytes(64), 3.0), m.Unknown(name), m.Fetch(name, 3),
        m.Chunk(name, 3, bytes(100)), m.Commit(name, 5, bytes(32), bytes(64), want=True), m.Pending(name),
        m.Ask(name, 7, None), m.Ask(name, 7, heard), m.Answer(name, 7, 9, votes, bytes(64)),
        m.Unready(name, 7),
        m.Close(name, 5, votes, bytes(32), votes, "why ü", bytes(64)), m.Want(name, b"\x3f"),
        m.Refuse(name, 5, "why ü", bytes(64)),
        m.Reveal(name, bytes(32), votes, bytes(64), True),
        m.Marks(name, bytes(16), bytes(48), bytes(64), True),
        m.Held((name, bytes(32)), ((name, b"\x05"),)),
        m.Successor(name, b"\x94" + bytes(40), ((0, bytes(64)), (5, bytes(range(64))))),
        m.Invite(INVITATION.encoded(), bytes(64)), m.Rows(name, bytes(40), GIVEN),
        m.Owners(name, 5, bytes(32), (m.Owned(GIVEN, (1, 7)),), bytes(64)),
        m.Labels(name, bytes(32), 5, bytes(32), votes, bytes(64)), m.Unopened(name, b"\x05"),
        m.Choice(name, 5, m.SetForm(2, ("p000", "p001"), (m.SetForm(1, ("p002",), ()),)), bytes(64)),
        m.Ballot(name, 5, 3, bytes(32), bytes(40), bytes(64)), m.Lacking(name, bytes(96)),
        m.Lead(name, 7), m.Led(name, 7, 9, votes, bytes(64), bytes(64)),
        m.Show(name, 7, (m.Shown(5, 9, votes, bytes(64), bytes(64)), m.Shown(1, 0, b"", *[bytes(64)] * 2))),
        m.Unseen(name, b"\x05"), m.Seen(name, 5, bytes(64), bytes(32), votes, bytes(64)),
    )]  # fmt: skip


def evidence() -> list[bytes]:
    """Evidence of every kind; nothing of it was ever signed."""
    heard = m.Heard(3, 9, bytes(32), bytes(64))
    commit = m.Commit(bytes(32), 5, bytes(32), bytes(64), want=True)
    close = m.Close(bytes(32), 5, b"1", bytes(32), b"2", "", bytes(64))
    consent = statements.Consent(bytes(32), 5, bytes(32), bytes(64))
    choice = m.Choice(bytes(32), 5, m.SetForm(1, ("p000",), ()), bytes(64))
    ballot = m.Ballot(bytes(32), 5, 3, bytes(32), bytes(40), bytes(64))
    return [statements.write_evidence(each) for each in (
        statements.TwoStates(bytes(32), heard, heard), statements.TwoCommits(commit, commit),
        statements.TwoCloses(close, close), statements.BrokenCommitment(commit, close, bytes(32)),
        statements.BrokenReveal(
            commit, m.Reveal(bytes(32), bytes(32), b"2", bytes(64), want=True), bytes(32)
        ),
        statements.TwoSuccessors(consent, consent),
        statements.BrokenOwners(headers()[-1], m.Owners(bytes(32), 5, bytes(32), (), bytes(64))),
        statements.BrokenLabels(
            GIVEN, m.Labels(bytes(32), bytes(32), 5, bytes(32), b"2", bytes(64)), bytes(32)
        ),
        statements.TwoQuorumSets(choice, choice),
        statements.TwoQuorumSets(choice, ballot), statements.TwoBallots(ballot, ballot),
    )]  # fmt: skip


def headers() -> list[bytes]:
    """Headers of motions about labels, numbers and probabilities, and of a federated one."""
    hall = Moot(np.zeros((6, INPUTS), np.int8), 0)
    changes: list[dict[str, Any]] = [{}, {"protocol": "snowball"}, {"alpha": 0}, {"weighted": True}]
    changes += [{"trust": True, "review": Review(20, bytes(32), bytes(32))}]
    numbers = NumberMoot(np.zeros((6, INPUTS)), 0)
    chances = NumberMoot(np.zeros((6, INPUTS, 3), np.int16), 0)
    federated = FederatedMoot(np.zeros((6, INPUTS), np.int8), 0)
    others = [moot.motion()[0].encoded() for moot in (numbers, chances, federated)]
    return [*others, *(hall.motion(**each)[0].encoded() for each in changes)]


@lru_cache
def readers(folder: Path) -> tuple[Reader, ...]:
    """All of them; files are written into the folder."""
    return (
        Reader("messages", m.decode, messages(), _message, ("wire.messages:_DECODER",), quick=20_000),
        Reader("headers", read_header, headers(), _header,
               ("wire.motion:_DECODER", "wire.motion:read_header"),
               (ValueError, TypeError), quick=6000),
        Reader("evidence", statements.read_evidence, evidence(), _evidence,
               ("wire.statements:_DECODER", "wire.statements:read_evidence"), quick=6000),
        *_forms(), *_rosters(folder), *_played(), *_doors(), *_reviews(), *_ballots(folder),
    )  # fmt: skip


def enumerated() -> set[str]:
    """Every decoder of folkmoot.network and folkmoot.web, and every function of the parts of a node that
    others write to which reads bytes, texts or files.
    """
    found = set()
    for module in (*_modules(network), *_modules(web)):
        short = module.__name__.removeprefix("folkmoot.").removeprefix("network.")
        for name, value in vars(module).items():
            if isinstance(value, msgspec.msgpack.Decoder | msgspec.json.Decoder):
                found.add(f"{short}:{name}")
        if short.partition(".")[0] in ("wire", "membership", "session", "storage"):
            found |= {f"{short}:{name}" for name, value in _functions(module) if _reads(name, value)}
    return found


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield import_module(each.name)


def _functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_"):
            if inspect.isfunction(value):
                yield name, value
            elif inspect.isclass(value):
                for attribute, method in inspect.getmembers(value, inspect.isroutine):
                    if attribute in vars(value) and not attribute.startswith("_"):
                        yield f"{name}.{attribute}", method


def _reads(name: str, function: Any) -> bool:
    """Whether a function's name and first argument say that it reads something."""
    if not name.rpartition(".")[2].startswith(("read", "parse", "unpack", "check_export")):
        return False
    kinds = [
        each.annotation for each in inspect.signature(function).parameters.values() if each.name != "self"
    ]
    return bool(kinds) and kinds[0] in ("bytes", "str", "Path", "Path | str")


def kinds_of(decoder: Any) -> set[type]:
    """The types that a decoder of a union tells apart."""
    return {*(get_args(decoder.type) or (decoder.type,))}


# ---- what was read holds together --------------------------------------------------------------


def _message(data: bytes, message: Any) -> None:
    assert m.decode(m.encode(message)) == message or m.encode(message) == data, "NaN is not itself"


def _header(data: bytes, found: Motion) -> None:
    assert found.encoded() == data
    if not found.federated:
        assert found.rule(found.alpha or found.k // 2 + 1) if found.is_labels else found.aggregation()
    assert found.form.held_bytes < m.MOST_BYTES / 2


def _evidence(_data: bytes, found: statements.Evidence) -> None:
    assert statements.accused(found) >= 0
    assert len(statements.motion_of(found)) >= 0
    key = keys_and_roster(6)[1][5].public_key
    assert not statements.proves(found, key, bytes(32)), "nothing was ever signed"


def _forms() -> Iterator[Reader]:
    """First votes and what is held, of every form; and the verdict on closes that hold them."""
    generator = np.random.default_rng(23)
    made: list[tuple[Form, Any]] = []
    for classes in (2, 3, 10, 127):
        for low in (0, -1):
            colours = generator.integers(low, classes, INPUTS).astype(np.int8)
            made.append((LabelForm(INPUTS, classes), colours))
    numbers = generator.normal(0, 1e3, (INPUTS, 1))
    numbers[4] = np.nan
    levels = to_levels(generator.dirichlet(np.ones(3), INPUTS)).astype(np.int16)
    levels[2] = -1
    made += [(NumberForm(INPUTS), numbers), (ChanceForm(INPUTS, 3), levels)]
    others = {CheckedForm}  # is among what is said of check rows
    assert {type(form) for form, _ in made} == {*_below(Form)} - others, "a form without samples"
    for i, (form, first) in enumerate(made):
        for what, packed, reads in (
            ("first", form.pack_first(first), form.unpack_first),
            ("held", form.pack(form.opening(first)), form.unpack),
        ):
            pack_again = form.pack_first if what == "first" else form.pack

            def whole(data: bytes, found: Any, form: Form = form, pack: Any = pack_again) -> None:
                assert pack(found) == data, "one encoding each"
                assert len(found) == form.inputs

            name = reads.__name__
            of_kinds = (
                f"wire.{kind.__module__.rpartition('.')[2]}:{kind.__name__}.{name}"
                for kind in (Form, *_below(Form))
                if name in vars(kind)
            )
            covers = ("wire.packing:unpack", *of_kinds)
            yield Reader(f"{type(form).__name__} {i} {what}", reads, [packed], whole, covers, quick=1500)
    yield _closes(NumberForm(INPUTS), numbers)


def _below(kind: Any) -> Iterator[Any]:
    """All classes made of this one."""
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _closes(form: NumberForm, numbers: Any) -> Reader:
    """A verdict on numbers, one close of seven being damaged and signed by a liar."""
    values = np.tile(numbers[:, 0], (7, 1))
    motion = NumberMoot(values, 0).motion()[0]
    packed = form.pack(numbers)

    def close(place: int, held: bytes) -> Close:
        return Close(bytes(32), place, held, bytes(32), packed, "", bytes(64))

    honest = {place: close(place, packed) for place in range(6)}

    def read(data: bytes) -> NumberVerdict:
        form.unpack(data)  # a close that holds no numbers is not taken
        found = verdict(motion, 7, honest | {6: close(6, data)})
        assert isinstance(found, NumberVerdict)
        return found

    def whole(_data: bytes, found: NumberVerdict) -> None:
        assert found.claimed.tolist() == (~np.isnan(numbers[:, 0])).tolist()
        np.testing.assert_array_equal(found.claims[:, 0], numbers[:, 0])  # six of seven hold the same

    return Reader("closes of numbers", read, [packed], whole, (), quick=300)


def _rosters(folder: Path) -> Iterator[Reader]:
    """Rosters: in a frame, in files, and a member's line."""
    old = roster_of(NAMES)
    successions = [
        Succession.after(old, [*old, member("fred")]),
        Succession.after(old, [*old][1:]),
        Succession.after(old, [member("anna", 1), *old][:1] + [*old][1:], ["anna"]),
    ]
    contents = [each.content for each in successions]
    plain, signed = folder / "roster.toml", folder / "next.toml"
    two = roster_of(NAMES[:2])  # to read a certificate takes long
    two.write(plain)
    texts = []
    for members in ([*two, member("fred")], [member("anna", 1), two[1]]):
        follower = Succession.after(two, members, ["anna"] if len(members) == 2 else [])
        write_succession(signed, follower, two, signatures(follower, two, ["bert"]))
        texts.append(signed.read_bytes())

    def in_file(path: Path, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
        def written(data: bytes) -> Any:
            path.write_bytes(data)
            return read(path)

        return written

    def follows(data: bytes, found: Succession) -> None:
        assert found.content == data
        assert found.roster.previous == old.digest

    def a_roster(_data: bytes, found: Roster) -> None:
        assert len(found.digest) == 64

    def with_signatures(_data: bytes, found: tuple[Succession, dict[int, bytes]]) -> None:
        succession, told = found
        assert succession.standing(two, told).signed == tuple(sorted(told))

    def a_member(_data: bytes, found: Member) -> None:
        assert Member.parse(found.line()) == found

    line = ("membership.roster:Member.parse", "membership.fields:parse_toml")
    yield Reader("contents of rosters", lambda data: Succession.read(data, old), contents, follows,
                 ("wire.succession:_DECODER", "wire.succession:Succession.read"), quick=600)  # fmt: skip
    yield Reader("roster files", in_file(plain, Roster.read), [plain.read_bytes(), *texts], a_roster,
                 ("membership.roster:Roster.read", "membership.fields:read_toml"), quick=150)  # fmt: skip
    yield Reader("succession files", in_file(signed, lambda path: read_succession(path, two)), texts,
                 with_signatures, ("wire.succession_file:read_succession",), quick=150)  # fmt: skip
    yield Reader("lines of members", lambda data: Member.parse(data.decode(errors="surrogateescape")),
                 [each.line().encode() for each in old], a_member, line, quick=300)  # fmt: skip


def _ballots(folder: Path) -> Iterator[Reader]:
    """Statements of federated motions, and quorum sets in files."""
    rng = np.random.default_rng(5)
    pool = []
    for classes in (2, 3, 10):
        for counters in (0, 1, 3):
            said = rng.integers(-1, classes, (4, counters, 6)).astype(np.int8)
            wanted, at = rng.integers(-1, classes, 6).astype(np.int8), rng.integers(0, 17, 6)
            pool.append(pack_statement(Statement("", said, at, wanted), classes))

    def one_encoding(data: bytes, found: tuple[Statement, int]) -> None:
        statement, classes = found
        assert pack_statement(statement, classes) == data
        assert -1 <= statement.said.min(initial=0) <= statement.said.max(initial=0) < classes
        assert 0 <= statement.counter.min() <= statement.counter.max() <= 16

    path = folder / "mine.toml"
    texts = [
        b'threshold = 2\nmembers = ["a", "b"]\n[[inner]]\nthreshold = 1\nmembers = ["c"]\n',
        b'name = "x"\n[quorum_set]\nthreshold = 1\nmembers = ["a"]\n',
        b'{"threshold": 2, "validators": ["a"], "innerQuorumSets": [{"threshold": 1, "validators": ["b"]}]}',
    ]

    def read(data: bytes) -> QuorumSet:
        path.write_bytes(data)
        return read_quorum_set(path)

    def satisfiable(_data: bytes, found: QuorumSet) -> None:
        assert found.satisfiable
        assert read_set(form_of(found)).digest() == found.digest()

    yield Reader("ballots", lambda data: unpack_statement(data[:2000], bytes(32)), pool, one_encoding,
                 ("wire.ballots:unpack_statement",), quick=3000)  # fmt: skip
    yield Reader("quorum set files", read, texts, satisfiable,
                 ("membership.quorum_choice:read_quorum_set",), quick=300)  # fmt: skip


def _played() -> Iterator[Reader]:
    """Certificates, audit logs and kept rounds of motions that were played."""
    values = np.tile(np.arange(4.0), (7, 1))
    federated = FederatedMoot(np.ones((7, 2), np.int8), 1)
    halls = [Moot(np.ones((7, 4), np.int8), 1, two_faced=[2]), NumberMoot(values, 1), federated]
    certificates, exports, rounds = [], [], []
    for hall in halls:
        hall.put(0, rounds=3)
        hall.network.run(40.0)
        for place in (0, 1):
            storage = hall.storages[place]
            (stored,) = storage.motions()
            held = storage.held(stored.name)
            certificates.append(write_certificate(stored, held))
            own = hall.roster[place]
            log = export_log([*storage.audit.entries()], own.name, own.fingerprint, hall.keys[place])
            exports.append(log.encode())
    series = Series(began=0.0)
    for at in range(5):
        series.add(float(at), [1, 2], {1: bytes([at // 2] * 8)}, changed=at)
    rounds.append(series.packed())
    roster = halls[0].roster

    def as_it_was(pool: list[bytes]) -> Callable[[bytes, Any], None]:
        def whole(data: bytes, _found: Any) -> None:
            assert data in pool, "not a character can be changed"

        return whole

    def of_what_was_signed(data: bytes, _found: Any) -> None:
        """Some of the closes may be left out, as the certificate itself says, but none be changed."""
        told, known = json.loads(data), [json.loads(each) for each in certificates]
        for part in ("closes", "evidence"):
            assert all(any(each in other[part] for other in known) for each in told[part])
        assert any(
            all(told[key] == other[key] for key in ("header", "signature", "motion")) for other in known
        )

    yield Reader("certificates", lambda data: account_of(*read_certificate(data, roster)), certificates,
                 of_what_was_signed,
                 ("storage.certificate:_DECODER", "storage.certificate:read_certificate"),
                 quick=500)  # fmt: skip
    yield Reader("audit logs", lambda data: check_export(data.decode(), roster), exports, as_it_was(exports),
                 ("storage.audit:check_export", "storage.audit:read_export"), quick=500)  # fmt: skip

    def of_rounds(_data: bytes, found: Rounds) -> None:
        assert all(isinstance(each.asked, tuple) and isinstance(each.at, float) for each in found.rounds)

    yield Reader("kept rounds", read_series, rounds, of_rounds,
                 ("session.series:_DECODER", "session.series:read_series"))  # fmt: skip


def _doors() -> Iterator[Reader]:
    """What is said at the asker's door, and over HTTP."""
    put = control.Put(
        5.0, "slush", None, None, 1, 5, 0.0, False, False, ("a", "b"), 1, 1, "<f8", 1, (bytes(32),)
    )
    encode = msgspec.msgpack.Encoder().encode
    asked = [encode(each) for each in (put, control.Look("x"))]
    hall = Moot(np.ones((6, INPUTS), np.int8), 1)
    hall.put(0, rounds=2)
    hall.network.run(40.0)
    (stored,) = hall.storages[0].motions()
    account = account_of(stored, hall.storages[0].held(stored.name))
    peer = PeerStatus("b", True, False, 0.1, None, 3, 0, 0)
    now = Status("a", "0.2", "ab", 2, 2, 1.0, [peer], [], (0, 1), (0, 1), (0, 1), True)
    told = [control.Refused("why"), control.MotionProgress("ab", "talking", 1, 2), control.Over(account), now]
    replies = [encode(each) for each in told]

    def a_struct(_data: bytes, found: Any) -> None:
        assert isinstance(found, msgspec.Struct)

    yield Reader("requests at the door", partial(m.decoded, control._REQUEST), asked, a_struct,
                 ("service.control:_REQUEST",))  # fmt: skip
    yield Reader("replies at the door", partial(m.decoded, control._REPLY), replies, a_struct,
                 ("service.control:_REPLY",))  # fmt: skip
    question = b'{"rows": [[1.5, null], [2, 3]], "columns": ["a", {"name": "b", "low": 0}], "rounds": 5}'
    truths = b'{"truths": [{"input": 3, "label": "a"}, {"input": 0, "label": "b"}]}'

    def a_batch(_data: bytes, found: Any) -> None:
        batch, terms = found
        assert len(batch) > 0
        assert terms.answers in ("labels", "probabilities", "numbers")

    def some_truths(_data: bytes, found: dict[int, str]) -> None:
        assert all(0 <= i < INPUTS and label in ("a", "b") for i, label in found.items())

    yield Reader("questions over HTTP", asked_in_json, [question], a_batch, ("web.putting:_QUESTION",))
    yield Reader("truths over HTTP", lambda data: _truths_in("json", data, stored), [truths], some_truths,
                 ("web.api:_TRUTHS",))  # fmt: skip


def _reviews() -> Iterator[Reader]:
    """What is said of check rows."""
    owned = (m.Owned(GIVEN, (1, 7)),)
    owners = m.encode(m.Owners(bytes(32), 5, bytes(32), owned, bytes(64)))
    labels = m.encode(m.Labels(bytes(32), bytes(32), 5, bytes(32), bytes(12), bytes(64)))

    def invited(data: bytes, found: Invitation) -> None:
        assert found.encoded() == data
        assert 1 <= found.row_bytes <= m.MOST_BYTES * 8

    yield Reader(
        "invitations", read_invitation, [INVITATION.encoded()], invited,
        ("wire.invitation:_DECODER", "wire.invitation:read_invitation"), (ValueError, TypeError), quick=4000,
    )  # fmt: skip

    def rows(_data: bytes, found: Any) -> None:
        assert found.shape == (3, 1)

    yield Reader(
        "check rows", lambda data: INVITATION.read_rows(data, 3), [bytes(range(12))], rows,
        ("wire.invitation:Invitation.read_rows",),
    )  # fmt: skip

    def mapped(data: bytes) -> OwnerMap:
        message = read_opened(data)
        if not isinstance(message, m.Owners):
            raise ValueError("it is no map")
        review = Review(INPUTS - 8, bytes(32), bytes(32))
        return read_map(message.seed, review, message.owned, INPUTS, 6)

    def each_row_has_one_owner(_data: bytes, found: OwnerMap) -> None:
        places = [*found.asked, *(place for where, _ in found.rows.values() for place in where)]
        assert sorted(places) == list(range(INPUTS))

    yield Reader(
        "maps of owners", mapped, [owners], each_row_has_one_owner, ("wire.review:read_map",),
        (ValueError, RecursionError), quick=4000,
    )  # fmt: skip
    yield Reader(
        "what was opened", read_opened, [owners, labels], _message, ("storage.opened:read_opened",),
        (ValueError, RecursionError),
    )  # fmt: skip
    generator = np.random.default_rng(7)
    numbers, levels = generator.normal(0, 9, (INPUTS, 1)), generator.dirichlet(np.ones(2), INPUTS)
    said: dict[Answers, Any] = {
        "labels": np.resize(np.array([0, 1, -1], np.int8), INPUTS),
        "probabilities": to_levels(levels).astype(np.int16),
        "numbers": numbers,
    }
    for answers, first in said.items():
        form = CheckedForm(answers, INPUTS - 8, INPUTS, 2)
        held = form.opening(first)
        for what, packed, reads, writes, shape in (
            ("first votes", form.pack_first(first), form.unpack_first, form.pack_first, first.shape),
            ("what is held", form.pack(held), form.unpack, form.pack, held.shape),
        ):
            yield Reader(
                f"{what} with check rows, {answers}", reads, [packed], _same(writes, shape),
                ("wire.review:CheckedForm.unpack_first", "wire.review:CheckedForm.unpack"), quick=2000,
            )  # fmt: skip


def _same(writes: Callable[[Any], bytes], shape: tuple[int, ...]) -> Callable[[bytes, Any], None]:
    """What is read is written the same, and has a shape."""

    def whole(data: bytes, found: Any) -> None:
        assert writes(found) == data
        assert found.shape == shape

    return whole


def damaged(reader: Reader, frames: int, mutate: Callable[[random.Random, bytes, list[bytes]], bytes]) -> int:
    """Show a reader so many damaged ones; how many of them it read."""
    rng, read, silent = random.Random(f"damaged {reader.name}"), 0, 0
    for _ in range(frames):
        data = mutate(rng, rng.choice(reader.pool), reader.pool)
        try:
            found = reader.read(data)
        except reader.refuses as error:
            silent += not str(error)
            continue
        read += 1
        reader.whole(data, found)
    assert silent == 0, "refused without a word"
    return read
