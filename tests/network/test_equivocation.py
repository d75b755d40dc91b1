"""Two commitments in one motion with trust: nobody listens to who makes them, and all hold the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.network.service.holdout import Holdout
from folkmoot.network.storage.account import account
from folkmoot.network.wire.statements import Evidence, kind, proves, write_evidence
from folkmoot.node.transports.memory import Weather
from support.command import assert_refused, run, run_json
from support.network.hostile_members import ClaimsMarks, Equivocating
from support.network.moot_in_memory import Moot
from support.network.one_session import Table, colours

N, INPUTS, HOSTILE, VICTIM = 7, 200, 6, 5
HONEST = range(6)
GOOD = Holdout([("a", "a")] * 12 + [("b", "b")] * 12 + [("a", "b")] * 3 + [("b", "a")] * 3)


def moot_with(kinds: Any, seed: int = 1, weather: Weather | None = None) -> Moot:
    """Six honest participants of accuracy 0.8, and one whose model guesses."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, INPUTS).astype(np.int8)
    votes = np.where(rng.random((N, INPUTS)) < 0.8, truth, 1 - truth).astype(np.int8)
    votes[HOSTILE] = rng.integers(0, 2, INPUTS)
    weather = weather or Weather(delay=0.01)
    moot = Moot(votes, seed, holdouts=dict.fromkeys(range(N), GOOD), hostile=kinds, weather=weather)
    moot.put(0, k=4, alpha=3, rounds=10, trust=True)
    moot.network.run(until=40.0)
    return moot


def told_by(moot: Moot, place: int) -> Any:
    storage = moot.storages[place]
    (stored,) = storage.motions()
    return account(storage, stored)


def proofs(moot: Moot, place: int) -> list[tuple[int, str]]:
    """Whom a node holds evidence against, and of what; all of it holds."""
    storage, found = moot.storages[place], []
    (stored,) = storage.motions()
    for accused, proof in storage.evidence(stored.name):
        member = moot.roster[accused]
        assert proves(proof, member.public_key, bytes.fromhex(member.fingerprint))
        found.append((accused, kind(proof)))
    return found


@pytest.mark.parametrize("seed", range(1, 6))
def test_votes_copied_after_the_reveals_earn_no_trust(seed: int) -> None:
    attack = Equivocating(VICTIM)
    moot = moot_with({HOSTILE: attack}, seed)
    assert attack.copied, "it has read the others' votes and committed to the victim"
    told = told_by(moot, VICTIM)
    assert told.anchored
    assert told.trust["p006"] == 0.0
    assert min(told.trust[f"p00{place}"] for place in HONEST if place != VICTIM) > 0
    for place in HONEST:
        assert proofs(moot, place) == [(HOSTILE, "two commitments")]
        assert told_by(moot, place).trust["p006"] == 0.0


def test_two_commitments_are_found_without_the_accused_having_gained_anything() -> None:
    moot = moot_with({HOSTILE: Equivocating(VICTIM, blindly=True)})
    for place in HONEST:
        assert proofs(moot, place) == [(HOSTILE, "two commitments")]


@pytest.mark.parametrize("seed", range(1, 6))
def test_in_bad_weather_nodes_that_compared_listen_to_the_same_votes(seed: int) -> None:
    """Frames are lost, so some may find out late; nobody honest is accused."""
    moot = moot_with({HOSTILE: Equivocating(VICTIM)}, seed, Weather(delay=0.05, drop=0.1))
    told = [told_by(moot, place) for place in HONEST]
    assert told[VICTIM].trust["p006"] == 0.0
    for place in HONEST:
        assert {accused for accused, _ in proofs(moot, place)} <= {HOSTILE}


def test_marks_that_cannot_be_shown_accuse_nobody_and_silence_nobody() -> None:
    quiet = moot_with({})
    moot = moot_with({HOSTILE: ClaimsMarks()})
    for place in HONEST:
        assert proofs(moot, place) == []
        told, undisturbed = told_by(moot, place), told_by(quiet, place)
        assert told.trust == undisturbed.trust
        assert told.undecided <= undisturbed.undecided + 0.05 * INPUTS


def two_commitments() -> tuple[Moot, Evidence]:
    moot = moot_with({HOSTILE: Equivocating(VICTIM)})
    (stored,) = moot.storages[0].motions()
    ((_, proof),) = moot.storages[0].evidence(stored.name)
    return moot, proof


def broken_reveal() -> tuple[Moot, Evidence]:
    table = Table(7, trust=True)
    table.vote(colours(0, 1, 0, 1))
    table.gather(colours(1, 1, 0, 0))
    table.saves()
    table.session.receive(0.0, HOSTILE, table.reveal(HOSTILE, colours(1, 1, 1, 1)))
    (proof,) = table.saves()
    assert isinstance(proof, Evidence)
    return Moot(np.zeros((7, 4), np.int8), 0), proof


@pytest.mark.parametrize("made", [two_commitments, broken_reveal])
def test_the_command_shows_and_verifies_what_a_node_found(tmp_path: Path, made: Any) -> None:
    moot, proof = made()
    moot.roster.write(tmp_path / "roster.toml")
    packed = msgspec.msgpack.encode((moot.roster[HOSTILE].fingerprint, write_evidence(proof)))
    (tmp_path / "a.evidence").write_bytes(packed)
    told = run_json("evidence", tmp_path / "a.evidence", "--roster", tmp_path / "roster.toml")
    assert [(x["against"], x["what"], x["holds"]) for x in told["evidence"]] == [("p006", kind(proof), True)]
    framed = msgspec.msgpack.encode((moot.roster[0].fingerprint, write_evidence(proof)))
    (tmp_path / "b.evidence").write_bytes(framed)
    result = run("evidence", tmp_path / "b.evidence", "--roster", tmp_path / "roster.toml")
    assert result.returncode == 2
    assert "DOES NOT HOLD" in result.stdout
    (tmp_path / "c.evidence").write_bytes(packed[:-7])
    assert_refused(
        "is not a file of evidence", "evidence", tmp_path / "c.evidence", "--roster", tmp_path / "roster.toml"
    )
