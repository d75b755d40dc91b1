"""All states of the agreement among four members in small, and what each rule is needed for."""

from __future__ import annotations

import pytest

from support.node.model_check import Rules, accused, search


def test_one_liar_of_four_splits_nothing_in_three_rounds() -> None:
    """All interleavings of what can be signed, with values and members named in any order."""
    states, split, all_of_them = search(Rules())
    assert split is None
    assert all_of_them
    assert states > 200_000


@pytest.mark.parametrize(
    "mutant",
    [
        Rules(lock=False, rounds=2),
        Rules(quorum=2, rounds=1),
        Rules(n=5, quorum=3, rounds=1),  # 2 f + 1 instead of floor((n + f) / 2) + 1
        Rules(just_is_checked=False, just_counts=False, rounds=2),
        Rules(own_just=False, rounds=4),
    ],
    ids=["no lock", "quorum one less", "2f+1 at five", "just not checked", "just forgotten"],
)
def test_each_rule_is_needed(mutant: Rules) -> None:
    _, found, _ = search(mutant, 150_000)
    assert found is not None
    assert len(mutant.decided(found)) > 1 or accused(found)


@pytest.mark.slow
def test_a_split_by_two_of_four_leaves_evidence() -> None:
    """Two liars that leave no evidence cannot split two rounds."""
    _, split, all_of_them = search(Rules(liars=2, careful=True, rounds=2))
    assert split is None
    assert all_of_them


@pytest.mark.slow
def test_a_split_leaves_none_if_any_prevote_with_just_counts() -> None:
    _, split, _ = search(Rules(liars=2, careful=True, rounds=2, just_counts=False))
    assert split is not None


@pytest.mark.slow
def test_one_liar_of_five_splits_nothing_in_two_rounds() -> None:
    _, split, all_of_them = search(Rules(n=5, quorum=4, rounds=2))
    assert split is None
    assert all_of_them
