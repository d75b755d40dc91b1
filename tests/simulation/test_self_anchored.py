"""Listen first, then talk: the same as calling each step by hand, and what happens to bad input."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from folkmoot import Slush, Snowball, Trusting, deliberate
from folkmoot.adversaries import (
    ATTACKS,
    Adversary,
    Copycat,
    PerfectlyMalicious,
    Silent,
    Sleeper,
    Steadfast,
    handed_in,
)
from folkmoot.baselines import majority
from folkmoot.simulation.self_anchored import Listeners, listen_first
from folkmoot.trust import Anchor, Trust, TrustWarning, decide, listen_all, sampling_weights
from folkmoot.votes import Votes

N, INPUTS = 41, 300
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, INPUTS)
VOTES: Votes = np.where(RNG.random((N, INPUTS)) < 0.75, TRUTH, 1 - TRUTH)
GOOD, BAD = Anchor.of_counts(16, 20), Anchor.of_counts(10, 20)
LIARS: dict[int, Adversary] = {i: PerfectlyMalicious() for i in range(24)}


def listeners(
    votes: Votes = VOTES, anchors: list[Anchor | None] | None = None, liars: Mapping[int, Adversary] = LIARS
) -> Listeners[Trust]:
    found = listen_first(votes, anchors or [GOOD] * N, adversaries=liars, truth=TRUTH, classes=2)
    assert found is not None
    return found


def test_each_step_by_hand() -> None:
    anchors: list[Anchor | None] = [GOOD] * 30 + [BAD] * 6 + [None] * 5
    found = listeners(anchors=anchors)
    outcome = found.talk(Slush(10, 6), LIARS, truth=TRUTH, classes=2, repeats=3, seed=5)

    seen = handed_in(VOTES, LIARS, TRUTH, 2)
    trusts = listen_all(seen, [None if i in LIARS else anchor for i, anchor in enumerate(anchors)], classes=2)
    assert [trust.anchored for trust in trusts] == [24 <= i < 30 for i in range(N)]
    talking = list(range(30))  # 24 liars and the 6 that anchor
    held = np.stack([VOTES[i] if i in LIARS else decide(seen, trusts[i]) for i in talking])
    law = sampling_weights(trusts, [i < 30 for i in range(N)])[:30, :30]
    expected = deliberate(
        held,
        Slush(10, 6),
        sampling=Trusting(law),
        adversaries=LIARS,
        truth=TRUTH,
        classes=2,
        repeats=3,
        seed=5,
        batch="shared",
    )
    np.testing.assert_array_equal(outcome.decisions[:, :30], expected.decisions)
    assert (outcome.decisions[:, 30:] == -1).all()
    np.testing.assert_array_equal(outcome.honest, [24 <= i < 30 for i in range(N)])
    np.testing.assert_array_equal(outcome.agreement, expected.agreement)
    np.testing.assert_array_equal(outcome.rounds, expected.rounds)


def test_a_majority_of_liars() -> None:
    seen = handed_in(VOTES, LIARS, TRUTH, 2)
    assert (majority(seen, 2) == TRUTH).mean() < 0.05
    found = listeners()
    for protocol in (Slush(10, 6), Snowball(10, 6, 5)):
        outcome = found.talk(protocol, LIARS, truth=TRUTH, classes=2)
        assert outcome.accuracy(TRUTH) > 0.95
        assert outcome.agreement.mean() > 0.99


def test_a_clique_with_a_story() -> None:
    story = VOTES.copy()
    story[:24] = np.random.default_rng(1).integers(0, 2, INPUTS)
    liars = {i: Steadfast() for i in range(24)}
    outcome = listeners(story, liars=liars).talk(Slush(10, 6), liars, classes=2)
    assert outcome.accuracy(TRUTH) > 0.9 > 0.7 > (majority(story, 2) == TRUTH).mean()


def test_nobody_lies() -> None:
    found = listeners(liars={})
    assert found.anchored.all()
    outcome = found.talk(Slush(10, 6), classes=2, record=True)
    assert outcome.honest.all()
    assert outcome.accuracy(TRUTH) >= (majority(VOTES, 2) == TRUTH).mean() - 0.01
    assert outcome.settled.mean() > 0.99


def test_one_voice_alone() -> None:
    found = listeners(anchors=[GOOD] + [None] * (N - 1), liars={})
    outcome = found.talk(Slush(10, 6), classes=2)
    assert np.flatnonzero(outcome.honest).tolist() == [0]
    np.testing.assert_array_equal(outcome.decision, decide(VOTES, found.trusts[0]))


def test_who_is_not_heard_is_not_asked() -> None:
    mute = VOTES.copy()
    mute[0] = -1
    liars: dict[int, Adversary] = {0: Steadfast(), 1: Copycat(target=40), 2: Silent()}
    found = listeners(mute, [GOOD] * 40 + [None], liars)
    assert not found.speaking[0]
    assert found.speaking[2]  # it votes, and then says nothing
    assert found.speaking[1]
    assert not found.speaking[40]  # whom the copycat follows all the same
    outcome = found.talk(Slush(10, 6), liars, classes=2)
    assert np.flatnonzero(~outcome.honest).tolist() == [0, 1, 2, 40]
    assert outcome.agreement.mean() > 0.99


def test_replay_names_participants_by_their_own_numbers() -> None:
    close = VOTES.copy()
    close[:, :100] = np.random.default_rng(2).integers(0, 2, (N, 100))
    found = listeners(close, [None] * 20 + [GOOD] * 21, {})
    outcome = found.talk(Slush(10, 6), classes=2, record=True)
    changes = [change for i in range(100) for change in outcome.turns(i).changes]
    assert changes
    assert {change.participant for change in changes} <= set(range(20, N))


@pytest.mark.parametrize(
    ("votes", "anchors", "message"),
    [
        (VOTES[:, :49], [GOOD] * N, "at least 50 inputs in a batch: got 49; everybody is trusted alike"),
        (VOTES, [BAD] * N, "nobody can anchor its trust.*10 of 20 right on its holdout does not show"),
        (VOTES, [None] * N, "nobody can anchor its trust.*it held nothing out"),
        (np.zeros_like(VOTES), [BAD] * N, "nobody can anchor"),
    ],
)
def test_without_trust(votes: Votes, anchors: list[Anchor | None], message: str) -> None:
    with pytest.warns(TrustWarning, match=message) as caught:
        assert listen_first(votes, anchors, classes=2) is None
    assert len(caught) == 1


def test_who_voted_on_too_few() -> None:
    sparse = VOTES.copy()
    sparse[:5, 40:] = -1
    sparse[5] = -1
    with pytest.warns(TrustWarning, match="5 participants voted on fewer than 50 of the inputs") as caught:
        found = listen_first(sparse, [GOOD] * N, classes=2)
    assert len(caught) == 1
    assert found is not None
    assert np.flatnonzero(~found.anchored).tolist() == [0, 1, 2, 3, 4, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found.talk(Slush(10, 6), classes=2).accuracy(TRUTH) > 0.95


def with_no_opinion() -> tuple[Votes, Votes, list[Anchor | None]]:
    """Ten on 59 inputs, five in a noisy clique; participant 3 anchors and can tell nobody from chance."""
    rng = np.random.default_rng(612)
    rng.integers(4, 14), rng.integers(2, 4), rng.integers(50, 70)
    truth = rng.integers(0, 2, 59)
    right = rng.uniform(0.5, 0.75, 10)[:, None]
    votes = np.where(rng.random((10, 59)) < right, truth, rng.integers(0, 2, (10, 59)))
    votes[rng.random((10, 59)) < rng.uniform(0, 0.15)] = -1
    votes[5:] = np.where(rng.random((5, 59)) < 0.5, rng.integers(0, 2, (5, 59)), rng.integers(0, 2, 59))
    return votes, truth, [Anchor.of_confusion([[9, 1], [1, 9]])] * 5 + [None] * 5


def test_who_gives_nobody_a_weight_has_no_veto() -> None:
    votes, truth, anchors = with_no_opinion()
    found = listen_first(votes, anchors, classes=2)
    assert found is not None
    assert not found.trusts[3].weight.any()
    assert "itself included" in found.trusts[3].why
    assert np.flatnonzero(found.anchored).tolist() == [4]
    assert not found.speaking[3]
    outcome = found.talk(Slush(4, 3), classes=2)
    assert np.flatnonzero(outcome.honest).tolist() == [4]
    np.testing.assert_array_equal(outcome.decision, decide(votes, found.trusts[4]))  # it is not voted down
    assert outcome.undecided == 0
    assert outcome.accuracy(truth) > 0.5


def test_who_decides_nothing_is_no_decider(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a trust whose weights leave every input tied."""

    def tied(votes: Votes, *args: object, **more: object) -> list[Trust]:
        trusts = listen_all(votes, *args, **more)  # type: ignore[arg-type]
        return [replace(t, weight=np.zeros(N)) if t.own in (1, 2) else t for t in trusts]

    monkeypatch.setattr("folkmoot.simulation.self_anchored.listen_all", tied)
    found = listeners(anchors=[GOOD] * 3 + [None] * (N - 3), liars={})
    assert np.flatnonzero(found.anchored).tolist() == [0]
    assert found.talk(Slush(10, 6), classes=2).undecided == 0


