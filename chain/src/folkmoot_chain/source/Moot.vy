# pragma version 0.4.3
# pragma evm-version cancun
# pragma optimize gas
"""
@title Moot: test sets, stakes, past performance and rewards of consensus learning
@license Apache-2.0
@notice A supplier puts a motion (inputs whose truth it has sealed) with a deposit. Participants commit to their
        votes with a stake, reveal them, and are paid by how often they were right once the truth is told.
        Nobody owns this contract, nobody can change it, and money leaves it by `withdraw` only.
        The README of folkmoot-chain says what it proves and what it does not.
@dev The rules of money, all of them:
     1. The pool is the deposit, what others `fund`, the stakes of those who committed and did not reveal, and
        the greater half of each lost bond.
     2. Whoever revealed gets the stake back, whatever it voted, scored or not.
     3. The pool is split by points, max(0, labels x right - asked), so that guessing earns nothing on average.
        Without truth, or where nobody has a point, everybody who revealed counts as one point.
     4. Only where nobody revealed does the pool go to the supplier.
     Hence neither withholding nor bending the truth pays a supplier who holds no seat. Where seats are open, it may
     hold some: its puppets know the truth. A roster that the participants accept is the only remedy.

     Ballots are bit planes: plane p of word w holds bit p of the labels of inputs 256 w to 256 w + 255, lowest bit
     first; a ballot is planes x words numbers, the planes of a word side by side. A code that is no label abstains.
     They are kept in events; storage holds their hash, so that calls cost the same for any number of participants.
     Structs do not pack in Vyper, hence the shifts: a storage slot is what most calls here pay for.
"""

import answering
import bits
import book
import layout
import reading
import scoring

initializes: book
initializes: answering[book := book]
initializes: scoring[book := book]
initializes: reading[book := book]

exports: (
    answering.post,
    answering.dispute,
    scoring.tell,
    scoring.score,
    reading.motions,
    reading.seats,
    reading.records,
    reading.weight,
    book.motion_count,
    book.credit,
)

LEAST_WINDOW: public(immutable(uint256))


@deploy
def __init__(least_window: uint256):
    assert least_window > 0 and least_window < 2**32, "least window: 1 to 2^32 - 1 seconds"
    LEAST_WINDOW = least_window


@external
@payable
def put(
    inputs_root: bytes32,
    sealed_truth: bytes32,
    subject: bytes32,
    protocol: bytes32,
    deadlines: uint256[4],
    inputs: uint256,
    labels: uint256,
    seats: uint256,
    stake: uint256,
    roster: bytes32,
) -> uint256:
    """
    @notice Put a motion with a deposit (the value sent); returns its number.
    @param sealed_truth keccak(chain, contract, supplier, salt, hash of truth, hash of known), see `tell`.
    @param deadlines When commit, reveal, tell (with post) and score (with dispute) end, in seconds.
    @param stake What a seat costs until it is revealed, and what a posted answer is bonded with.
    @param roster Merkle root of the addresses that may commit; zero leaves the seats open to anybody.
    """
    before: uint256 = block.timestamp
    for end: uint256 in deadlines:
        assert end >= before + LEAST_WINDOW, "a window is shorter than the least"
        before = end
    assert before < 2**36, "a deadline is not a time in seconds"
    assert labels >= 2 and labels <= layout.MOST_LABELS, "labels: 2 to 16"
    assert inputs > 0 and inputs <= 32768, "inputs: 1 to 32768"
    words: uint256 = ((inputs + 255) >> 8) * bits.planes(labels)
    assert words <= layout.MOST_WORDS, "a ballot is longer than 128 words"
    assert seats > 0 and seats <= layout.MOST_SEATS and seats * (words + 2) <= layout.MOST_AT_ONCE, "seats x (words + 2) > 2048"
    assert seats * labels <= layout.MOST_COUNTED, "seats x labels > 3072"
    assert stake > 0 and stake < layout.MOST_STAKE, "stake: 1 to 2^80 - 1"
    assert msg.value < layout.MOST_POOL, "deposit: below 2^100"
    shape: uint256 = (inputs << layout.INPUTS_AT) | (labels << layout.LABELS_AT) | (seats << layout.SEATS_AT)
    for phase: uint256 in range(4):
        shape |= deadlines[phase] << unsafe_mul(36, phase)
    origin: uint256 = bits.origin(msg.sender, subject)
    register: uint256 = book.register_of[origin]
    if register == 0:
        register = book.register_count + 1
        assert register < 2**40, "no register is left"
        book.register_count = register
        book.register_of[origin] = register
        book.origin_of[register] = origin
    shape |= register << layout.REGISTER_AT
    motion: uint256 = book.motion_count
    book.motion_count = motion + 1
    money: uint256 = stake | (msg.value << layout.POOL_AT)
    book.motion[motion].shape = shape
    book.motion[motion].truth = sealed_truth
    if roster != empty(bytes32):
        book.motion[motion].roster = roster
        money |= layout.ROSTER
    book.motion[motion].money = money
    log layout.Put(
        motion=motion, supplier=msg.sender, subject=subject, inputs_root=inputs_root, protocol=protocol,
        roster=roster, shape=shape, stake=stake, deposit=msg.value,
    )
    return motion


