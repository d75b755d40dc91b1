"""The verifier of docs/verify.md, which shares no code with ours: both say the same of each certificate."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.exceptions import InvalidSignature

from folkmoot.node.certificate import verify
from folkmoot.node.membership.roster import Roster
from folkmoot.node.review import ballots_of
from folkmoot.node.session.terms import Terms
from folkmoot.node.wire.schema import Column
from support.node.signed import SignedWorld, Twice, certificate, play

PROGRAM = Path(__file__).parents[2] / "docs" / "verify_certificate.py"
LABELS = ("no", "yes", "per\u00fa")
VOTES: list[list[Any]] = [[0, 1, 2, 0, None], [0, 1, 1, None, None], [0, 2, 1, 1, None], [1, 1, 0, 1, 2]]
FIFTH = [2, 2, 2, 2, 2]
TERMS = Terms(labels=LABELS, seconds=4.0)


def with_terms(**changes: Any) -> Terms:
    return msgspec.structs.replace(TERMS, **changes)


CASES: dict[str, Callable[[], SignedWorld]] = {
    "one poll": lambda: play(TERMS, VOTES),
    "two polls": lambda: play(with_terms(believe="own"), VOTES),
    "two polls, a coin": lambda: play(with_terms(believe="own", coin=True, least=1), VOTES),
    "struck": lambda: play(TERMS, [*VOTES, FIFTH], kinds={4: Twice}, seed=2),
    "named columns": lambda: play(TERMS, VOTES, schema=(Column("größe"), Column("age", "years", -1, 120.5))),
    "absent": lambda: play(with_terms(believe="own"), [*VOTES, FIFTH], late=[4]),
    "coin": lambda: play(with_terms(coin=True), VOTES),
    "least": lambda: play(with_terms(least=3), VOTES),
    "one member": lambda: play(TERMS, VOTES[:1]),
    "seven": lambda: play(with_terms(coin=True), [*VOTES, FIFTH, VOTES[0], VOTES[2]]),
}


@pytest.fixture(scope="module")
def theirs() -> Callable[[Path, Path], list[str | None]]:
    code = PROGRAM.read_text()
    found: dict[str, Any] = {}
    exec(code, found)  # noqa: S102 (it is ours)
    return found["verify"]  # type: ignore[no-any-return]


def ours(data: bytes, roster: Roster) -> list[str | None]:
    outcome = verify(data, roster)
    terms = outcome.header.terms
    numbers = ballots_of(outcome.header, 1).unpack(outcome.answer).tolist()
    return [None if number < 0 else terms.labels[number] for number in numbers]


@pytest.mark.parametrize("case", CASES)
def test_both_say_the_same(case: str, theirs: Callable[..., list[str | None]], tmp_path: Path) -> None:
    world = CASES[case]()
    data = certificate(world)
    file, roster = tmp_path / "motion.json", tmp_path / "roster.toml"
    world.roster.write(roster)
    file.write_bytes(data)
    assert theirs(file, roster) == ours(data, world.roster)
    rng = random.Random(case)
    for place in rng.sample(range(len(data)), 40):
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        file.write_bytes(changed)
        with pytest.raises((ValueError, InvalidSignature, LookupError, TypeError, struct.error)):
            theirs(file, roster)


def test_rosters_with_a_past_or_with_fewer_liars_are_read_alike(
    theirs: Callable[..., list[str | None]], tmp_path: Path
) -> None:
    world = CASES["one poll"]()
    data = certificate(world)
    file, path = tmp_path / "motion.json", tmp_path / "roster.toml"
    file.write_bytes(data)
    digests = set()
    read_roster = theirs.__globals__["read_roster"]
    for more in ({}, {"epoch": 2, "previous": "ab" * 32}, {"tolerated": 0}, {"tolerated": 1}):
        roster = Roster(world.roster, **more)
        roster.write(path)
        assert Roster.read(path) == roster
        digest, faults, keys = read_roster(path)
        assert (digest.hex(), faults, len(keys)) == (roster.digest, roster.faults, 4)
        digests.add(digest)
        if more:
            with pytest.raises((ValueError, InvalidSignature)):
                theirs(file, path)
    assert len(digests) == 4


def test_it_fits_on_a_page() -> None:
    code = PROGRAM.read_text()
    assert len(code.splitlines()) <= 150
    imported = set(re.findall(r"^(?:import|from) ([\w, ]+?)(?: import .*)?$", code, flags=re.M))
    assert imported == {
        *("base64", "hashlib", "json", "struct", "sys", "tomllib"),
        "collections",
        "cryptography",
        "pathlib",
    }
