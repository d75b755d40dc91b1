# pragma version 0.4.3
# pragma evm-version cancun
"""
@title What is read out of packed numbers and of bit planes; nothing here knows of storage or money
@license Apache-2.0
"""

import layout

# Every second bit, pair of bits, four and eight of them; a one in each lane of 16 bits.
BY_1: constant(uint256) = max_value(uint256) // 3
BY_2: constant(uint256) = max_value(uint256) // 5
BY_4: constant(uint256) = max_value(uint256) // 17
BY_8: constant(uint256) = max_value(uint256) // 257
ONES: constant(uint256) = max_value(uint256) // 65535


@internal
@pure
def planes(labels: uint256) -> uint256:
    if labels > 8:
        return 4
    if labels > 4:
        return 3
    return 2 if labels > 2 else 1


@internal
@pure
def count(shape: uint256, at: uint256) -> uint256:
    return (shape >> at) & 65535


@internal
@pure
def deadline(shape: uint256, phase: uint256) -> uint256:
    return (shape >> unsafe_mul(36, phase)) & (2**36 - 1)


@internal
@pure
def words(shape: uint256) -> uint256:
    return unsafe_add((shape >> layout.INPUTS_AT) & 65535, 255) >> 8


@internal
@pure
def valid(shape: uint256, word: uint256) -> uint256:
    # The bits of this word that are inputs: all, but for the end of the last word.
    left: uint256 = unsafe_sub((shape >> layout.INPUTS_AT) & 65535, word << 8)
    return max_value(uint256) if left >= 256 else unsafe_sub(convert(1, uint256) << left, 1)


@internal
@pure
def ones(bits: uint256) -> uint256:
    # Population count. 256 does not fit a byte, hence the fold to 16-bit lanes before the sum by multiplication.
    x: uint256 = unsafe_sub(bits, (bits >> 1) & BY_1)
    x = unsafe_add(x & BY_2, (x >> 2) & BY_2)
    x = unsafe_add(x, x >> 4) & BY_4
    x = unsafe_add(x, x >> 8) & BY_8
    return unsafe_mul(x, ONES) >> 240


@internal
@pure
def where(among: uint256, planes: uint256[4], label: uint256) -> uint256:
    # The inputs among these whose four planes spell the label.
    found: uint256 = among & (planes[0] if label & 1 != 0 else ~planes[0])
    found &= planes[1] if label & 2 != 0 else ~planes[1]
    found &= planes[2] if label & 4 != 0 else ~planes[2]
    return found & (planes[3] if label & 8 != 0 else ~planes[3])


@internal
@pure
def weight(sums: uint256, labels: uint256) -> uint256:
    right: uint256 = unsafe_mul(sums & (2**32 - 1), labels)
    asked: uint256 = (sums >> 32) & (2**32 - 1)
    if right <= asked:
        return 1
    return 1 + 15 * (right - asked) // ((labels - 1) * (asked + layout.PRIOR))


@internal
@pure
def origin(supplier: address, subject: bytes32) -> uint256:
    # 96 bits of the subject are enough: only a supplier could make two of its own subjects collide, and what its
    # records say is its own word anyhow.
    tag: uint256 = convert(keccak256(subject), uint256) >> 160
    return (convert(supplier, uint256) << 96) | tag


@internal
@pure
def added(sums: uint256, right: uint256, asked: uint256) -> uint256:
    # The sums of a record (the lowest 64 bits of its first slot) with one more motion in them.
    r: uint256 = unsafe_add(sums & (2**32 - 1), right)
    a: uint256 = unsafe_add((sums >> 32) & (2**32 - 1), asked)
    if a > 2**32 - 1:  # halved rather than stopped: the share stays, and new answers still move it
        r >>= 1
        a >>= 1
    return (sums & ~(2**64 - 1)) | (a << 32) | r
