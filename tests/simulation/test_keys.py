"""An input that is given a key keeps its outcome in whatever batch, and at whatever place, it comes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import Slush, Snowball, deliberate
from folkmoot.adversaries.behaviours import RandomClass
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import vote_keys

VOTES = np.random.default_rng(0).integers(0, 2, (15, 60))
SETTINGS: list[tuple[SnowProtocol[Any], dict[str, Any]]] = [
    (Slush(4, 3), {}),  # table kernel, two-class Slush
    (Snowball(4, 3, 3), {}),  # table kernel
    (Slush(4, 3), {"adversaries": {0: RandomClass()}}),  # explicit kernel
    (Slush(4, 3), {"batch": "shared"}),  # bit-sliced kernel, seats by key
]


@pytest.mark.parametrize(("protocol", "options"), SETTINGS)
def test_order_and_company_do_not_matter(protocol: SnowProtocol[Any], options: dict[str, Any]) -> None:
    keys = vote_keys(VOTES)
    whole = deliberate(VOTES, protocol, keys=keys, seed=7, **options)
    some = np.random.default_rng(1).permutation(60)[:23]
    part = deliberate(VOTES[:, some], protocol, keys=keys[some], seed=7, **options)
    assert np.array_equal(part.decisions, whole.decisions[:, some])
    assert np.array_equal(part.rounds, whole.rounds[some])
    by_place = deliberate(VOTES[:, some], protocol, seed=7, **options)
    assert not np.array_equal(part.decisions, by_place.decisions)


def test_places_are_the_default_keys() -> None:
    by_place = deliberate(VOTES, Slush(4, 3), seed=7)
    by_key = deliberate(VOTES, Slush(4, 3), keys=np.arange(60), seed=7)
    assert np.array_equal(by_place.decisions, by_key.decisions)


def test_the_replay_uses_the_key() -> None:
    keys = vote_keys(VOTES)
    outcome = deliberate(VOTES, Slush(4, 3), keys=keys, record=True)
    for i in range(10):
        held = VOTES[:, i].copy()
        for change in outcome.turns(i).changes:
            held[change.participant] = change.after
        assert np.array_equal(held, outcome.decisions[:, i])


def test_columns_have_the_same_key_only_if_they_are_the_same() -> None:
    columns = np.array(np.meshgrid(*[[-1, 0, 1, 2]] * 7)).reshape(7, -1)
    keys = vote_keys(columns)
    assert len(set(keys.tolist())) == columns.shape[1] == 4**7
    assert keys.min() >= 0
    assert np.array_equal(vote_keys(columns[:, ::-1]), keys[::-1])


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ([1, 2], r"keys must hold one number per input \(60\)"),
        (np.full(60, -1), r"keys must satisfy 0 <= key < 2\^63"),
        (np.full(60, 2**63, dtype=np.uint64), r"keys must satisfy 0 <= key < 2\^63"),
        (np.zeros(60), "keys must be integers"),
    ],
)
def test_bad_keys(keys: Any, complaint: str) -> None:
    with pytest.raises((ValueError, TypeError), match=complaint):
        deliberate(VOTES, Slush(4, 3), keys=keys)
