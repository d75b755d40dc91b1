"""Kept votes: packing loses nothing, and they are what the models say."""

from __future__ import annotations

import itertools
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.ensemble import RandomForestClassifier

from experiments.femnist.writer_votes import DIGITS, KIND, MemberVotes, Packed, fit_family, joined
from experiments.femnist.writers import choose
from folkmoot.datasets import load_femnist
from folkmoot.learning.participants import held_out_rows

pytestmark = pytest.mark.slow


@given(st.data(), st.sampled_from([(1, 1), (2, 2), (9, 4), (255, 8)]))
def test_packing_loses_nothing(data: st.DataObject, most_and_bits: tuple[int, int]) -> None:
    most, bits = most_and_bits
    shapes = array_shapes(min_dims=1, max_dims=2, max_side=40)
    array = data.draw(arrays(np.int64, shapes, elements=st.integers(0, most)))
    packed = Packed.of(array)
    assert len(packed.bits) <= -(-bits * array.size // 8)
    read = msgspec.json.decode(msgspec.json.encode(packed), type=Packed)
    assert read == packed
    np.testing.assert_array_equal(read.unpacked(), array)


@pytest.mark.parametrize("odd", [-1, 256])
def test_only_bytes_are_packed(odd: int) -> None:
    with pytest.raises(ValueError, match=f"only numbers 0 to 255 can be packed: got .*{odd}"):
        Packed.of(np.array([0, 1, odd]))


@pytest.fixture(scope="module")
def forests(letters: str) -> MemberVotes:
    return fit_family(letters, 3, "rf", 11, 4, 10)


def test_votes_are_those_of_a_forest_fitted_by_hand(letters: str, forests: MemberVotes) -> None:
    choice = choose(letters, 3, 11, 4)
    assert forests.members == list(choice.train)
    place = 6
    mine = load_femnist(letters, writers=[choice.train[place]])
    rng = np.random.default_rng([3, place])
    held_out = held_out_rows(mine.y, 0.2, rng)
    kept = np.setdiff1d(np.arange(len(mine.y)), held_out)
    forest = RandomForestClassifier(n_estimators=10, random_state=int(rng.integers(2**31)))
    forest.fit(mine.X[kept], mine.y[kept])
    assert forests.trained_on[place] == len(kept) == round(0.8 * len(mine.y))
    assert forests.held_out[place] == len(held_out)
    answers, true = forest.predict(mine.X[held_out]), mine.y[held_out]
    assert forests.right[place] == (answers == true).sum()
    for colour, answer in itertools.product((0, 1), (0, 1)):
        both = (true == colour) & (answers == answer)
        assert forests.confusion[place][colour][answer] == both.sum()
    at = 0
    for name, size in zip(choice.test, forests.letters, strict=True):
        theirs = load_femnist(letters, writers=[name])
        assert len(theirs.y) == size
        np.testing.assert_array_equal(forests.truth.unpacked()[at : at + size], theirs.y)
        np.testing.assert_array_equal(
            forests.votes.unpacked()[place, at : at + size], forest.predict(theirs.X)
        )
        at += size


def test_test_sets_are_nested(forests: MemberVotes) -> None:
    votes, truth = forests.test_set(1)
    more, more_truth = forests.test_set(3)
    assert votes.shape == (11, forests.letters[0])
    np.testing.assert_array_equal(more[:, : votes.shape[1]], votes)
    np.testing.assert_array_equal(more_truth[: len(truth)], truth)
    np.testing.assert_array_equal(forests.validation, np.array(forests.right) / forests.held_out)


def test_members_join(forests: MemberVotes) -> None:
    both = joined([forests, forests])
    assert both.members == forests.members * 2
    np.testing.assert_array_equal(both.votes.unpacked()[11:], forests.votes.unpacked())


def test_tasks_of_more_classes(letters: str) -> None:
    whole = fit_family(letters, 3, "rf", 11, 4, 5, KIND)
    drawn = fit_family(letters, 3, "rf", 11, 4, 5, KIND, 50)
    characters = load_femnist(letters, task="characters", writers=list(choose(letters, 3, 11, 4).test))
    of = {name: characters.y[characters.rows(name)] for name in choose(letters, 3, 11, 4).test}
    kinds = [0 if c < 10 else 1 if c < 36 else 2 for rows in of.values() for c in rows.tolist()]
    assert whole.truth.unpacked().tolist() == kinds
    assert set(np.unique(whole.votes.unpacked())) == {0, 1, 2}
    assert sum(drawn.letters) == len(drawn.truth.unpacked()) == 50
    assert [sum(map(sum, table)) for table in drawn.confusion] == drawn.held_out
    digits = fit_family(letters, 3, "rf", 11, 4, 5, DIGITS)
    assert digits.truth.unpacked().tolist() == [c for rows in of.values() for c in rows.tolist() if c < 10]
    assert digits.held_out == [0] * 11  # one of each digit: nobody can spare any
    assert not np.any(digits.confusion)


@pytest.mark.parametrize(("family", "module"), [("xgboost", "xgboost"), ("lightgbm", "lightgbm")])
def test_boosters(letters: str, family: str, module: str) -> None:
    pytest.importorskip(module, reason='pip install "folkmoot[boost]"')
    votes = fit_family(letters, 0, family, 5, 2, 10)
    assert votes == fit_family(letters, 0, family, 5, 2, 10)
    cast, truth = votes.test_set(2)
    assert (cast == truth).mean() > 0.6


@pytest.mark.parametrize("family", ["xgboost", "lightgbm"])
def test_a_booster_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    monkeypatch.setitem(sys.modules, family, None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "folkmoot\[boost\]"'):
        fit_family("nowhere", 0, family, 11, 4, 10)


def test_an_unknown_family() -> None:
    with pytest.raises(ValueError, match="family must be one of rf, xgboost, lightgbm: got 'svm'"):
        fit_family("nowhere", 0, "svm", 11, 4, 10)
