# pragma version 0.4.3
# pragma evm-version cancun
"""
@title The truth, as it was sealed, and how often each ballot met it
@license Apache-2.0
"""

import bits
import book
import layout

uses: book


@external
def tell(
    motion: uint256,
    salt: bytes32,
    truth: DynArray[uint256, layout.MOST_WORDS],
    known: DynArray[uint256, layout.MOST_WORDS],
):
    """
    @notice Tell the truth that was sealed at `put`, in planes as a ballot, and on which inputs it is known.
    """
    shape: uint256 = book.motion[motion].shape
    assert (
        block.timestamp >= bits.deadline(shape, 1) and block.timestamp < bits.deadline(shape, 2)
    ), "not in the tell window"
    money: uint256 = book.motion[motion].money
    assert money & layout.TOLD == 0, "already told"
    words: uint256 = bits.words(shape)
    assert len(known) == words and len(truth) == words * bits.planes((shape >> layout.LABELS_AT) & 255), "another length"
    hash: bytes32 = empty(bytes32)
    for item: uint256 in truth:
        hash = keccak256(abi_encode(hash, item))
    mask: bytes32 = empty(bytes32)
    some: uint256 = 0
    for w: uint256 in range(words, bound=layout.MOST_WORDS):
        mask = keccak256(abi_encode(mask, known[w]))
        some |= known[w] & bits.valid(shape, w)
    assert some != 0, "no input is known"
    supplier: address = convert(book.origin_of[shape >> layout.REGISTER_AT] >> 96, address)
    seal: bytes32 = keccak256(abi_encode(chain.id, self, supplier, salt, hash, mask))
    assert seal == book.motion[motion].truth, "not what was sealed"
    book.motion[motion].truth = keccak256(abi_encode(hash, mask))
    book.motion[motion].money = money | layout.TOLD
    log layout.Told(motion=motion, truth=truth, known=known)


@external
def score(
    motion: uint256,
    whos: DynArray[address, layout.BATCH],
    ballots: DynArray[uint256, layout.BATCH_WORDS],
    truth: DynArray[uint256, layout.MOST_WORDS],
    known: DynArray[uint256, layout.MOST_WORDS],
):
    """
    @notice Count how often ballots were right. Anybody may, for any number of them; those scored before are passed
            over, so that nobody can spoil a batch by scoring one of it first.
    """
    shape: uint256 = book.motion[motion].shape
    money: uint256 = book.motion[motion].money
    assert money & layout.TOLD != 0 and block.timestamp < bits.deadline(shape, 3), "not in the score window"
    labels: uint256 = (shape >> layout.LABELS_AT) & 255
    planes: uint256 = bits.planes(labels)
    words: uint256 = bits.words(shape)
    size: uint256 = words * planes
    hash: bytes32 = empty(bytes32)
    for item: uint256 in truth:
        hash = keccak256(abi_encode(hash, item))
    mask: bytes32 = empty(bytes32)
    for item: uint256 in known:
        mask = keccak256(abi_encode(mask, item))
    assert keccak256(abi_encode(hash, mask)) == book.motion[motion].truth, "not the truth that was told"
    assert len(truth) == size and len(known) == words and len(ballots) == len(whos) * size, "another length"

    # Of which inputs each label is the truth; a code that is no label is the truth of none. Planes that there are not
    # count as zeros: no loop over them.
    asked_of: uint256[16] = empty(uint256[16])
    asked: uint256 = 0
    for w: uint256 in range(words, bound=layout.MOST_WORDS):
        there: uint256 = known[w] & bits.valid(shape, w)
        at: uint256 = unsafe_mul(w, planes)
        t: uint256[4] = [truth[at], 0, 0, 0]
        for p: uint256 in range(1, planes, bound=3):
            t[p] = truth[unsafe_add(at, p)]
        for label: uint256 in range(labels, bound=layout.MOST_LABELS):
            found: uint256 = bits.ones(bits.where(there, t, label))
            asked_of[label] = unsafe_add(asked_of[label], found)
            asked = unsafe_add(asked, found)

    register: uint256 = shape >> layout.REGISTER_AT
    points: uint256 = 0
    scored: uint256 = 0
    read: uint256 = 0
    for who: address in whos:
        seat: uint256 = book.seat_of[motion][who]
        assert seat & 255 >= layout.REVEALED, "somebody did not reveal"
        if seat & 255 == layout.REVEALED:
            hash = empty(bytes32)
            for i: uint256 in range(size, bound=layout.MOST_WORDS):
                hash = keccak256(abi_encode(hash, ballots[unsafe_add(read, i)]))
            assert convert(hash, uint256) & layout.HASH_MASK == seat & layout.HASH_MASK, "not what was revealed"
            right: uint256 = 0
            right_of: uint256[16] = empty(uint256[16])
            for w: uint256 in range(words, bound=layout.MOST_WORDS):
                agree: uint256 = known[w] & bits.valid(shape, w)
                at: uint256 = unsafe_mul(w, planes)
                t: uint256[4] = [truth[at], 0, 0, 0]
                agree &= ~(t[0] ^ ballots[unsafe_add(read, at)])
                for p: uint256 in range(1, planes, bound=3):
                    t[p] = truth[unsafe_add(at, p)]
                    agree &= ~(t[p] ^ ballots[unsafe_add(unsafe_add(read, at), p)])
                for label: uint256 in range(labels, bound=layout.MOST_LABELS):
                    found: uint256 = bits.ones(bits.where(agree, t, label))
                    right_of[label] = unsafe_add(right_of[label], found)
                    right = unsafe_add(right, found)

            # The first slot begins with the sums, which are written last; lanes of other labels stay as they are.
            sums: uint256 = book.record_of[register][who][0]
            lanes: uint256 = sums
            slot: uint256 = 0
            for label: uint256 in range(labels, bound=layout.MOST_LABELS):
                place: uint256 = unsafe_add(label, 2)
                if place >> 3 != slot:
                    if slot == 0:
                        sums = lanes
                    else:
                        book.record_of[register][who][slot] = lanes
                    slot = place >> 3
                    lanes = book.record_of[register][who][slot]
                at: uint256 = (place & 7) << 5
                r: uint256 = unsafe_add((lanes >> at) & 65535, right_of[label])
                a: uint256 = unsafe_add((lanes >> unsafe_add(at, 16)) & 65535, asked_of[label])
                if a > 65535:  # halved rather than stopped: the share stays, and new answers still move it
                    r >>= 1
                    a >>= 1
                lanes = (lanes & ~((2**32 - 1) << at)) | ((r | (a << 16)) << at)
            if slot == 0:
                sums = lanes
            else:
                book.record_of[register][who][slot] = lanes
            book.record_of[register][who][0] = bits.added(sums, right, asked)

            earned: uint256 = unsafe_mul(labels, right)
            earned = unsafe_sub(earned, asked) if earned > asked else 0
            book.seat_of[motion][who] = (seat & ~255) | (earned << 16) | layout.SCORED
            points = unsafe_add(points, earned)
            scored = unsafe_add(scored, 1)
            log layout.Scored(motion=motion, who=who, right=right, asked=asked)
        read = unsafe_add(read, size)
    assert scored > 0, "all of them are scored"
    book.motion[motion].money = money + (points << layout.POINTS_AT) + (scored << layout.SCORED_AT)
