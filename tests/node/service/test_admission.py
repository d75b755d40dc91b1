"""Which motions a node takes part in, and what is done before that is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.node.membership.certificates import holds
from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.review import ballots_of
from folkmoot.node.service import admission as admissions
from folkmoot.node.service.admission import (
    MOST_OPEN,
    MOST_OPEN_EACH,
    NEWS,
    OVER_BUDGET,
    TOO_FAST,
    TOO_MANY,
    Admission,
    Admitted,
    Refused,
)
from folkmoot.node.service.interface import RefusedError
from folkmoot.node.service.models import Model
from folkmoot.node.service.policy import Limits, Policy
from folkmoot.node.session.header import Header, motion_of, read_header
from folkmoot.node.session.statement import asked
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.retention import OLD, stored_bytes
from folkmoot.node.wire import messages as m
from folkmoot.node.wire.schema import Column
from support.node.signed import keys_and_roster

CLOCK = 1e9
N = 6
KEYS, ROSTER = keys_and_roster(N)
PRINTS = [bytes.fromhex(member.fingerprint) for member in ROSTER]
ME = 1
TERMS = Terms(labels=("no", "yes"), seconds=30.0)


def identity_of(place: int, key: Ed25519PrivateKey) -> Identity:
    member = ROSTER[place]
    return Identity(
        member.name, "", member.addresses[0], member.addresses, key, member.certificate, member.fingerprint
    )


class Node:
    """An admission with clocks that a test moves."""

    def __init__(self, **given: Any) -> None:
        self.time, self.day = 0.0, CLOCK
        clocks: Any = SimpleNamespace(now=lambda: self.time, clock=lambda: self.day)
        self.admission = Admission(identity_of(ME, KEYS[ME]), ROSTER, clocks, **given)

    def told(self, header: Header, *, by: int | None = None, signer: int | None = None, **how: Any) -> Any:
        """What is made of an announcement that a member sends."""
        asker = header.asker % N
        announce = announced(header, asker if signer is None else signer, how.pop("remaining", 30.0))
        under_way = how.pop("under_way", [])
        return self.admission.admit(PRINTS[asker if by is None else by], announce, under_way, **how)


def header_of(asker: int = 2, **changes: Any) -> Header:
    made = Header(
        bytes.fromhex(ROSTER.digest), asker, bytes(16), CLOCK, TERMS, inputs=100, columns=2, chunk_rows=100,
        chunks=(bytes(32),),
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def announced(header: Header, signer: int, remaining: float = 30.0) -> m.Announce:
    data = header.encoded()
    return m.Announce(data, KEYS[signer].sign(asked(motion_of(data))), remaining)


def refused(verdict: object, kind: str) -> Refused:
    assert isinstance(verdict, Refused)
    assert verdict.kind == kind
    if verdict.tell is not None:
        assert verdict.tell.member == ME
        assert holds(ROSTER[ME].public_key, verdict.tell.signature, verdict.tell.words)
    return verdict


class Taken(NamedTuple):
    asker: bytes
    confirmed: bool


def taken(*askers: int, confirmed: bool = True) -> list[Taken]:
    return [Taken(PRINTS[asker], confirmed) for asker in askers]


# What is signed, and by whom


def test_a_motion_that_its_asker_has_signed() -> None:
    header = header_of()
    found = Node().told(header)
    assert found == Admitted(header, PRINTS[2], confirmed=True, remaining=30.0)
    refused(Node().told(header, signer=3), "announcement")


@pytest.mark.parametrize("asker", [-1, N, 2**40, -(2**40)])
def test_an_asker_that_does_not_exist(asker: int) -> None:
    refused(Node().told(header_of(asker=asker), by=2, signer=2), "announcement")


def test_a_motion_of_another_moot_or_of_last_week() -> None:
    refused(Node().told(header_of(moot=bytes(32))), "announcement")
    for away in (30.0 + OLD + 1.0, -(30.0 + OLD + 1.0)):
        refused(Node().told(header_of(created=CLOCK + away)), "announcement")
    assert isinstance(Node().told(header_of(created=CLOCK - 30.0 - OLD + 1.0)), Admitted)


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x90", b"\xdd\xff\xff\xff\xff", b"\x91" * 5000])
def test_a_header_that_is_none(data: bytes) -> None:
    refused(Node().admission.admit(PRINTS[2], m.Announce(data, bytes(64), 30.0), []), "announcement")


def test_a_header_is_not_parsed_before_its_signature_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """One check of a signature for each that is told, whatever is in it; nothing else that grows with it."""
    done: list[str] = []

    def note(what: str, real: Any) -> Any:
        def noted(*given: Any) -> Any:
            done.append(what)
            return real(*given)

        return noted

    monkeypatch.setattr(admissions, "read_header", note("parsed", read_header))
    monkeypatch.setattr(admissions, "holds", note("verified", holds))
    junk = header_of(schema=tuple(Column(f"c{number}") for number in range(5000)), columns=5000)
    node = Node()
    for _ in range(50):
        refused(node.told(junk, signer=4), "announcement")
    assert done == ["verified"] * 50
    done.clear()
    long = header_of(chunks=tuple(bytes(32) for _ in range(9000)), inputs=9000, chunk_rows=1)
    verdict = refused(node.told(long), "policy")
    assert done == ["verified"], "one that is too long is refused by name, and not parsed either"
    assert verdict.tell is not None
    assert "262,144 bytes at the most" in verdict.tell.reason


def test_a_peer_may_announce_so_much_and_others_do_not_pay_for_it() -> None:
    node = Node()
    hears = node.admission.hears
    assert sum(hears(PRINTS[3], 100) for _ in range(1000)) == int(NEWS[1] / (1 + 100 / 16384))
    assert hears(PRINTS[4], 100)
    large = sum(hears(PRINTS[5], 1 << 20) for _ in range(1000))
    assert large == int(NEWS[1] / 65)
    node.time = 1.0
    assert 38 <= sum(hears(PRINTS[3], 100) for _ in range(1000)) <= 40


# Policy, access, the model


def test_what_is_refused_for_good_is_signed_once_remembered_and_noted_a_hundred_times_a_day() -> None:
    node = Node(policy=Policy(most_inputs=50))
    verdict = refused(node.told(header_of()), "policy")
    assert verdict.tell is not None
    assert verdict.tell == node.admission.refused(verdict.tell.motion)
    assert verdict.asker == ROSTER[2]
    noted = [node.told(header_of(nonce=number.to_bytes(16, "big"))).noted for number in range(1, 121)]
    assert [verdict.noted, *noted] == [True] * 100 + [False] * 21
    assert node.told(header_of(asker=3)).noted


def test_who_may_ask_and_how_much_a_day() -> None:
    names = [member.name for member in ROSTER]
    node = Node(policy=Policy(askers=(names[2], names[3]), rows_a_day=250))
    refused(node.told(header_of(asker=4)), "access")
    for number in range(2):
        assert isinstance(node.told(header_of(nonce=bytes([number]) * 16)), Admitted)
    verdict = refused(node.told(header_of(nonce=bytes([2]) * 16)), "spent")
    assert verdict.tell is not None
    assert f"{names[2]} may put 250 rows a day at this node and has 50 left: got 100" in verdict.tell.reason
    assert isinstance(node.told(header_of(asker=3)), Admitted)
    assert node.admission.access_of(names[2]) == (True, Limits(rows_a_day=250), (2, 200))
    assert not node.admission.access_of(names[4])[0]


def test_columns_that_the_model_does_not_have_are_told_of_in_general_only() -> None:
    own = ["secret marker", "age"]
    node = Node(model=Model("m.onnx", list, labels=["no", "yes"], columns=2, names=own))
    strange = header_of(schema=(Column("age"), Column("colour")))
    verdict = refused(node.told(strange), "columns")
    assert verdict.tell is not None
    assert "secret marker" not in verdict.tell.reason
    assert "secret marker" in verdict.detail
    node.admission.model = Model("other.onnx", list, labels=["no", "yes"], columns=2)  # loaded anew
    assert isinstance(node.told(header_of(schema=(Column("age"), Column("weight")))), Admitted)


# Places


def test_room_for_everybody() -> None:
    header = header_of()
    many = taken(2) * MOST_OPEN_EACH
    assert isinstance(Node().told(header, under_way=many[1:]), Admitted)
    node = Node()
    verdict = refused(node.told(header, under_way=many), TOO_MANY)
    assert verdict.tell is not None
    assert node.admission.refused(verdict.tell.motion) is None
    full = taken(0, 1, 3, 4) * (MOST_OPEN // 4)
    assert isinstance(Node().told(header, under_way=full), Admitted)
    refused(Node().told(header, under_way=full + taken(2)), TOO_MANY)
    refused(Node().told(header_of(asker=3), under_way=full), TOO_MANY)
    refused(Node().told(header, has_room=False), "disk_full")


def test_what_is_passed_on_takes_no_place_of_its_asker() -> None:
    header, other = header_of(), header_of(asker=3)
    passed_on = taken(2, confirmed=False)
    assert isinstance(Node().told(header, under_way=passed_on * 50), Admitted)
    assert isinstance(Node().told(other, by=4, under_way=passed_on * (MOST_OPEN_EACH - 1)), Admitted)
    verdict = refused(Node().told(header, by=4, under_way=passed_on * MOST_OPEN_EACH), TOO_MANY)
    assert verdict.tell is None, "nobody but its asker is told, or others could ask for signatures"
    refused(Node().told(header, by=4, under_way=taken(2) * 2 * MOST_OPEN_EACH), TOO_MANY)
    refused(Node().told(other, by=4, under_way=taken(0, 1, 2, 4) * (MOST_OPEN // 4)), TOO_MANY)


def test_only_the_asker_can_shorten_a_motion() -> None:
    header = header_of()
    nan, inf = float("nan"), float("inf")
    assert [Node().told(header, remaining=each).remaining for each in (0.1, 12.0, 99.0, inf)] == [
        0.1, 12.0, 30.0, 30.0
    ]  # fmt: skip
    for late in (0.0, -1.0, nan):
        refused(Node().told(header, remaining=late), "late_announcement")
    for told in (0.1, -1.0, nan):
        found = Node().told(header, by=3, remaining=told)
        assert (found.confirmed, found.remaining) == (False, 30.0)


def test_a_motion_of_this_node_itself_that_it_does_not_know_is_not_played() -> None:
    refused(Node().told(header_of(asker=ME)), "own_motion")


# What motions cost


def large(asker: int = 2, number: int = 0, created: float = CLOCK) -> Header:
    return header_of(
        asker, inputs=6000, chunk_rows=1, chunks=tuple(bytes(32) for _ in range(6000)), created=created,
        nonce=number.to_bytes(16, "big"),
    )  # fmt: skip


def test_motions_cost_their_asker_and_nobody_else() -> None:
    disk = 10_000_000
    node, header = Node(disk=disk), large()
    each = stored_bytes(len(header.encoded()), 1, N, ballots_of(header, 0).size)
    most = int(0.8 * disk / N // each)
    assert 4 <= most < 120
    kinds = [getattr(node.told(large(number=number)), "kind", "") for number in range(most + 1)]
    assert kinds == [""] * most + [OVER_BUDGET]
    assert isinstance(node.told(large(asker=3)), Admitted)
    node.time, node.day = 1e4, CLOCK + 30.0 + OLD - 1.0
    refused(node.told(large(number=500, created=node.day)), OVER_BUDGET)
    node.day = CLOCK + 30.0 + OLD  # the first ones may be forgotten
    assert isinstance(node.told(large(number=501, created=node.day)), Admitted)


def test_motions_come_no_faster_than_they_may() -> None:
    node = Node()
    kinds = [
        getattr(node.told(header_of(nonce=number.to_bytes(16, "big"))), "kind", "") for number in range(121)
    ]
    assert kinds == [""] * 120 + [TOO_FAST]
    assert isinstance(node.told(header_of(asker=3)), Admitted)
    node.time = 3.0
    kinds = [
        getattr(node.told(header_of(nonce=number.to_bytes(16, "big"))), "kind", "")
        for number in range(200, 207)
    ]
    assert kinds == [""] * 6 + [TOO_FAST]


def test_what_is_stored_counts_after_a_restart_and_under_the_roster_that_follows() -> None:
    shifted = Roster(ROSTER.participants[1:], epoch=1, previous=ROSTER.digest)  # its first member has left
    rosters = {bytes.fromhex(each.digest): each for each in (ROSTER, shifted)}
    stored = [(CLOCK - 5.0, large(number=number).encoded(), N) for number in range(50)]
    unknown = [(CLOCK, large(number=50).encoded()[:-9], N), (CLOCK, header_of(moot=bytes(32)).encoded(), N)]
    node = Node(disk=10_000_000)
    node.admission.remember([*stored, *unknown], rosters)
    refused(node.told(header_of()), OVER_BUDGET)
    assert isinstance(node.told(header_of(asker=3)), Admitted)
    assert node.admission.access_of(ROSTER[2].name)[2] == (50, 300_000)
    node.admission.enter(shifted)
    refused(node.told(header_of()), "announcement")  # of the roster before
    moot = bytes.fromhex(shifted.digest)
    for place, kind in ((1, OVER_BUDGET), (2, "")):  # the same member has another place now
        announce = announced(header_of(asker=place, moot=moot), place + 1)
        verdict = node.admission.admit(PRINTS[place + 1], announce, [])
        assert getattr(verdict, "kind", "") == kind


# Motions of this node


def test_what_a_node_may_put_itself() -> None:
    own, node = header_of(ME), Node()
    node.admission.check_own(own)
    wrong = {
        "put by this node": header_of(2),
        "the roster has changed": header_of(ME, moot=bytes(32)),
        "too long to announce": header_of(
            ME, inputs=40_000, chunk_rows=1, chunks=tuple(bytes(32) for _ in range(40_000))
        ),
        "must have 1 to": header_of(ME, inputs=0),
        "others refuse it too": header_of(ME, terms=msgspec.structs.replace(TERMS, seconds=1.0)),
    }
    for why, header in wrong.items():
        with pytest.raises(ValueError, match=why):
            node.admission.check_own(header)


def test_own_motions_beyond_their_number_wait() -> None:
    node, own = Node(), header_of(ME)
    assert not node.admission.begin_own(own, taken(ME) * MOST_OPEN_EACH)
    assert node.admission.begin_own(own, taken(ME) * (MOST_OPEN_EACH - 1) + taken(0) * 3)
    assert sum(node.admission.begin_own(own, []) for _ in range(200)) == 119, "too fast: they wait, too"
    with pytest.raises(RefusedError, match="nearly full"):
        node.admission.begin_own(own, [], has_room=False)
    small = Node(disk=100_000)
    with pytest.raises(RefusedError, match="more disk"):
        small.admission.begin_own(large(ME), [])


def test_favours_run_out_by_number_and_by_size_and_come_back() -> None:
    node = Node()
    favour = node.admission.favour
    assert sum(favour(PRINTS[3], 100) for _ in range(1000)) == 200
    assert favour(PRINTS[4], 1 << 20)
    assert sum(favour(PRINTS[5], 1 << 20) for _ in range(100)) == int(32e6) >> 20
    node.time = 1.0
    assert sum(favour(PRINTS[3], 100) for _ in range(1000)) == 40
