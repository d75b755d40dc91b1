"""Rosters change in every storm that a seed can brew, with a hostile member of seven in two of three.

No two honest nodes ever go over to different rosters, claim different decisions, or accuse an honest member.
"""

from __future__ import annotations

import pytest

from support.network import epoch_storms
from support.network.epoch_storms import ANY, QUICK, assert_promises_hold, play, stormy
from support.network.message_faults import played
from support.network.moot_of_epochs import MootOfEpochs

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_the_promises_hold_while_rosters_change(part: int) -> None:
    def one(seed: int, kind: str) -> MootOfEpochs:
        return play(seed, None if kind == ANY else kind)

    moots = played(QUICK[part::PARTS], 1200 * part, one)
    epochs = [max(node.chronicle.tip.epoch for node in moot.nodes.values()) for moot in moots]
    assert sum(epochs) >= len(moots)  # the storms leave something to change
    sessions = [(moot, session) for moot in moots for session, _ in moot.over.values()]
    later = [s for moot, s in sessions if s.motion.moot.hex() != moot.root.digest]
    assert len(later) >= len(moots)  # and motions are put under later rosters
    decided = sum(int((session.verdict().decisions >= 0).sum()) for _, session in sessions)
    assert decided > sum(session.motion.inputs for _, session in sessions) / 4
    accused = [node.accused() for moot in moots for node in moot.nodes.values()]
    assert any(accused) or "two successors" not in QUICK[part::PARTS]  # who signs two is caught
    assert {name for names in accused for name in names} <= {who for moot in moots for who in moot.hostile}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_the_promises_hold_in_two_thousand_storms_of_rosters(part: int) -> None:
    for seed in range(10_000 + part, 12_000, 20):
        play(seed)


def test_a_seed_replays_byte_for_byte() -> None:
    one, other = stormy(2), stormy(2)
    for each in (one, other):
        each.network.run(12.0)
    assert one.network.frames > 100
    assert one.network.trace == other.network.trace


def test_a_storm_that_fails_says_how_to_play_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(moot: MootOfEpochs) -> None:
        raise AssertionError(moot.seed)

    monkeypatch.setattr(epoch_storms, "assert_promises_hold", broken)
    monkeypatch.setattr(epoch_storms, "END", 0.5)
    with pytest.raises(AssertionError) as failure:
        play(3, "forges")
    (note,) = failure.value.__notes__
    assert note == "storm of seed 3: PYTHONPATH=tests python -m support.network.epoch_storms 3 forges"


def test_a_member_that_signs_twice_unseen_would_be_noticed_by_the_promises() -> None:
    """What the assertions are worth: an honest member whose database holds two signatures breaks them."""
    moot = stormy(0)
    moot.network.run(4.0)
    anna = moot.storages["anna"].database
    row = (bytes.fromhex(moot.root.digest), 0, bytes(32), bytes(64))
    for name in (bytes(32), bytes([1] * 32)):
        anna.change("INSERT INTO consents VALUES (?, ?, ?, ?)", row[0], 0, name, row[3])
    with pytest.raises(AssertionError):
        assert_promises_hold(moot)
