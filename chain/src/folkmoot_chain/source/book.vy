# pragma version 0.4.3
# pragma evm-version cancun
"""
@title All that is stored
@license Apache-2.0
"""

import layout

motion_count: public(uint256)
credit: public(HashMap[address, uint256])
motion: HashMap[uint256, layout.Motion]
seat_of: HashMap[uint256, HashMap[address, uint256]]
# A register for each supplier and subject, numbered from 1 when a motion first needs it: nobody fills 2^40 of them.
register_count: uint256
register_of: HashMap[uint256, uint256]  # by origin: supplier << 96 | tag of the subject
origin_of: HashMap[uint256, uint256]
# By register and participant. Lanes of 32 bits, eight a slot: right 16 bits, asked 16. The sums
# over all labels come first, with 32 bits each, so that a weight reads one slot and six labels are scored with one.
record_of: HashMap[uint256, HashMap[address, uint256[3]]]
