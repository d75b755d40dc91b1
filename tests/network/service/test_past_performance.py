"""Weights from a chain: a node's talk follows them, and a file that fits nobody is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from eth_keys.datatypes import PrivateKey

from folkmoot.network.membership.chain_address import ChainAddress, sign_by_node, statement
from folkmoot.network.membership.roster import Member, Roster
from folkmoot.network.service.past_performance import PastPerformance
from folkmoot.wallets import sign_text
from support.network.moot_in_memory import Moot, keys_and_roster

SEVEN = 7


def wallet(place: int) -> bytes:
    return bytes([place + 1]) * 32


def address(place: int) -> str:
    return str(PrivateKey(wallet(place)).public_key.to_checksum_address())


def tied_roster(*places: int) -> Roster:
    """Seven members, some of whom name their address."""
    node_keys, roster = keys_and_roster(SEVEN)

    def tied(place: int, member: Member) -> Member:
        if place not in places:
            return member
        about = member.name, member.fingerprint, address(place)
        signed = sign_by_node(node_keys[place], *about), sign_text(wallet(place), statement(*about))
        return replace(member, chain=ChainAddress(address(place), *signed))

    return Roster(tied(place, member) for place, member in enumerate(roster))


def weight_file(path: Path, weights: dict[str, float]) -> Path:
    path.write_text(json.dumps({"subject": "x", "weights": weights}))
    return path


def decided(moot: Moot) -> list[int]:
    moot.put(weighted=True, k=6, alpha=4)
    moot.network.run(120.0)
    ((session, _),) = moot.over.values()
    return [int(label) for label in session.verdict().decisions]


def test_two_with_a_long_record_outweigh_five_without(tmp_path: Path) -> None:
    # Whoever asks all six others hears at least one of the two: 15 of 15 + 5 are 4.5 of 6, above alpha = 4.
    # The two themselves hear 15 of 20 from each other. With equal weights the five win: 4 or 5 of 6.
    votes = np.array([[1]] * 2 + [[0]] * 5, dtype=np.int8)
    file = weight_file(tmp_path / "w.json", {address(0): 15, address(1).lower(): 15, address(2): 1})
    past = PastPerformance.read(file, tied_roster(0, 1, 2))
    members = [each.fingerprint for each in keys_and_roster(SEVEN)[1]]
    assert past.weights(members, 2) == [15.0, 15.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert past.weights(members[::-1], 10) == [1.0, 1.0, 1.0, 1.0, 1.0, 15.0, 15.0]
    assert len(past) == 3
    assert decided(Moot(votes, 1, past=past)) == [1]
    assert decided(Moot(votes, 1)) == [0]


def test_an_address_that_nobody_signed_for_has_no_weight_here(tmp_path: Path) -> None:
    file = weight_file(tmp_path / "w.json", {address(0): 15, address(5): 9})
    members = [each.fingerprint for each in keys_and_roster(SEVEN)[1]]
    assert PastPerformance.read(file, tied_roster(0)).weights(members, 2)[5] == 1.0
    with pytest.raises(ValueError, match="none of 7 in the roster names one of its 2 addresses"):
        PastPerformance.read(file, tied_roster())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"weights": {}}',
        '{"weights": [1]}',
        '{"weights": {"0x12": 1}}',
        f'{{"weights": {{"{address(0)}": -1}}}}',
        f'{{"weights": {{"{address(0)}": NaN}}}}',
        f'{{"weights": {{"{address(0)}": "much"}}}}',
        f'{{"weights": {{"{address(0)}": null}}}}',
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="must be a file that folkmoot chain record --weights wrote"):
        PastPerformance.read(path, tied_roster(0))
