"""Motions with trust: first votes are revealed, each node listens, and a majority of liars does not win."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.adversaries import ATTACKS
from folkmoot.network.service.holdout import Holdout, read_holdout
from folkmoot.network.session.judgement import judge
from folkmoot.network.session.phases import Phase
from folkmoot.network.storage.account import account
from folkmoot.node.service.models import Model
from folkmoot.node.transports.memory import Weather
from folkmoot.trust import Anchor, decide, listen
from support.network.moot_in_memory import Moot

N, INPUTS = 25, 200
GOOD = Holdout([("a", "a")] * 12 + [("b", "b")] * 12 + [("a", "b")] * 3 + [("b", "a")] * 3)


def moot_with(liars: int, attack: str, seed: int = 1, **more: Any) -> tuple[Moot, Any]:
    """Honest participants of accuracy 0.8, and liars whose models know the answers."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, INPUTS).astype(np.int8)
    votes = np.where(rng.random((N, INPUTS)) < 0.8, truth, 1 - truth).astype(np.int8)
    bad = range(N - liars, N)
    for place in bad:
        votes[place] = truth
    adversaries = {place: ATTACKS[attack]() for place in bad}
    moot = Moot(votes, seed, adversaries=adversaries, holdouts=dict.fromkeys(range(N), GOOD), **more)
    return moot, truth


def decisions_of(moot: Moot, place: int) -> tuple[Any, Any]:
    storage = moot.storages[place]
    (stored,) = storage.motions()
    told = account(storage, stored)
    return np.array([-1 if x is None else "ab".index(x) for x in told.decisions]), told


@pytest.mark.parametrize("attack", ["malicious", "constant"])
def test_a_majority_of_liars_does_not_win(attack: str) -> None:
    moot, truth = moot_with(14, attack, weather=Weather(delay=0.005, drop=0.01))
    moot.put(0, k=10, alpha=6, rounds=15, trust=True)
    moot.network.run(until=40.0)
    majority = (np.stack([moot.votes[p] for p in range(11)]) == 1).mean(axis=0) > 0.5
    honest = float((majority == truth).mean())
    for place in range(11):
        found, told = decisions_of(moot, place)
        assert told.anchored
        assert (found == truth).mean() > honest - 0.03  # 14 of 25 lie, and it is as if they did not
        assert all(told.trust[f"p{liar:03d}"] <= 0 for liar in range(11, 25))
        assert min(told.agreement) > 0.5


def test_without_trust_the_same_liars_win() -> None:
    moot, truth = moot_with(14, "malicious")
    moot.put(0, k=10, alpha=6, rounds=15)
    moot.network.run(until=40.0)
    found, told = decisions_of(moot, 0)
    assert told.trust is None
    assert (found == truth).mean() < 0.1


def test_who_has_no_holdout_says_so_and_decides_nothing() -> None:
    moot, truth = moot_with(0, "malicious", without={3, 4})
    moot.put(3, k=10, alpha=6, rounds=15, trust=True)
    moot.network.run(until=40.0)
    found, told = decisions_of(moot, 3)
    assert (found == -1).all()
    assert told.anchored is False
    assert "held nothing out" in told.why
    others, _ = decisions_of(moot, 0)
    assert (others == truth).mean() > 0.95


def test_a_node_judges_as_the_library_does() -> None:
    moot, _ = moot_with(5, "malicious")
    anchor = GOOD.anchor(("a", "b"))
    judgement = judge(2, moot.votes, anchor, 2)
    trust = listen(2, moot.votes.astype(int), Anchor.of_confusion([[12, 3], [3, 12]]), classes=2)
    assert np.array_equal(judgement.weights, trust.weight)
    assert np.array_equal(judgement.start, decide(moot.votes.astype(int), trust))


def test_few_inputs_leave_everybody_trusted_alike() -> None:
    moot, truth = moot_with(0, "malicious")
    moot.votes = moot.votes[:, :20]
    moot.put(0, k=10, alpha=6, rounds=15, trust=True)
    moot.network.run(until=40.0)
    found, told = decisions_of(moot, 0)
    assert told.anchored is False
    assert set(told.trust.values()) == {1.0}
    assert (found == truth[:20]).mean() > 0.9


def test_honest_votes_and_lies_in_the_talk_are_not_heeded() -> None:
    """Sleepers: their first votes earn trust, their answers contradict everything."""
    moot, truth = moot_with(0, "malicious")
    for place in range(15, 25):
        moot.make_sleeper(place)
    moot.put(0, k=10, alpha=6, rounds=15, trust=True)
    moot.network.run(until=40.0)
    found, told = decisions_of(moot, 0)
    assert told.trust["p020"] > 0
    assert (found == truth).mean() > 0.9


