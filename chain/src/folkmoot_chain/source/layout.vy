# pragma version 0.4.3
# pragma evm-version cancun
"""
@title What a motion is made of: limits, how its numbers lie in storage, what is told to the outside
@license Apache-2.0
"""

MOST_LABELS: constant(uint256) = 16
MOST_WORDS: constant(uint256) = 128  # of one ballot: 32,768 inputs of 2 labels, 8,192 of 10
MOST_AT_ONCE: constant(uint256) = 2048  # seats x (words of a ballot + 2): what `dispute` reads in one call
MOST_SEATS: constant(uint256) = 682  # follows from it
MOST_COUNTED: constant(uint256) = 3072  # seats x labels: what `dispute` adds up, below 16.7 M gas
# Of one call of `score` or `claim`; memory is laid out for the most, and every call would pay for more.
BATCH: constant(uint256) = 64
BATCH_WORDS: constant(uint256) = 512
DEPTH: constant(uint256) = 14  # bits of the greatest sum of weights: 682 x 15 < 2^14

# Motion.shape, from the lowest bit: four deadlines of 36 bits, inputs 16, labels 8, three counts of 16, and 40 bits
# that say in which register records are kept: with them here, a call reads one slot less.
INPUTS_AT: constant(uint256) = 144
LABELS_AT: constant(uint256) = 160
SEATS_AT: constant(uint256) = 168
COMMITTED_AT: constant(uint256) = 184
REVEALED_AT: constant(uint256) = 200
REGISTER_AT: constant(uint256) = 216
# Motion.money: stake 88 bits, pool 104, points 48, four flags, and how many are scored, which changes with the points.
POOL_AT: constant(uint256) = 88
POINTS_AT: constant(uint256) = 192
ROSTER: constant(uint256) = 1 << 240
TOLD: constant(uint256) = 1 << 241
CLOSED: constant(uint256) = 1 << 242
EQUAL: constant(uint256) = 1 << 243  # each who revealed counts as one point
SCORED_AT: constant(uint256) = 244
POOL_MASK: constant(uint256) = (2**104 - 1) << 88
POINTS_MASK: constant(uint256) = (2**48 - 1) << 192
# No sum of these leaves its bits: 682 stakes and the deposit stay below 2^101.
MOST_STAKE: constant(uint256) = 2**80
MOST_POOL: constant(uint256) = 2**100

# A seat is one slot: 216 bits of a hash (the seal, then the ballot's), 24 of points, 8 of weight, 8 of state. The low
# bits are always ours: a seal that somebody made up can never pass for a ballot that was revealed.
HASH_MASK: constant(uint256) = ~(2**40 - 1)
COMMITTED: constant(uint256) = 1
REVEALED: constant(uint256) = 2
SCORED: constant(uint256) = 3

# Weights are 1 to 15; a record counts as if it also had this many inputs answered by chance.
PRIOR: constant(uint256) = 64

event Put:
    motion: indexed(uint256)
    supplier: indexed(address)
    subject: indexed(bytes32)
    inputs_root: bytes32
    protocol: bytes32
    roster: bytes32
    shape: uint256
    stake: uint256
    deposit: uint256

event Funded:
    motion: indexed(uint256)
    by: indexed(address)
    amount: uint256

event Committed:
    motion: indexed(uint256)
    who: indexed(address)

event Revealed:
    motion: indexed(uint256)
    who: indexed(address)
    weight: uint256
    ballot: DynArray[uint256, MOST_WORDS]

event Posted:
    motion: indexed(uint256)
    by: indexed(address)
    talk: bytes32  # what a talk (Slush) came to, as a hash: random, so it cannot be recounted and binds nobody
    answer: DynArray[uint256, MOST_WORDS]

event Corrected:
    motion: indexed(uint256)
    by: indexed(address)
    word: uint256
    planes: uint256[4]

event Told:
    motion: indexed(uint256)
    truth: DynArray[uint256, MOST_WORDS]
    known: DynArray[uint256, MOST_WORDS]

event Scored:
    motion: indexed(uint256)
    who: indexed(address)
    right: uint256
    asked: uint256

event Claimed:
    motion: indexed(uint256)
    who: indexed(address)
    amount: uint256  # stake included

event Closed:
    motion: indexed(uint256)
    pool: uint256
    shares: uint256

event Withdrawn:
    who: indexed(address)
    amount: uint256

struct Motion:
    shape: uint256  # deadlines, sizes and counts: see the _AT constants
    money: uint256  # stake, pool, points, flags
    truth: bytes32  # its seal; once told, its hash
    roster: bytes32
    answer: bytes32  # hash of the posted answer
    poster: address  # whose bond stands

struct Terms:
    supplier: address
    deadlines: uint256[4]  # the ends of: commit, reveal, tell, score
    inputs: uint256
    labels: uint256
    seats: uint256
    stake: uint256
    roster: bytes32
    committed: uint256
    revealed: uint256
    scored: uint256
    pool: uint256
    points: uint256
    told: bool
    closed: bool
    poster: address
    answer: bytes32
    truth: bytes32

struct Seat:
    state: uint256  # 0 nobody (or claimed), 1 committed, 2 revealed, 3 scored
    weight: uint256
    points: uint256

struct Record:
    right: uint256
    asked: uint256
    right_of: uint256[16]
    asked_of: uint256[16]
