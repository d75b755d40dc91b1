"""Which motions a node takes part in."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.network.service.admission import (
    MOST_OPEN,
    MOST_OPEN_EACH,
    OVER_BUDGET,
    TOO_FAST,
    TOO_MANY,
    Admission,
    Taken,
)
from folkmoot.network.service.parts import Lasting
from folkmoot.network.session.minutes import Seat
from folkmoot.network.storage.retention import stored_bytes
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import OLD, Motion, motion_name
from folkmoot.node.membership.roster import Roster
from support.network.moot_in_memory import Moot

CLOCK = 1e9


@pytest.fixture(scope="module")
def hall() -> Moot:
    return Moot(np.zeros((6, 4), dtype=np.int8), 0)


@pytest.fixture
def admission(hall: Moot) -> Admission:
    node = hall.nodes[1]
    assert node is not None
    seat: Seat = node.seat
    return Admission(seat, bytes.fromhex(hall.roster.digest))


def announced(hall: Moot, signer: int, **changes: Any) -> m.Announce:
    """A motion of participant 2, unless it is changed, as ``signer`` signs it."""
    motion, _ = hall.motion(2)
    header = msgspec.structs.replace(motion, **changes).encoded()
    said = statements.announcement(motion_name(header), 2)
    return m.Announce(header, hall.keys[signer].sign(said), 30.0)


def test_a_motion_that_its_asker_has_signed(hall: Moot, admission: Admission) -> None:
    assert admission.motion_in(announced(hall, 2), CLOCK) == hall.motion(2)[0]
    assert admission.motion_in(announced(hall, 3), CLOCK) is None


@pytest.mark.parametrize("asker", [-1, 6, 2**40, -(2**40)])
def test_an_asker_that_does_not_exist(hall: Moot, admission: Admission, asker: int) -> None:
    announce = announced(hall, 2, asker=asker)
    assert admission.motion_in(announce, CLOCK) is None
    node = hall.nodes[1]
    assert node is not None
    before = node.counts["refused_announcement"]
    node.received(2, m.encode(announce))
    assert node.counts["refused_announcement"] == before + 1


def test_a_motion_of_another_moot_or_of_last_week(hall: Moot, admission: Admission) -> None:
    assert admission.motion_in(announced(hall, 2, moot=bytes(32)), CLOCK) is None
    for away in (30.0 + OLD + 1.0, -(30.0 + OLD + 1.0)):
        assert admission.motion_in(announced(hall, 2), CLOCK + away) is None
    assert admission.motion_in(announced(hall, 2), CLOCK + 30.0 + OLD - 1.0) is not None


def test_a_header_that_is_none(admission: Admission) -> None:
    for header in (b"", b"\xc1", b"\x90", b"\xdd\xff\xff\xff\xff"):
        assert admission.motion_in(m.Announce(header, bytes(64), 30.0), CLOCK) is None


def test_who_passes_a_motion_on_must_do_so_in_time_for_votes(hall: Moot, admission: Admission) -> None:
    motion, _ = hall.motion(2)
    assert admission.refusal(motion, 2, 0.1, []) is None
    assert admission.refusal(motion, 2, 0.0, []) == "late_announcement"
    assert admission.refusal(motion, 3, 0.65 * 30.0 - 0.01, []) == "late_announcement"
    assert admission.refusal(motion, 3, 0.65 * 30.0 + 0.01, []) is None
    assert admission.refusal(motion, 2, float("nan"), []) == "late_announcement"


def taken(*askers: int, confirmed: bool = True) -> list[Taken]:
    return [Taken(asker, confirmed) for asker in askers]


def test_room_for_everybody(hall: Moot, admission: Admission) -> None:
    motion, _ = hall.motion(2)
    assert admission.refusal(motion, 2, 30.0, taken(2) * (MOST_OPEN_EACH - 1)) is None
    assert admission.refusal(motion, 2, 30.0, taken(2) * MOST_OPEN_EACH) == TOO_MANY
    full = taken(0, 1, 3, 4) * (MOST_OPEN // 4)
    assert admission.refusal(motion, 2, 30.0, full) is None
    assert admission.refusal(motion, 2, 30.0, full + taken(2)) == TOO_MANY
    assert admission.refusal(hall.motion(3)[0], 3, 30.0, full) == TOO_MANY


def test_what_is_passed_on_takes_no_place_of_its_asker(hall: Moot, admission: Admission) -> None:
    motion, _ = hall.motion(2)
    passed_on = taken(2, confirmed=False)
    assert admission.refusal(motion, 2, 30.0, passed_on * 50) is None
    assert admission.refusal(motion, 3, 30.0, passed_on * (MOST_OPEN_EACH - 1)) is None
    assert admission.refusal(motion, 3, 30.0, passed_on * MOST_OPEN_EACH) == TOO_MANY
    assert admission.refusal(motion, 3, 30.0, taken(2) * MOST_OPEN_EACH) is None
    assert admission.refusal(motion, 3, 30.0, taken(2) * 2 * MOST_OPEN_EACH) == TOO_MANY
    assert admission.refusal(motion, 3, 30.0, taken(0, 1, 3, 4) * (MOST_OPEN // 4)) == TOO_MANY


def test_what_a_node_may_put_itself(hall: Moot, admission: Admission) -> None:
    own: Motion = hall.motion(1)[0]
    admission.check_own(own, taken(0) * 50, 0.0, CLOCK)
    with pytest.raises(ValueError, match="put by this node"):
        admission.check_own(hall.motion(2)[0], [], 0.0, CLOCK)
    with pytest.raises(ValueError, match="4 motions under way"):
        admission.check_own(own, taken(1) * MOST_OPEN_EACH, 0.0, CLOCK)
    with pytest.raises(ValueError, match="must differ"):
        admission.check_own(msgspec.structs.replace(own, labels=("a", "a")), [], 0.0, CLOCK)


def test_motions_cost_their_asker_and_nobody_else(hall: Moot) -> None:
    node = hall.nodes[1]
    assert node is not None
    disk = 10_000_000
    admission = Admission(node.seat, bytes.fromhex(hall.roster.digest), disk=disk)
    motion, _ = hall.motion(2)
    each = stored_bytes(motion, 200_000, 6)
    most = int(0.8 * disk / 6 // each)
    assert 4 <= most < 120
    paid = [admission.afford(motion, 200_000, 0.0, CLOCK) for _ in range(most + 1)]
    assert paid == [None] * most + [OVER_BUDGET]
    assert admission.afford(hall.motion(3)[0], 200_000, 0.0, CLOCK) is None
    assert admission.afford(motion, 200_000, 1e4, CLOCK + 30.0 + OLD - 1.0) == OVER_BUDGET
    later = CLOCK + 30.0 + OLD  # the first ones may be forgotten
    assert admission.afford(msgspec.structs.replace(motion, created=later), 200_000, 2e4, later) is None


def test_motions_come_no_faster_than_they_may(hall: Moot, admission: Admission) -> None:
    motion, _ = hall.motion(2)
    assert [admission.afford(motion, 300, 0.0, CLOCK) for _ in range(121)] == [None] * 120 + [TOO_FAST]
    assert admission.afford(hall.motion(3)[0], 300, 0.0, CLOCK) is None
    paid = [admission.afford(motion, 300, 3.0, CLOCK) for _ in range(7)]  # after three seconds
    assert paid == [None] * 6 + [TOO_FAST]


def test_what_is_stored_counts_after_a_restart(hall: Moot) -> None:
    node = hall.nodes[1]
    assert node is not None
    admission = Admission(node.seat, bytes.fromhex(hall.roster.digest), disk=10_000_000)
    motion, _ = hall.motion(2, chunk_rows=1, chunks=(bytes(32),) * 4)
    large = msgspec.structs.replace(motion, inputs=6000, chunks=(bytes(32),) * 6000)
    other = msgspec.structs.replace(large, moot=bytes(32))
    lasting = Lasting()
    admission.remember([other.encoded()] * 50 + [b"damaged"], lasting.place_in(hall.roster))
    assert admission.afford(motion, 300, 0.0, CLOCK) is None
    admission.remember([large.encoded()] * 50, lasting.place_in(hall.roster))
    assert admission.afford(motion, 300, 0.0, CLOCK) == OVER_BUDGET
    # Under another roster it counts for the same member, whose place may be another; who has left has none.
    shifted = Roster(hall.roster.participants[1:])
    lasting.rosters[bytes.fromhex(hall.roster.digest)] = hall.roster
    place_of = lasting.place_in(shifted)
    assert place_of(large) == 1
    assert place_of(msgspec.structs.replace(large, asker=0)) is None
    assert place_of(msgspec.structs.replace(large, asker=99)) is None
    assert place_of(other) is None


def test_favours_run_out_and_come_back(admission: Admission) -> None:
    granted = sum(admission.favour(3, 0.0) for _ in range(1000))
    assert granted == 200
    assert admission.favour(4, 0.0)
    assert sum(admission.favour(3, 1.0) for _ in range(1000)) == 40
