"""A file says what it is, and one function says what it shows: certificate, evidence, audit log, roster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache

import pytest

from folkmoot.node.evidence import Proven
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.interface import RosterChange
from folkmoot.node.session.terms import Terms
from folkmoot.node.verifying import Log, Motion, Succeeds, kind_of, verify
from support.node.filed import archive_of, file
from support.node.members import Followers
from support.node.signed import Twice, keys_and_roster, play

ROSTER = keys_and_roster(4)[1]
OTHER = keys_and_roster(5)[1]


@cache
def files() -> dict[str, bytes]:
    """One of each kind, and a later audit log."""
    archive = archive_of(4)
    world = play(Terms(labels=("a", "b"), seconds=4.0), [[0, 1], [0, 1], [0, 0], [1, 1]], kinds={2: Twice})
    early = asyncio.run(archive.audit())
    name = file(archive.storage, world)
    _, proposed = archive.propose(RosterChange(remove=[ROSTER[3].name]))
    found = {
        "certificate": asyncio.run(archive.certificate(name)),
        "evidence": archive.evidence("last", ROSTER[2].name),
        "audit": asyncio.run(archive.audit()),
        "early": early,
        "roster": proposed,
    }
    archive.storage.close()
    return found


def test_each_file_says_what_it_is_and_shows_it() -> None:
    told = {kind: verify(files()[kind], ROSTER) for kind in ("certificate", "evidence", "audit", "roster")}
    assert [each.kind for each in told.values()] == list(told)
    motion, accused, log, succeeds = told.values()
    assert isinstance(motion, Motion)
    assert motion.account.decisions == [
        "a",
        "b",
    ]  # by hand, without the votes of who is struck: 2 of 3, 3 of 3
    assert isinstance(accused, Proven)
    assert accused.participant.name == ROSTER[2].name
    assert isinstance(log, Log)
    assert (log.node, log.first, log.forgotten, log.goes_on) == (ROSTER[0].name, 1, 0, False)
    assert log.entries == files()["audit"].count(b"\n") - 2
    assert isinstance(succeeds, Succeeds)
    assert (succeeds.proposal.standing.counted, succeeds.in_force) == (1, False)
    assert all("\n" not in str(each) for each in told.values())
    assert verify(files()["audit"], ROSTER, earlier=files()["early"]).goes_on  # type: ignore[union-attr]


def test_a_roster_in_force_shows_the_quorum_that_agreed_on_it() -> None:
    moot = Followers(4)
    status, _ = moot.nodes[0].archive.propose(RosterChange(remove=[moot.roster[3].name]))
    moot.run(5.0)
    for node in moot.nodes[1:3]:
        node.archive.sign(status.proposal[:6])
    moot.run(60.0, moot.at(1))
    data = moot.nodes[1].archive.roster_file()
    found = verify(data, moot.roster)
    assert isinstance(found, Succeeds)
    assert found.in_force
    assert found.proposal.successor.roster == moot.nodes[1].history.tip
    again, the_same = moot.nodes[1].archive.sign(data)  # by who comes late: nothing is left to sign
    assert (again.in_force, the_same) == (True, data)
    lines = data.split(b"\n")
    agreed = next(i for i, line in enumerate(lines) if line.startswith(b"agreed"))
    another = lines[agreed].replace(b"round = 0", b"round = 1")
    assert another != lines[agreed]
    with pytest.raises(ValueError, match=r"the precommit of .* does not hold"):
        verify(b"\n".join([*lines[:agreed], another, *lines[agreed + 1 :]]), moot.roster)
    assert not verify(b"\n".join([*lines[:agreed], *lines[agreed + 1 :]]), moot.roster).in_force  # type: ignore[union-attr]


def _later(data: bytes) -> bytes:
    return data[:-2] + b" }\n" if data.endswith(b"}\n") else data + b"\n# more\n"


@pytest.mark.parametrize("kind", ["certificate", "evidence", "audit"])
@pytest.mark.parametrize(
    "change", [_later, lambda data: data[:-30], lambda data: data.replace(b":", b": ", 3)]
)
def test_what_was_changed_does_not_hold(kind: str, change: Callable[[bytes], bytes]) -> None:
    altered = change(files()[kind])
    assert altered != files()[kind]
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (each says another thing)
        verify(altered, ROSTER)
    assert "\n" not in str(caught.value)


def test_no_byte_of_evidence_can_be_changed() -> None:
    data = files()["evidence"]
    for place in range(len(data)):
        altered = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(ValueError):  # noqa: PT011 (each says another thing)
            verify(altered, ROSTER)


@pytest.mark.parametrize("kind", ["certificate", "audit", "roster"])
def test_another_roster_is_not_taken(kind: str) -> None:
    strangers = Roster([each for each in OTHER if each.name not in {m.name for m in ROSTER}])
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (each says another thing)
        verify(files()[kind], strangers)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"{}", b"\x00" * 500, b"participants = []", ROSTER.toml().encode()])
def test_a_file_that_is_none_of_these_is_told_so(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"letter must be a certificate, .* it is none of these"):
        kind_of(data, "letter")


def test_only_an_audit_log_goes_on_from_another() -> None:
    with pytest.raises(ValueError, match="only an audit log goes on"):
        verify(files()["evidence"], ROSTER, earlier=files()["early"])
    with pytest.raises(ValueError, match=r"was cut short|it has no entry"):
        verify(files()["early"], ROSTER, earlier=files()["audit"])