def test_first_votes_are_shown_only_after_the_commitments() -> None:
    """No frame with first votes goes out before its sender has all commitments, or has waited for them."""
    moot, _ = moot_with(0, "malicious", weather=Weather(delay=0.02))
    moot.put(0, k=10, alpha=6, rounds=5, trust=True)
    early: list[int] = []
    for place in range(N):
        moot.watch_reveals(place, early)
    moot.network.run(until=40.0)
    assert moot.reveals > N
    assert early == []
    assert all(node is not None and node.open_motions == 0 for node in moot.nodes)
    ((session, _),) = moot.over.values()
    assert session.phase is Phase.OVER


def parity(X: Any) -> Any:
    return np.where(X[:, 0] % 2, "odd", "even")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return Model("parity", parity, labels=["even", "odd"], columns=2)


def test_a_holdout_is_read_from_either_format(tmp_path: Path, model: Model) -> None:
    X = np.arange(12.0).reshape(6, 2)  # the first column is even throughout
    y = np.array(["even", "even", "odd", "even", "odd", "even"])
    np.savez(tmp_path / "h.npz", X=X, y=y)
    lines = [f"{a},{label},{b}" for (a, b), label in zip(X, y, strict=True)]
    (tmp_path / "h.csv").write_text("\n".join(["one,label,two", *lines]) + "\n")
    comma = [line.replace(",", ";").replace(".", ",") for line in lines]
    (tmp_path / "h.tsv").write_text("\n".join(["one;label;two", *comma]) + "\n", encoding="utf-8-sig")
    for name in ("h.npz", "h.csv", "h.tsv"):
        anchor = read_holdout(tmp_path / name, model).anchor(("even", "odd"))
        assert anchor is not None
        assert (anchor.right, anchor.held_out) == (4, 6)


def test_a_holdout_may_be_the_answers_of_a_model_before_it_saw_the_rows(tmp_path: Path, model: Model) -> None:
    y = np.array(["even", "even", "odd", "even", "odd", "even"])
    said = np.array(["odd", "even", "odd", "even", "odd", "odd"])
    np.savez(tmp_path / "h.npz", y=y, answers=said)
    pairs = [f"{true},{answer}" for true, answer in zip(y, said, strict=True)]
    (tmp_path / "h.csv").write_text("\n".join(["label,answer", *pairs]) + "\n")
    for name in ("h.npz", "h.csv"):
        anchor = read_holdout(tmp_path / name, model).anchor(("even", "odd"))
        assert anchor is not None
        assert anchor.counts == ((2, 2), (0, 2))
    np.savez(tmp_path / "short.npz", y=y, answers=said[:5])
    with pytest.raises(ValueError, match="an answer for every label: got 5 answers, 6 labels"):
        read_holdout(tmp_path / "short.npz", model)
    np.savez(tmp_path / "wide.npz", y=y, answers=said[None])
    with pytest.raises(ValueError, match=r"y and answers of one axis: got \(6,\) and \(1, 6\)"):
        read_holdout(tmp_path / "wide.npz", model)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("h.csv", "label,answer\n", "has a header and no rows"),
        ("h.csv", "a,b\n1,2\n", "must have a column 'label': it has a, b"),
        ("h.csv", "a,label,b\n1,even\n", "line 2: expected 3 cells, got 2"),
        ("h.csv", "a,label,b\n1,even,x\n", "line 2: expected a number, got 'x'"),
        ("h.csv", "a,label\n1,even\n", "must have the 2 columns of the model"),
        ("h.csv", "a,label,b\n", "has a header and no rows"),
        ("h.npz", "nothing", "must be a .npz file with the arrays X and y"),
    ],
)
def test_a_holdout_that_is_none(tmp_path: Path, model: Model, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_holdout(tmp_path / name, model)


def test_a_large_batch_is_heard_in_part_and_decided_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    moot, truth = moot_with(14, "malicious")
    votes = np.tile(np.where(np.arange(N)[:, None] < 11, moot.votes, 1 - moot.votes), 8)
    anchor = GOOD.anchor(("a", "b"))
    whole = judge(0, votes, anchor, 2)
    monkeypatch.setattr("folkmoot.network.session.judgement.MOST_HEARD", 1)  # a thousand of the 1,600 inputs
    part = judge(0, votes, anchor, 2)
    assert part.start.shape == whole.start.shape == (8 * INPUTS,)
    assert (part.start == np.tile(truth, 8)).mean() > 0.9
    assert (part.start == whole.start).mean() > 0.97


def test_who_is_away_has_not_voted_late() -> None:
    """Others did not hold its commitment either, which says of those that have one that it came late."""
    votes = np.zeros((7, 60), dtype=np.int8)
    moot = Moot(votes, 1, holdouts=dict.fromkeys(range(7), GOOD))
    for place in (5, 6):
        moot.crash(place)
    moot.put(0, k=4, alpha=3, rounds=5, trust=True)
    moot.network.run(until=60.0)
    _, told = decisions_of(moot, 0)
    assert (told.silent, told.late) == (["p005", "p006"], [])
