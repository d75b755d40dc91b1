"""``trust``: stories by their definition, points by hand from the votes, goals judged both ways, resuming."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from joblib import Memory

from experiments.experiment import Finding, cells_of
from experiments.femnist import byzantine_forests
from experiments.femnist.ensemble import MAJORITY, SLUSH, TalkSettings
from experiments.femnist.writer_votes import CASE, DIGITS, MemberVotes, Packed
from experiments.trust import against_liars
from experiments.trust.attacks import (
    ATTACKS,
    CLIQUE,
    CONSTANT,
    COPIES,
    HONEST,
    NOBODY,
    NOISY,
    RANDOM,
    SLEEPERS,
    STEALTHY,
    WRONG,
    first_votes,
    liars_order,
)
from experiments.trust.curves import Mark, TrustCurve, curves_of, find
from experiments.trust.goals import beyond, findings
from experiments.trust.points import (
    ALONE,
    DAWID_SKENE,
    PER_CLASS,
    TALKED,
    UNEVEN,
    UNGUARDED,
    Point,
    Said,
    hear,
    inputs_of,
)
from folkmoot.votes import Votes
from support.kept_cells import kept

pytestmark = pytest.mark.slow

N, INPUTS = 31, 600
TALK = TalkSettings(k=6, alpha=4, rounds=15, repeats=1)
SMALL = against_liars.Config(
    writers=21, test_writers=8, trees=10, seeds=2, liars=(8,), tasks=(UNEVEN, DIGITS),
    task_liars=(8,), task_inputs=200, talk=TALK,
)  # fmt: skip


def made_up(*, held_out: bool = True, seed: int = 5) -> MemberVotes:
    """Members of accuracies 0.6 to 0.8 who err independently; each got 8 of 10 held-out letters right."""
    rng = np.random.default_rng([seed, 99])
    truth = rng.integers(0, 2, INPUTS)
    right = rng.random((N, INPUTS)) < rng.uniform(0.6, 0.8, N)[:, None]
    table = [[4, 1], [1, 4]] if held_out else [[0, 0], [0, 0]]
    return MemberVotes(
        seed=seed,
        members=[f"m{i}" for i in range(N)],
        votes=Packed.of(np.where(right, truth, 1 - truth)),
        truth=Packed.of(truth),
        letters=[100] * 6,
        trained_on=[40] * N,
        held_out=[10] * N,
        right=[8] * N,
        confusion=[table] * N,
    )


def told(story: str, count: int) -> tuple[Votes, Votes, Votes, Votes]:
    """First votes of the liars, what they hold, the truth, and the order of turning."""
    members = made_up()
    votes, truth = inputs_of(members, CASE)
    order = liars_order(N, 5)
    heard = first_votes(story, votes, truth, 2, order, count, 5)
    rest = order[count:]
    np.testing.assert_array_equal(heard[rest], votes[rest])  # the honest say what they hold
    return heard[order[:count]], votes[order[:count]], truth, order


def test_stories() -> None:
    said, held, truth, order = told(WRONG, 9)
    assert (said == 1 - truth).all()
    said, *_ = told(CLIQUE, 9)
    assert (said == said[0]).all()
    assert 0.4 < (said[0] == truth).mean() < 0.6
    noisy, *_ = told(NOISY, 9)
    assert 0.08 < (noisy != said[0]).mean() < 0.12  # half of the dice show what the story says
    said, *_ = told(CONSTANT, 9)
    assert len(np.unique(said)) == 1
    said, *_ = told(RANDOM, 9)
    assert 0.45 < (said[1:] == said[0]).mean() < 0.55
    said, *_ = told(COPIES, 9)
    assert (said == inputs_of(made_up(), CASE)[0][order[-1]]).all()
    said, held, truth, _ = told(STEALTHY, 9)
    struck = (said != held).any(axis=0)
    assert 0.05 < struck.mean() < 0.15
    assert (said[:, struck] == 1 - truth[struck]).all()
    said, held, *_ = told(HONEST, 9)
    np.testing.assert_array_equal(said, held)
    with pytest.raises(ValueError, match="there is no story 'rumour'"):
        told("rumour", 9)


def test_more_liars_include_the_fewer() -> None:
    assert sorted(liars_order(N, 0)) == list(range(N))
    assert liars_order(N, 0).tolist() == liars_order(N, 0).tolist() != liars_order(N, 1).tolist()


def test_a_point_by_hand() -> None:
    members = made_up()
    votes, truth = inputs_of(members, CASE)
    (wrong, faulty) = hear(members, CASE, WRONG, 101, [40], False, TALK)  # 40 of 101 are 12 of 31
    assert (wrong.attack, faulty.attack) == (WRONG, "faulty")
    assert (wrong.liars, wrong.turned, wrong.participants, wrong.inputs) == (40, 12, N, INPUTS)
    right = (votes == truth).sum(axis=0)
    assert wrong.base == pytest.approx((2 * right > N).mean())
    honest = np.setdiff1d(np.arange(N), liars_order(N, 5)[:12])
    right = (votes[honest] == truth).sum(axis=0)  # the liars never are
    assert wrong.said(MAJORITY).accuracy == pytest.approx((2 * right > N).mean())
    assert wrong.said(DAWID_SKENE).accuracy == faulty.said(DAWID_SKENE).accuracy  # a centre hears the same
    assert wrong.anchored == len(honest)  # 8 of 10 is enough, and all err independently
    after, before, plain = (wrong.said(method) for method in (TALKED, ALONE, SLUSH))
    assert before.accuracy is not None
    assert before.accuracy > 0.95 > 0.8 > (votes[honest] == truth).mean()
    assert after.agreement is not None
    assert before.agreement is not None
    assert plain.accuracy is not None
    assert after.agreement >= before.agreement
    assert plain.accuracy < 0.6
    assert faulty.said(SLUSH).accuracy != plain.accuracy


def test_honest_first_votes_are_heard_once_for_all() -> None:
    members = made_up()
    points = hear(members, CASE, HONEST, N, [0, 5, 15], False, TALK)
    assert [each.attack for each in points[:2]] == [NOBODY, "silent"]
    assert hear(members, CASE, HONEST, N, [15], False, TALK) == points[-4:]  # as if heard anew
    sleepers = points[-1]
    assert sleepers.attack == SLEEPERS
    after, before, free = (sleepers.said(each).accuracy for each in (TALKED, ALONE, UNGUARDED))
    assert after is not None
    assert before is not None
    assert free is not None
    assert free < 0.1 < 0.9 < before  # half of them lie in the talk
    assert after == pytest.approx(before, abs=0.01)  # answers that far off do not count


def test_uneven_classes() -> None:
    members = made_up()
    votes, truth = inputs_of(members, UNEVEN)
    whole = members.truth.unpacked()
    assert (truth == 0).sum() == (whole == 0).sum()
    assert 0.08 < truth.mean() < 0.22
    assert votes.shape == (N, len(truth))
    (point,) = hear(members, UNEVEN, HONEST, N, [0], True, TALK)
    assert point.said(PER_CLASS).accuracy is not None


def test_nobody_anchors(tmp_path: Path) -> None:
    members = made_up(held_out=False)
    points = [
        point
        for story in (HONEST, CLIQUE)
        for point in hear(members, CASE, story, N, [0, 9] if story == HONEST else [9], False, TALK)
    ]
    assert {each.said(TALKED) for each in points} == {Said(TALKED, None)}
    assert all(each.anchored == 0 for each in points)
    found = findings(curves_of(points), CASE)
    assert [(each.ours, each.holds) for each in found] == [("nobody anchored", None)]
    assert beyond(curves_of(points)) == []
    result = against_liars.result(
        replace(SMALL, seeds=1, tasks=()),
        {
            "case": {members.seed: members},
            "more_classes": {},
            "heard": {(CASE, members.seed, "two stories", (0, 9)): points},
        },
    )
    assert "Nobody anchored" in result.verdict
    drawn = against_liars.figures(result)
    assert set(drawn) == {"trust"}
    drawn["trust"].savefig(tmp_path / "picture.png")


def test_curves_over_seeds() -> None:
    def point(seed: int, attack: str, liars: int, accuracy: float | None, worst: float | None) -> Point:
        said = [Said(TALKED, accuracy, None if accuracy is None else 0.9 + seed / 100, worst)]
        return Point(CASE, attack, seed, liars, liars, 101, 70, 10, 0.7 + seed / 10, said)

    points = [
        point(0, NOBODY, 0, 0.7, 0.65),
        point(1, NOBODY, 0, 0.8, 0.78),
        point(0, WRONG, 60, None, None),
        point(1, WRONG, 60, 0.6, 0.5),
    ]
    curve = find(curves_of(points), CASE, WRONG, TALKED)
    assert [mark.liars for mark in curve.marks] == [0, 60]
    assert curve.marks[0].accuracy == pytest.approx(0.75)
    assert curve.marks[0].spread == pytest.approx(0.1 / 2**0.5)
    assert curve.marks[0].worst == pytest.approx(-0.05)  # 0.65 - 0.7; the other is 0.78 - 0.8
    assert (curve.marks[0].least_accuracy, curve.marks[0].least_agreement) == (0.7, 0.9)
    assert curve.marks[1] == Mark(60, 0.6, None, 0.6, 0.91, 0.91, 0.5 - (0.7 + 0.1))
    assert find(curves_of(points), CASE, CLIQUE, TALKED).marks == []


def judged(*, trust_: float, dawid: float, agreement: float, worst: float, stealthy: float) -> list[Finding]:
    def curve(attack: str, method: str, marks: list[tuple[int, float]]) -> TrustCurve:
        return TrustCurve(
            CASE, attack, method,
            [Mark(f, accuracy, 0.01, accuracy, agreement, agreement, worst) for f, accuracy in marks],
        )  # fmt: skip

    return findings(
        [
            curve(NOBODY, TALKED, [(0, trust_)]),
            curve(NOBODY, DAWID_SKENE, [(0, dawid)]),
            curve(NOBODY, MAJORITY, [(0, 0.72)]),
            curve(WRONG, TALKED, [(0, trust_), (60, 0.7), (80, 0.1)]),
            curve(STEALTHY, TALKED, [(0, trust_), (40, stealthy)]),
            curve(STEALTHY, MAJORITY, [(0, 0.72), (40, 0.68)]),
        ],
        CASE,
    )


def test_goals_are_judged_both_ways() -> None:
    good = judged(trust_=0.7206, dawid=0.725, agreement=0.991, worst=-0.0299, stealthy=0.68)
    assert [each.holds for each in good] == [True] * 5
    assert "up to 60 liars" in good[2].quantity  # what 80 do is no goal
    bad = judged(trust_=0.7194, dawid=0.725, agreement=0.97, worst=-0.0301, stealthy=0.679)
    assert [each.holds for each in bad] == [False] * 5
    between = judged(trust_=0.73, dawid=0.725, agreement=0.98, worst=0.0, stealthy=0.7)
    assert [each.holds for each in between] == [True, False, True, True, True]


def test_run_resumes_and_shares_its_forests(letters: str, tmp_path: Path) -> None:
    config = replace(SMALL, data=letters)
    shared = byzantine_forests.cells(
        byzantine_forests.Config(data=letters, writers=21, test_writers=(1, 8), trees=10), 1
    )
    own = [(cell.func, cell.keywords) for cell in cells_of(against_liars.cells(config, 1))]
    assert all((cell.func, cell.keywords) in own for cell in cells_of(shared))
    memory = Memory(tmp_path, verbose=0)
    first: Any = against_liars.EXPERIMENT.run(config, 1, memory)
    stamps = kept(tmp_path)
    assert len(stamps) == 3 + 2 * (1 + 7) + 2 * (1 + 3) + (1 + 3)
    lost = next(iter(kept(tmp_path, "hear")))
    lost.unlink()
    again = against_liars.EXPERIMENT.run(config, 1, memory)
    assert again == first
    assert {path for path, _ in kept(tmp_path).items() ^ stamps.items()} == {lost}
    assert {(each.attack, each.liars) for each in first.points if each.task == CASE} == {
        (NOBODY, 0), *((attack.name, 8) for attack in ATTACKS)
    }  # fmt: skip
    digits = [each for each in first.findings if each.quantity == "ten digits, nobody lies"]
    assert digits[0].ours == "nobody anchored"  # these writers have one of each digit: none to hold out
    drawn = against_liars.figures(first)
    assert {name: len(figure.axes) for name, figure in drawn.items()} == {"trust": 4 * 6, "tasks": 2}
    for name, figure in drawn.items():
        figure.savefig(tmp_path / f"{name}.png")
    assert msgspec.json.decode(msgspec.json.encode(first))["verdict"] == first.verdict
