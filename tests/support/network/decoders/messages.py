"""What nodes say to each other: messages, headers, evidence, votes, check rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from folkmoot.network.storage.opened import read_opened
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.forms import Answers, ChanceForm, Form, LabelForm, NumberForm
from folkmoot.network.wire.invitation import Invitation, read_invitation
from folkmoot.network.wire.messages import Close
from folkmoot.network.wire.motion import Motion, read_header
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.network.wire.packing import pack
from folkmoot.network.wire.review import CheckedForm, OwnerMap, Review, read_map
from folkmoot.network.wire.verdict import verdict
from folkmoot.node.wire import messages as wire
from folkmoot.node.wire.schema import Column
from folkmoot.votes import to_levels
from support.network.decoders.reader import INPUTS, Reader
from support.network.moot_in_memory import Moot, keys_and_roster
from support.network.number_moot import NumberMoot

INVITATION = Invitation(
    bytes(32), 5, bytes(16), 1e9, 3.0, ("a", "b"), INPUTS, 1, "<i4", (Column("age", "years", 0.0, 120.0),)
)
GIVEN = m.Contribution(5, 10, bytes(32), bytes(32), bytes(64))


def said() -> Iterator[Reader]:
    """Messages, headers and evidence."""
    hello = wire.encode(m.Hello(bytes(range(32)), 1.5e9))
    yield Reader("greetings", wire.read_hello, [hello], lambda *_: None,
                 ("wire.messages:_HELLO", "wire.messages:read_hello"))  # fmt: skip
    yield Reader("messages about motions", wire.read_message, of_motions(), lambda *_: None,
                 ("wire.messages:_OF_MOTIONS", "wire.messages:read_message"))  # fmt: skip
    yield Reader("messages", m.decode, messages(), whole_message, ("wire.messages:_DECODER",), quick=20_000)
    yield Reader("headers", read_header, headers(), whole_header,
                 ("wire.motion:_DECODER", "wire.motion:read_header"),
                 (ValueError, TypeError), quick=6000)  # fmt: skip
    yield Reader("evidence", statements.read_evidence, evidence(), whole_evidence,
                 ("wire.statements:_DECODER", "wire.statements:read_evidence"), quick=6000)  # fmt: skip


def of_motions() -> list[bytes]:
    """A valid frame of every kind about motions."""
    name = bytes(range(32))
    return [wire.encode(each) for each in (
        wire.Announce(bytes(200), bytes(64), 3.0), wire.Refuse(name, 5, "why ü", bytes(64)),
        wire.Fetch(name, 3), wire.Chunk(name, 3, bytes(100)), wire.Knows(("a", "ü")), wire.Knows(None),
    )]  # fmt: skip


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
    )]  # fmt: skip


def evidence() -> list[bytes]:
    """Evidence of every kind; nothing of it was ever signed."""
    heard = m.Heard(3, 9, bytes(32), bytes(64))
    commit = m.Commit(bytes(32), 5, bytes(32), bytes(64), want=True)
    close = m.Close(bytes(32), 5, b"1", bytes(32), b"2", "", bytes(64))
    consent = statements.Consent(bytes(32), 5, bytes(32), bytes(64))
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
    )]  # fmt: skip


def headers() -> list[bytes]:
    """Headers of motions about labels, numbers and probabilities."""
    hall = Moot(np.zeros((6, INPUTS), np.int8), 0)
    changes: list[dict[str, Any]] = [{}, {"protocol": "snowball"}, {"alpha": 0}, {"weighted": True}]
    changes += [{"trust": True, "review": Review(20, bytes(32), bytes(32))}]
    numbers = NumberMoot(np.zeros((6, INPUTS)), 0)
    chances = NumberMoot(np.zeros((6, INPUTS, 3), np.int16), 0)
    others = [moot.motion()[0].encoded() for moot in (numbers, chances)]
    return [*others, *(hall.motion(**each)[0].encoded() for each in changes)]


def whole_message(data: bytes, message: Any) -> None:
    assert m.decode(m.encode(message)) == message or m.encode(message) == data, "NaN is not itself"


def whole_header(data: bytes, found: Motion) -> None:
    assert found.encoded() == data
    assert found.rule(found.alpha or found.k // 2 + 1) if found.is_labels else found.aggregation()
    assert found.form.held_bytes < m.MOST_BYTES / 2


def whole_evidence(_data: bytes, found: statements.Evidence) -> None:
    assert statements.accused(found) >= 0
    assert len(statements.motion_of(found)) >= 0
    key = keys_and_roster(6)[1][5].public_key
    assert not statements.proves(found, key, bytes(32)), "nothing was ever signed"


def forms() -> Iterator[Reader]:
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


def reviews() -> Iterator[Reader]:
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
        "what was opened", read_opened, [owners, labels], whole_message, ("storage.opened:read_opened",),
        (ValueError, RecursionError),
    )  # fmt: skip
    generator = np.random.default_rng(7)
    numbers, levels = generator.normal(0, 9, (INPUTS, 1)), generator.dirichlet(np.ones(2), INPUTS)
    told: dict[Answers, Any] = {
        "labels": np.resize(np.array([0, 1, -1], np.int8), INPUTS),
        "probabilities": to_levels(levels).astype(np.int16),
        "numbers": numbers,
    }
    for answers, first in told.items():
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
