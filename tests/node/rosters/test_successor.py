"""What may follow a roster, who must sign it, and what a file or a frame of it may hold."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.rosters.history import Proposal
from folkmoot.node.rosters.roster_file import read_roster_text, roster_text
from folkmoot.node.rosters.successor import MOST_NEW, Successor, consents
from support.node.signed import keys_and_roster, member

KEYS, EVERYBODY = keys_and_roster(7)
OLD = Roster(list(EVERYBODY)[:5])
NEW = EVERYBODY[5]
NAMES = [each.name for each in OLD]


def renewed(place: int) -> list[Member]:
    """All members, one of them with another key."""
    return [member(each.name, KEYS[6]) if i == place else each for i, each in enumerate(OLD)]


def test_a_change_is_told_by_names() -> None:
    members = [*renewed(0)[:3], replace(OLD[3], organisation="Elsewhere"), NEW]
    found = Successor.after(OLD, members).changes(OLD)
    assert (found.joined, found.left) == ((NEW.name,), (NAMES[4],))
    assert (found.rotated, found.replaced, found.edited) == ((NAMES[0],), (), (NAMES[3],))


def test_a_quorum_must_sign_and_an_old_key_that_rotates_but_no_stolen_one() -> None:
    """Five members of whom one may lie: four, by hand."""
    joins = Successor.after(OLD, [*OLD, NEW])
    assert [joins.tally(OLD, range(many)).complete for many in range(6)] == [False] * 4 + [True] * 2
    rotates = Successor.after(OLD, renewed(0))
    assert not rotates.tally(OLD, [1, 2, 3, 4]).complete
    assert rotates.tally(OLD, [1, 2, 3, 4]).owed == (NAMES[0],)
    assert rotates.tally(OLD, [0, 1, 2, 3]).complete
    stolen = Successor.after(OLD, renewed(0), [NAMES[0]])
    assert not stolen.tally(OLD, [0, 1, 2, 3]).complete, "what the stolen key signs does not count"
    assert stolen.tally(OLD, [1, 2, 3, 4]).complete


def test_fewer_may_lie_if_the_roster_says_so_and_its_successors_say_it_too() -> None:
    old = Roster(list(OLD), tolerated=0)
    made = Successor.after(old, [*old, NEW])
    assert made.tally(old, [0, 1, 2]).complete
    assert made.roster.tolerated == 0
    assert Successor.read(made.content, old).roster == made.roster


def test_what_is_read_is_what_was_written_and_nothing_else() -> None:
    made = Successor.after(OLD, [*OLD, NEW])
    assert Successor.read(made.content, OLD).name == made.name
    fields = msgspec.msgpack.decode(made.content)
    for i, value in ((0, bytes(32)), (1, 2), (2, ["nobody"]), (3, fields[3][::-1]), (3, fields[3][:5])):
        altered = list(fields)
        altered[i] = value
        with pytest.raises(ValueError, match="must"):
            Successor.read(msgspec.msgpack.encode(altered), OLD)
    for data in (b"", made.content[:-1], made.content + b"\0", b"\x91" * 3000):
        with pytest.raises(ValueError, match=r"\w"):
            Successor.read(data, OLD)


def test_how_many_join_at_once_is_bounded_before_any_certificate_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Successor.after(OLD, [*OLD, NEW])
    fields = msgspec.msgpack.decode(made.content)
    fields[3] += [f"nobody {i}" for i in range(MOST_NEW)]
    read: list[str] = []
    monkeypatch.setattr(Member, "parse", classmethod(lambda _, line: read.append(line)))
    with pytest.raises(ValueError, match=f"at most {MOST_NEW} lines"):
        Successor.read(msgspec.msgpack.encode(fields), OLD)
    assert read == []


def test_a_file_holds_what_was_signed_and_no_other_signature() -> None:
    made = Successor.after(OLD, [*renewed(1), NEW], [NAMES[1]])
    previous = bytes.fromhex(OLD.digest)
    signed = {i: KEYS[i].sign(consents(previous, i, made.name)) for i in (0, 3)}
    data = roster_text(Proposal(OLD, made, signed))
    assert read_roster_text(data, OLD) == Proposal(OLD, made, signed)
    assert Roster.parse(data, "it") == made.roster
    text = data.decode()
    for before, after, what in (
        (f'name = "{NAMES[0]}", signature', f'name = "{NAMES[2]}", signature', "does not hold"),
        (f'name = "{NAMES[0]}", signature', 'name = "nobody", signature', "'nobody' is none"),
        (f'name = "{NAMES[0]}", signature', f'name = "{NAMES[3]}", signature', "twice"),
        (f'replaced = ["{NAMES[1]}"]', f'replaced = ["{NAMES[2]}"]', "replaced must name"),
        ("127.0.0.1:7003", "127.0.0.1:7004", "does not hold"),
        ("epoch = 1", "epoch = 2", "must follow the roster of epoch 0"),
        (
            "signatures = [",
            "agreed = { round = 0, precommits = [] }\nsignatures = [",
            "a successor must have the precommits of 4 different members",
        ),
        ("signatures = [", "agreed = 3\nsignatures = [", "agreed must be a table"),
    ):
        assert before in text
        with pytest.raises(ValueError, match=what):
            read_roster_text(text.replace(before, after, 1).encode(), OLD)


def test_a_consent_is_to_one_roster_of_one_member() -> None:
    """Signed words differ in the roster before, the place and the successor: none serves for another."""
    said = {
        consents(bytes([a]) * 32, place, bytes([b]) * 32) for a in (1, 2) for place in (0, 1) for b in (3, 4)
    }
    assert len(said) == 8