@pytest.mark.parametrize("attack", [*ATTACKS, "lies on all"])
def test_no_attack_makes_the_talk_cost_more_than_a_point(attack: str) -> None:
    """24 of 41 lie; what those who anchor decide is as right after the talk as before it, on average."""
    liar = Sleeper(target=40, share=1.0) if attack == "lies on all" else ATTACKS[attack].against(40)
    liars: dict[int, Adversary] = dict.fromkeys(range(24), liar)
    found = listeners(liars=liars)

    def right(**options: Any) -> float:
        outcome = found.talk(Slush(10, 6), liars, truth=TRUTH, classes=2, repeats=3, **options)
        return float((outcome.decisions[:, found.anchored] == TRUTH).mean())

    before = float((found.held[found.anchored] == TRUTH).mean())
    assert before > 0.95
    assert right() >= before - 0.01
    if attack in ("stalling", "equivocating", "sleeper", "lies on all"):  # which the guards are there for
        assert right(least_likeness=0.0, most_changed=1.0) < before - 0.1
    if attack == "sleeper":  # likeness alone does not do
        assert right(most_changed=1.0) < before - 0.1


def test_what_is_kept_is_not_settled() -> None:
    """Of 300 decisions three may change, the others stay; an input on which they differ is open."""
    liars: dict[int, Adversary] = {i: Sleeper(target=40) for i in range(24)}
    found = listeners(liars=liars)
    outcome = found.talk(Slush(10, 6), liars, truth=TRUTH, classes=2, repeats=2)
    held, after = found.held[found.anchored], outcome.decisions[:, found.anchored]
    changed = (held != after) & (held >= 0)
    assert changed.sum(axis=-1).max() == TRUTH.size // 100
    assert changed.any(axis=(1, 2)).all()
    apart = (after != after[:, :1]).any(axis=1)
    assert apart.any()
    assert not outcome.settled[apart].any()


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"anchors must hold one per participant \(41\): got 2"):
        listen_first(VOTES, [GOOD] * 2, classes=2)
    with pytest.raises(ValueError, match="the anchor must be of as many colours as the votes"):
        listen_first(VOTES, [GOOD] * N, classes=3)