@external
@payable
def fund(motion: uint256):
    """
    @notice Add to the pool, until the commitments end. It is a gift: it goes where the pool goes.
    """
    assert block.timestamp < bits.deadline(book.motion[motion].shape, 0), "not in the commit window"
    money: uint256 = book.motion[motion].money
    assert msg.value > 0 and ((money & layout.POOL_MASK) >> layout.POOL_AT) + msg.value < layout.MOST_POOL, "amount: 1 to 2^100 in all"
    book.motion[motion].money = money + (msg.value << layout.POOL_AT)
    log layout.Funded(motion=motion, by=msg.sender, amount=msg.value)


@external
@payable
def commit(motion: uint256, seal: bytes32, proof: DynArray[bytes32, 32]):
    """
    @notice Take a seat: send the stake, and the seal of a ballot,
            keccak(chain, contract, motion, sender, salt, hash of the ballot).
    @param proof Of the sender's place in the roster (leaves hashed twice, pairs sorted); empty without one.
    """
    shape: uint256 = book.motion[motion].shape
    money: uint256 = book.motion[motion].money
    assert block.timestamp < bits.deadline(shape, 0), "not in the commit window"
    assert msg.value == money & (2**88 - 1), "the value sent must be the stake"
    assert bits.count(shape, layout.COMMITTED_AT) < bits.count(shape, layout.SEATS_AT), "all seats are taken"
    assert book.seat_of[motion][msg.sender] == 0, "already committed"
    if money & layout.ROSTER != 0:
        node: bytes32 = keccak256(keccak256(abi_encode(msg.sender)))
        for other: bytes32 in proof:
            if convert(node, uint256) < convert(other, uint256):
                node = keccak256(abi_encode(node, other))
            else:
                node = keccak256(abi_encode(other, node))
        assert node == book.motion[motion].roster, "not in the roster"
    book.seat_of[motion][msg.sender] = (convert(seal, uint256) & layout.HASH_MASK) | layout.COMMITTED
    book.motion[motion].shape = shape + (1 << layout.COMMITTED_AT)
    log layout.Committed(motion=motion, who=msg.sender)


@external
def reveal(motion: uint256, who: address, salt: bytes32, ballot: DynArray[uint256, layout.MOST_WORDS]):
    """
    @notice Open a seal. Anybody who has the salt may, so that a reveal can be left to others; it changes nothing
            for whom it counts.
    """
    shape: uint256 = book.motion[motion].shape
    assert (
        block.timestamp >= bits.deadline(shape, 0) and block.timestamp < bits.deadline(shape, 1)
    ), "not in the reveal window"
    labels: uint256 = (shape >> layout.LABELS_AT) & 255
    assert len(ballot) == bits.words(shape) * bits.planes(labels), "a ballot of another length"
    hash: bytes32 = empty(bytes32)
    for word: uint256 in ballot:
        hash = keccak256(abi_encode(hash, word))
    seat: uint256 = book.seat_of[motion][who]
    assert seat & 255 == layout.COMMITTED, "no commitment to reveal"
    seal: bytes32 = keccak256(abi_encode(chain.id, self, motion, who, salt, hash))
    assert seat & layout.HASH_MASK == convert(seal, uint256) & layout.HASH_MASK, "not what was sealed"
    # The weight is fixed here: records that other motions change later must not change this one's answer.
    weight: uint256 = bits.weight(book.record_of[shape >> layout.REGISTER_AT][who][0], labels)
    book.seat_of[motion][who] = (convert(hash, uint256) & layout.HASH_MASK) | (weight << 8) | layout.REVEALED
    book.motion[motion].shape = shape + (1 << layout.REVEALED_AT)
    log layout.Revealed(motion=motion, who=who, weight=weight, ballot=ballot)


