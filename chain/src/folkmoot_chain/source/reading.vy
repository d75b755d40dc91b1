# pragma version 0.4.3
# pragma evm-version cancun
"""
@title Views: what is stored, unpacked
@license Apache-2.0
"""

import bits
import book
import layout

uses: book


@external
@view
def motions(motion: uint256) -> layout.Terms:
    """
    @notice A motion as it stands; zeros where there is none.
    """
    of: layout.Motion = book.motion[motion]
    return layout.Terms(
        supplier=convert(book.origin_of[of.shape >> layout.REGISTER_AT] >> 96, address),
        deadlines=[
            bits.deadline(of.shape, 0), bits.deadline(of.shape, 1), bits.deadline(of.shape, 2), bits.deadline(of.shape, 3)
        ],
        inputs=(of.shape >> layout.INPUTS_AT) & 65535,
        labels=(of.shape >> layout.LABELS_AT) & 255,
        seats=bits.count(of.shape, layout.SEATS_AT),
        stake=of.money & (2**88 - 1),
        roster=of.roster,
        committed=bits.count(of.shape, layout.COMMITTED_AT),
        revealed=bits.count(of.shape, layout.REVEALED_AT),
        scored=(of.money >> layout.SCORED_AT) & 1023,
        pool=(of.money & layout.POOL_MASK) >> layout.POOL_AT,
        points=(of.money & layout.POINTS_MASK) >> layout.POINTS_AT,
        told=of.money & layout.TOLD != 0,
        closed=of.money & layout.CLOSED != 0,
        poster=of.poster,
        answer=of.answer,
        truth=of.truth,
    )


@external
@view
def seats(motion: uint256, who: address) -> layout.Seat:
    """
    @notice A seat: committed, revealed (with the weight of its votes), scored (with its points), or neither.
    """
    seat: uint256 = book.seat_of[motion][who]
    state: uint256 = seat & 255
    return layout.Seat(state=state, weight=(seat >> 8) & 255, points=(seat >> 16) & (2**24 - 1))


@external
@view
def records(supplier: address, subject: bytes32, who: address) -> layout.Record:
    """
    @notice Past performance in the motions of one supplier on one subject. A supplier writes what it likes into its own:
            whoever uses records names the suppliers that it believes.
    """
    slots: uint256[3] = book.record_of[book.register_of[bits.origin(supplier, subject)]][who]
    found: layout.Record = empty(layout.Record)
    found.right = slots[0] & (2**32 - 1)
    found.asked = (slots[0] >> 32) & (2**32 - 1)
    for label: uint256 in range(layout.MOST_LABELS):
        lane: uint256 = slots[(label + 2) >> 3] >> (((label + 2) & 7) << 5)
        found.right_of[label] = lane & 65535
        found.asked_of[label] = (lane >> 16) & 65535
    return found


@external
@view
def weight(supplier: address, subject: bytes32, who: address, labels: uint256) -> uint256:
    """
    @notice What a vote would weigh in a motion of this supplier on this subject: 1 to 15.
    """
    assert labels >= 2 and labels <= layout.MOST_LABELS, "labels: 2 to 16"
    return bits.weight(book.record_of[book.register_of[bits.origin(supplier, subject)]][who][0], labels)
