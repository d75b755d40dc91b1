"""Whole nodes in one process: what is asked at one is decided by all, whatever happens on the way."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from folkmoot.node.certificate import verify
from folkmoot.node.service.models import Model
from support.node.moot import Moot, model

X = np.arange(12.0).reshape(6, 2)
LABELS = ("no", "yes")


def voter(said: str) -> Model:
    """A model that answers the six inputs so: one letter each, y or n."""
    names = {"y": "yes", "n": "no"}
    return model(lambda rows: [names[said[int(row[0]) // 2]] for row in rows])


@pytest.mark.parametrize("n", [4, 5, 7])
def test_all_decide_what_most_voted_and_anybody_can_verify_it(n: int) -> None:
    answers = ["yyynnn", "yynnyn", "ynynnn", "nyyynn", "yynnyy", "yynnnn", "nnyynn"][:n]
    moot = Moot([voter(said) for said in answers])
    accounts = moot.play(moot.put(1, X, labels=LABELS))
    least = (n - 1) // 3 + 1
    for i, decision in enumerate(accounts[0].decisions):
        (label, many), *others = Counter(said[i] for said in answers).most_common()
        tied = bool(others) and others[0][1] == many
        assert decision == (None if tied or many < least else {"y": "yes", "n": "no"}[label])
    for storage in moot.storages:
        stored = storage.motion(bytes.fromhex(accounts[0].motion))
        assert stored.certificate is not None
        assert verify(stored.certificate, moot.roster).answer == stored.answer