@internal
def _close(motion: uint256) -> uint256:
    # Once, after the last deadline: who shares the pool is settled, and the bond of an answer that stood returns.
    money: uint256 = book.motion[motion].money
    if money & layout.CLOSED != 0:
        return money
    shape: uint256 = book.motion[motion].shape
    assert shape != 0 and block.timestamp >= bits.deadline(shape, 3), "not over yet"
    stake: uint256 = money & (2**88 - 1)
    revealed: uint256 = bits.count(shape, layout.REVEALED_AT)
    money += (stake * (bits.count(shape, layout.COMMITTED_AT) - revealed)) << layout.POOL_AT
    pool: uint256 = (money & layout.POOL_MASK) >> layout.POOL_AT
    if money & layout.POINTS_MASK == 0:
        money |= layout.EQUAL | (revealed << layout.POINTS_AT)
    if revealed == 0:
        book.credit[convert(book.origin_of[shape >> layout.REGISTER_AT] >> 96, address)] += pool
        money &= ~layout.POOL_MASK
    poster: address = book.motion[motion].poster
    if poster != empty(address):
        book.credit[poster] += stake
        book.motion[motion].poster = empty(address)
    money |= layout.CLOSED
    book.motion[motion].money = money
    log layout.Closed(motion=motion, pool=pool, shares=(money & layout.POINTS_MASK) >> layout.POINTS_AT)
    return money


@external
def close(motion: uint256):
    """
    @notice Settle a motion whose deadlines have passed. `claim` does it by itself; where nobody revealed, this is how the
            supplier gets the deposit back, with the stakes that were left.
    """
    assert book.motion[motion].money & layout.CLOSED == 0, "already closed"
    self._close(motion)


@external
def claim(motion: uint256, whos: DynArray[address, layout.BATCH]):
    """
    @notice Credit participants with stake and share, once the last deadline has passed. Anybody may, for any number of
            them; those who have nothing to claim are passed over, so that nobody can spoil a batch.
    """
    money: uint256 = self._close(motion)
    stake: uint256 = money & (2**88 - 1)
    pool: uint256 = (money & layout.POOL_MASK) >> layout.POOL_AT
    points: uint256 = (money & layout.POINTS_MASK) >> layout.POINTS_AT
    some: bool = False
    for who: address in whos:
        seat: uint256 = book.seat_of[motion][who]
        if seat & 255 >= layout.REVEALED:
            mine: uint256 = 1 if money & layout.EQUAL != 0 else (seat >> 16) & (2**24 - 1)
            # Taken from what is left, one after the other: the last one gets the rest, and no dust stays.
            share: uint256 = pool * mine // points if mine > 0 else 0
            pool -= share
            points -= mine
            book.seat_of[motion][who] = 0
            book.credit[who] += stake + share
            some = True
            log layout.Claimed(motion=motion, who=who, amount=stake + share)
    assert some, "nothing to claim"
    money &= ~(layout.POOL_MASK | layout.POINTS_MASK)
    book.motion[motion].money = money | (pool << layout.POOL_AT) | (points << layout.POINTS_AT)


@external
@nonreentrant
def withdraw(to: address) -> uint256:
    """
    @notice Send all of the sender's credit to an address. The only call by which money leaves.
    """
    amount: uint256 = book.credit[msg.sender]
    assert amount > 0, "no credit"
    book.credit[msg.sender] = 0
    log layout.Withdrawn(who=msg.sender, amount=amount)
    raw_call(to, b"", value=amount)
    return amount
