# pragma version 0.4.3
# pragma evm-version cancun
"""
@title The chain's answer: the weighted plurality of the revealed ballots, posted with a bond, recounted on dispute
@license Apache-2.0
"""

import bits
import book
import layout

uses: book


@external
@payable
def post(motion: uint256, talk: bytes32, answer: DynArray[uint256, layout.MOST_WORDS]):
    """
    @notice Post the weighted plurality of the revealed ballots (the lowest label where some are level), bonded with
            the stake. The bond returns if nobody proves a word wrong.
    """
    shape: uint256 = book.motion[motion].shape
    assert (
        block.timestamp >= bits.deadline(shape, 1) and block.timestamp < bits.deadline(shape, 2)
    ), "not in the post window"
    assert bits.count(shape, layout.REVEALED_AT) > 0, "nobody revealed"
    assert book.motion[motion].poster == empty(address), "an answer stands"
    assert msg.value == book.motion[motion].money & (2**88 - 1), "the value sent must be the stake"
    assert len(answer) == bits.words(shape) * bits.planes((shape >> layout.LABELS_AT) & 255), "an answer of another length"
    hash: bytes32 = empty(bytes32)
    for word: uint256 in answer:
        hash = keccak256(abi_encode(hash, word))
    book.motion[motion].answer = hash
    book.motion[motion].poster = msg.sender
    log layout.Posted(motion=motion, by=msg.sender, talk=talk, answer=answer)


@external
def dispute(
    motion: uint256,
    word: uint256,
    whos: DynArray[address, layout.MOST_SEATS],
    ballots: DynArray[uint256, layout.MOST_AT_ONCE],
    answer: DynArray[uint256, layout.MOST_WORDS],
):
    """
    @notice Recount 256 inputs of the answer over all revealed ballots. If the answer was wrong there, the right word
            is written, and the bond is lost: the smaller half to the sender, the rest to the pool.
    @param whos Everybody who revealed, by rising address.
    @param ballots Theirs, one after the other.
    @param answer As posted, with the corrections so far.
    """
    shape: uint256 = book.motion[motion].shape
    assert block.timestamp < bits.deadline(shape, 3), "not in the dispute window"
    labels: uint256 = (shape >> layout.LABELS_AT) & 255
    planes: uint256 = bits.planes(labels)
    size: uint256 = bits.words(shape) * planes
    first: uint256 = word * planes
    assert first < size, "no such word"
    assert len(whos) == bits.count(shape, layout.REVEALED_AT) and len(ballots) == len(whos) * size, "not all ballots"
    assert len(answer) == size, "an answer of another length"
    hash: bytes32 = empty(bytes32)
    for item: uint256 in answer:
        hash = keccak256(abi_encode(hash, item))
    assert hash == book.motion[motion].answer, "not the answer that stands"
    valid: uint256 = bits.valid(shape, word)

    # counts[layout.DEPTH c + j] holds bit j of the weight that label c has, for 256 inputs at once.
    counts: uint256[224] = empty(uint256[224])
    read: uint256 = 0
    last: uint256 = 0
    for who: address in whos:
        assert convert(who, uint256) > last, "addresses must rise"
        last = convert(who, uint256)
        seat: uint256 = book.seat_of[motion][who]
        weight: uint256 = (seat >> 8) & 255
        hash = empty(bytes32)
        for i: uint256 in range(size, bound=layout.MOST_WORDS):
            hash = keccak256(abi_encode(hash, ballots[unsafe_add(read, i)]))
        assert seat & 255 >= layout.REVEALED and convert(hash, uint256) & layout.HASH_MASK == seat & layout.HASH_MASK, "not what was revealed"
        for label: uint256 in range(labels, bound=layout.MOST_LABELS):
            votes: uint256 = valid
            for p: uint256 in range(planes, bound=4):
                plane: uint256 = ballots[unsafe_add(unsafe_add(read, first), p)]
                votes &= plane if (label >> p) & 1 == 1 else ~plane
            carry: uint256 = 0
            at: uint256 = unsafe_mul(label, layout.DEPTH)
            rest: uint256 = weight
            for _: uint256 in range(layout.DEPTH):
                old: uint256 = counts[at]
                if rest & 1 == 1:
                    counts[at] = old ^ votes ^ carry
                    carry = (old & votes) | (carry & (old ^ votes))
                else:
                    counts[at] = old ^ carry
                    carry &= old
                rest >>= 1
                if carry | rest == 0:
                    break
                at = unsafe_add(at, 1)
        read = unsafe_add(read, size)

    # Label by label: where its count is above the best so far, it is the best so far. Level: the lower stays.
    best: uint256[layout.DEPTH] = empty(uint256[layout.DEPTH])
    right: uint256[4] = empty(uint256[4])
    for label: uint256 in range(labels, bound=layout.MOST_LABELS):
        above: uint256 = 0
        level: uint256 = max_value(uint256)
        for j: uint256 in range(layout.DEPTH):
            at: uint256 = unsafe_sub(layout.DEPTH - 1, j)
            count: uint256 = counts[unsafe_add(unsafe_mul(label, layout.DEPTH), at)]
            above |= level & count & ~best[at]
            level &= ~(count ^ best[at])
        for j: uint256 in range(layout.DEPTH):
            count: uint256 = counts[unsafe_add(unsafe_mul(label, layout.DEPTH), j)]
            best[j] = (best[j] & ~above) | (count & above)
        for p: uint256 in range(planes, bound=4):
            right[p] = (right[p] | above) if (label >> p) & 1 == 1 else (right[p] & ~above)

    wrong: uint256 = 0
    for p: uint256 in range(planes, bound=4):
        wrong |= (right[p] ^ answer[first + p]) & valid
    assert wrong != 0, "the answer is right there"
    hash = empty(bytes32)
    for i: uint256 in range(size, bound=layout.MOST_WORDS):
        item: uint256 = right[i - first] if i >= first and i < first + planes else answer[i]
        hash = keccak256(abi_encode(hash, item))
    book.motion[motion].answer = hash
    if book.motion[motion].poster != empty(address):
        # The greater half goes to the pool, so that disputing oneself costs even where the bond is one wei.
        money: uint256 = book.motion[motion].money
        bond: uint256 = money & (2**88 - 1)
        book.credit[msg.sender] += bond // 2
        book.motion[motion].money = money + ((bond - bond // 2) << layout.POOL_AT)
        book.motion[motion].poster = empty(address)
    log layout.Corrected(motion=motion, by=msg.sender, word=word, planes=right)
