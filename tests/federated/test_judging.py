"""What statements come to for somebody outside: against every quorum of the signers, tried one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from folkmoot.federated import QuorumSet
from folkmoot.federated.judging import confirmed

NAMES = list("abcdef")


def quorums(signers: set[str], sets: dict[str, QuorumSet | None]) -> list[set[str]]:
    """Every non-empty set of these signers that satisfies the set of each of its members."""
    found = []
    for size in range(1, len(signers) + 1):
        for chosen in map(set, combinations(sorted(signers), size)):
            own = [sets[name] for name in chosen]
            if all(each is not None and each.satisfied_by(chosen) for each in own):
                found.append(chosen)
    return found


def drawn_set(rng: np.random.Generator, *, nested: bool = True) -> QuorumSet:
    members = rng.permutation(NAMES)[: rng.integers(1, 6)].tolist()
    rest = [name for name in NAMES if name not in members]
    inner = []
    if nested and rest and rng.random() < 0.4:
        inner = [QuorumSet(int(rng.integers(1, len(rest) + 1)), rest)]
    return QuorumSet(int(rng.integers(1, len(members) + len(inner) + 1)), members, inner)


@pytest.mark.parametrize("seed", range(40))
def test_a_label_is_confirmed_if_a_quorum_of_its_signers_satisfies_the_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = {name: None if rng.random() < 0.1 else drawn_set(rng) for name in NAMES}
    mine = drawn_set(rng)
    said = rng.integers(-1, 3, (2, len(NAMES), 8)).astype(np.int8)
    found = confirmed(NAMES, list(sets.values()), said, mine)
    for i in range(8):
        labels, claimed, behind = [], False, 0
        for counter in range(2):
            for label in range(3):
                signers = {
                    name for name, each in zip(NAMES, said[counter, :, i], strict=True) if each == label
                }
                all_ = quorums(signers, sets)
                claimed = claimed or bool(all_)
                if any(mine.satisfied_by(quorum) for quorum in all_):
                    labels.append(label)
                    behind = behind or len(set().union(*all_))
        assert bool(found.claimed[i]) == claimed
        assert bool(found.split[i]) == (len(set(labels)) > 1)
        if len(set(labels)) == 1:
            assert (found.labels[i], found.signers[i]) == (labels[0], behind)
        else:
            assert found.labels[i] == -1


def test_neither_half_of_the_condition_is_enough() -> None:
    """Whom one names may hold a thing for settled by friends that lie; and liars may name each other."""
    all_four = QuorumSet(3, list("abcd"))
    sets = [all_four, all_four, all_four, all_four, QuorumSet(1, ["e"]), QuorumSet(2, ["e", "f"])]
    said = np.array([[[0], [-1], [-1], [-1], [0], [0]]], dtype=np.int8)  # a was told lies, e and f tell them
    assert confirmed(NAMES, sets, said, QuorumSet(1, ["a"])).labels.tolist() == [-1], "a is in no quorum"
    outside = confirmed(NAMES, sets, said, QuorumSet(3, list("abcd")))
    assert outside.claimed.tolist() == [True], "e and f are a quorum of their own"
    assert outside.labels.tolist() == [-1], "which nobody needs"
    assert confirmed(NAMES, sets, said, None).labels.tolist() == [-1]
