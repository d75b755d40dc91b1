"""``compare``: every line by hand from the votes, or by the execution that it names."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import folkmoot
from folkmoot import Everyone, Slush, Snowball, StrongConfidence, deliberate
from folkmoot.adversaries import Copycat, PerfectlyMalicious, Silent
from folkmoot.comparison import OpenInputsWarning, Report, compare
from folkmoot.simulation.among import deliberate_among
from folkmoot.simulation.self_anchored import listen_first
from folkmoot.trust import Anchor, TrustWarning, split_gold
from folkmoot.votes import vote_keys
from support.oracles.ties import fair_accuracy

RNG = np.random.default_rng(3)
N, INPUTS = 15, 120
TRUTH = RNG.integers(0, 3, INPUTS)
SKILLS = RNG.uniform(0.45, 0.9, N)
VOTES = np.where(
    RNG.random((N, INPUTS)) < SKILLS[:, None], TRUTH, (TRUTH + RNG.integers(1, 3, (N, INPUTS))) % 3
)
VOTES[RNG.random((N, INPUTS)) < 0.05] = -1
SLUSH = Slush(5, 3)
ANCHORS = [Anchor.of_holdout(VOTES[i, :40], TRUTH[:40], 3) for i in range(N)]


def most_common(votes: Any, least: int = 0) -> list[int]:
    """The colour that most name, if it is the only one and has so many votes; else -1."""
    found = []
    for column in votes.T.tolist():
        (colour, times), *others = [*Counter(v for v in column if v >= 0).most_common(2), (-1, 0)]
        found.append(colour if times > others[0][1] and times >= least else -1)
    return found


def test_every_line_by_hand() -> None:
    liars = {2: PerfectlyMalicious(), 9: PerfectlyMalicious()}
    report = compare(VOTES, SLUSH, truth=TRUTH, adversaries=liars, skills=SKILLS, repeats=4, seed=8)
    seen = VOTES.copy()
    seen[[2, 9]] = np.where(VOTES[[2, 9]] < 0, -1, (TRUTH + 1) % 3)  # absent where it has no vote
    each = [(row == TRUTH)[row >= 0].mean() for i, row in enumerate(VOTES) if i not in liars]
    assert report.accuracy("mean participant") == pytest.approx(np.mean(each))
    assert report.accuracy("best participant") == max(each)
    for name, decision in (("majority", most_common(seen)), ("supermajority", most_common(seen, least=9))):
        line = report.line(name)
        assert line.decisions is not None
        assert line.decisions.tolist() == [decision]
        counted = fair_accuracy(seen, TRUTH) if name == "majority" else np.mean(np.array(decision) == TRUTH)
        assert line.accuracy == pytest.approx(float(counted))
        assert line.undecided == decision.count(-1)
    assert report.accuracy("majority") > np.mean(np.array(most_common(seen)) == TRUTH)  # there are ties
    odds = np.log(2 * SKILLS / (1 - SKILLS))
    score = np.stack([odds @ (seen == colour) for colour in range(3)])
    assert report.accuracy("weighted majority") == (score.argmax(axis=0) == TRUTH).mean()
    outcome = deliberate(VOTES, SLUSH, missing="absent", adversaries=liars, truth=TRUTH, repeats=4, seed=8)
    talk = report.line("consensus")
    np.testing.assert_array_equal(talk.decisions, outcome.decision)
    right = (outcome.decision == TRUTH).mean(axis=1)
    assert report.accuracy() == talk.accuracy == pytest.approx(right.mean())
    assert talk.standard_error == pytest.approx(right.std(ddof=1) / 2)
    assert talk.undecided == report.undecided == (outcome.decision == -1).sum() / 4
    assert (report.agreement, report.settled) == (outcome.agreement.mean(), outcome.settled.mean())
    assert report.queries == round(outcome.queries.mean())  # each about one input, as some are absent
    assert report.bytes == report.queries
    talked = compare(VOTES, SLUSH, missing="uncoloured", adversaries=liars, truth=TRUTH, repeats=4, seed=8)
    outcome = deliberate(
        VOTES, SLUSH, missing="uncoloured", adversaries=liars, truth=TRUTH, repeats=4, seed=8
    )
    np.testing.assert_array_equal(talked.outcome.decisions, outcome.decisions)
    assert talked.queries == round(outcome.rounds.max(axis=1).mean() * 13 * 5)
    assert talked.bytes == talked.queries * 30  # two bits a vote
    assert report.byzantine == ("participant 2", "participant 9")
    assert report.honest is not None
    assert (~report.honest).nonzero()[0].tolist() == [2, 9]
    assert report.anchored is None


def test_without_truth_there_are_answers_and_no_accuracies() -> None:
    report = compare(VOTES, SLUSH, repeats=2)
    names = [line.name for line in report.lines]
    assert names == ["majority", "supermajority", "weighted majority", "Dawid-Skene", "consensus"]
    assert all(line.accuracy is None and line.standard_error is None for line in report.lines)
    assert report.line("majority").undecided == most_common(VOTES).count(-1)
    assert "undecided inputs count as wrong" not in str(report)
    assert report.accuracy() is None
    assert sum(bar.get_height() for bar in report.plot().axes[0].patches) == 2 * INPUTS  # type: ignore[attr-defined]


def test_truth_of_some_inputs() -> None:
    some = np.where(np.arange(INPUTS) < 50, TRUTH, -1)
    report = compare(VOTES, SLUSH, truth=some, repeats=1, stacking=True)
    assert report.accuracy("majority") == pytest.approx(float(fair_accuracy(VOTES[:, :50], TRUTH[:50])))
    outcome = deliberate(VOTES, SLUSH, missing="absent")
    assert report.accuracy() == (outcome.decision[:50] == TRUTH[:50]).mean()
    assert report.line("consensus").standard_error is None
    stacking = report.line("stacking").decisions
    assert stacking is not None
    assert (stacking[0, 50:] == -1).all()
    assert (stacking[0, :50] >= 0).all()
    with pytest.raises(ValueError, match=r"participant 1 is PerfectlyMalicious, .* truth: truth\[50\] is -1"):
        compare(VOTES, SLUSH, truth=some, adversaries={1: PerfectlyMalicious()})


def test_a_label_may_be_right_though_nobody_voted_for_it() -> None:
    """Two of four inputs have label 2, which nobody names: there are three labels, and both are wrong."""
    votes, truth = np.array([[0, 1, 1, 0]] * 5), [0, 1, 2, 2]
    report = compare(votes, Slush(3, 2), truth=truth)
    assert report.classes == 3
    assert report.accuracy() == report.accuracy("majority") == 0.5
    liars = {0: PerfectlyMalicious()}
    told = compare(votes, Slush(3, 2), truth=truth, adversaries=liars, repeats=1).outcome
    outcome = deliberate(votes, Slush(3, 2), truth=truth, adversaries=liars)
    assert outcome.classes == 3
    np.testing.assert_array_equal(told.decisions, outcome.decisions)
    for talk in (compare, deliberate):
        with pytest.raises(ValueError, match=r"^truth\[2\] must satisfy (-1|0) <= class < 2: got 2$"):
            talk(votes, Slush(3, 2), truth=truth, classes=2)


def test_the_same_votes_give_the_same_answer_to_deliberate_and_compare() -> None:
    """Three of five voted, and three equal answers of four are needed: without the other two, of two."""
    sparse = [[1], [1], [0], [-1], [-1]]
    given: list[dict[str, Any]] = [{}, {"missing": "absent"}, {"missing": "uncoloured"}]
    for options in given:
        outcome = deliberate(sparse, Slush(4, 3), **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OpenInputsWarning)
            report = compare(sparse, Slush(4, 3), repeats=1, **options)
        assert outcome.decision.tolist() == report.outcome.decision.tolist()
        assert outcome.decision.tolist() == [-1 if options.get("missing") == "uncoloured" else 1]


def test_several_protocols_beside_each_other() -> None:
    talks: dict[str, Any] = {
        "Slush": SLUSH,
        "local": Slush(5, StrongConfidence(SKILLS)),
        "Snowball": Snowball(5, 3, 4),
    }
    report = compare(
        VOTES, talks, truth=TRUTH, rules=["majority"], repeats=3, seed=1, sampling=Everyone(), rounds=9
    )
    assert [line.name for line in report.lines][2:] == ["majority", *talks]
    for name, protocol in talks.items():
        outcome = deliberate(
            VOTES, protocol, missing="absent", repeats=3, seed=1, sampling=Everyone(), rounds=9
        )
        np.testing.assert_array_equal(report.line(name).decisions, outcome.decision)
        np.testing.assert_array_equal(report.outcomes[name].agreement, outcome.agreement)
    assert report.accuracy() == report.accuracy("Slush")
    assert report.notes[0].startswith("Slush: agreement")
    assert "Snowball: Snowball, k=5, alpha=3, beta=4" in report.title
    assert len(report.plot().axes[0].patches) == 6


def test_faulty_participants_are_not_waited_for() -> None:
    faults = {0: "out of memory", 7: "on holiday"}
    liars = {4: Copycat(target=11), 7: Copycat(target=11)}
    report = compare(VOTES, SLUSH, truth=TRUTH, faults=faults, adversaries=liars, repeats=2)
    there = [i for i in range(N) if i not in faults]
    outcome = deliberate_among(
        there, VOTES, SLUSH, missing="absent", adversaries={4: liars[4]}, truth=TRUTH, repeats=2
    )
    np.testing.assert_array_equal(report.outcome.decisions, outcome.decisions)
    assert (report.outcome.decisions[:, [0, 7]] == -1).all()
    assert report.faulty == {"participant 0": "out of memory", "participant 7": "on holiday"}
    assert report.byzantine == ("participant 4",)
    assert "faulty: 'participant 7': on holiday" in str(report)
    # A centre has the votes that they had cast before, and a copycat hands in its own.
    decisions = report.line("majority").decisions
    assert decisions is not None
    assert decisions.tolist() == [most_common(VOTES)]


def test_what_a_centre_sees_can_differ() -> None:
    told = VOTES.copy()
    told[:10] = 0
    report = compare(VOTES, SLUSH, truth=TRUTH, seen=told, adversaries={0: Silent()}, repeats=1)
    assert report.accuracy("majority") == (TRUTH == 0).mean()
    outcome = deliberate(VOTES, SLUSH, missing="absent", adversaries={0: Silent()})
    np.testing.assert_array_equal(report.outcome.decision, outcome.decision)


def test_by_trust() -> None:
    rest, right = VOTES[:, 40:], TRUTH[40:]
    liars: dict[int, Any] = {i: PerfectlyMalicious() for i in range(9)}
    options: dict[str, Any] = {"repeats": 3, "seed": 2, "classes": 3}
    report = compare(rest, SLUSH, truth=right, adversaries=liars, anchors=ANCHORS, keys=vote_keys, **options)
    listeners = listen_first(rest, ANCHORS, adversaries=liars, truth=right, classes=3)
    assert listeners is not None
    talk = listeners.talk(SLUSH, liars, truth=right, keys=vote_keys(listeners.held), **options)
    np.testing.assert_array_equal(report.outcome.decisions, talk.decisions)
    plain = deliberate(
        rest, SLUSH, missing="absent", adversaries=liars, truth=right, keys=vote_keys(rest), **options
    )
    assert report.accuracy("talk without trust") == plain.accuracy(right)
    np.testing.assert_array_equal(report.without_trust["consensus"].decisions, plain.decisions)
    assert report.anchored == listeners.anchored.sum() > 0
    assert f"trust: {report.anchored} of 6 honest participants anchor" in str(report)
    assert report.protocol.endswith(", self-anchored trust")
    several = compare(
        rest, {"Slush": SLUSH}, truth=right, adversaries=liars, anchors=ANCHORS, keys=vote_keys, **options
    )
    assert several.accuracy("Slush without trust") == plain.accuracy(right)
    assert several.accuracy() == report.accuracy()


def test_a_faulty_participant_does_not_anchor() -> None:
    report = compare(VOTES[:, 40:], SLUSH, anchors=ANCHORS, faults={3: "left"}, repeats=1, classes=3)
    assert report.listeners is not None
    assert not report.listeners.anchored[3]
    everybody = compare(VOTES[:, 40:], SLUSH, anchors=ANCHORS, repeats=1, classes=3)
    assert everybody.listeners is not None
    assert everybody.listeners.anchored[3]


def test_where_trust_cannot_be_learnt_the_talk_goes_on_without() -> None:
    with pytest.warns(TrustWarning, match="nobody can anchor its trust"):
        report = compare(VOTES, SLUSH, anchors=[None] * N, repeats=1)
    assert report.anchored == 0
    assert report.listeners is None
    assert report.without_trust == {}
    np.testing.assert_array_equal(
        report.outcome.decision, deliberate(VOTES, SLUSH, missing="absent").decision
    )


def test_nobody_knows_its_accuracy() -> None:
    report = compare(VOTES, SLUSH, truth=TRUTH, skills=np.full(N, np.nan), repeats=1)
    line = report.line("weighted majority")
    assert (line.accuracy, line.undecided, line.decisions) == (None, None, None)


def test_recorded() -> None:
    report = compare(VOTES, SLUSH, repeats=3, seed=4, record=True)
    assert report.recorded is not None
    expected = deliberate(VOTES, SLUSH, missing="absent", seed=4, record=True)
    np.testing.assert_array_equal(report.recorded.history, expected.history)
    assert compare(VOTES, SLUSH, repeats=1).recorded is None


def test_to_dict_is_plain() -> None:
    report = compare(VOTES, SLUSH, truth=TRUTH, names=[f"w{i}" for i in range(N)], faults={1: "x"}, repeats=2)
    found = json.loads(json.dumps(report.to_dict()))
    assert found["faulty"] == {"w1": "x"}
    assert set(found["lines"][-1]) == {
        "name", "accuracy", "standard_error", "undecided", "tied", "needs", "scores"
    }  # fmt: skip
    assert "outcomes" not in found
    assert report == compare(
        VOTES, SLUSH, truth=TRUTH, names=[f"w{i}" for i in range(N)], faults={1: "x"}, repeats=2
    )
    assert report != replace(report, rounds=0.0)


def test_it_is_public() -> None:
    assert folkmoot.compare is compare
    assert folkmoot.Report is Report


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"protocol": None}, TypeError, "Slush, Snowflake or Snowball, or several by name"),
        ({"protocol": {}}, TypeError, "protocol must be Slush"),
        ({"protocol": {"a": SLUSH, "b": 3}}, TypeError, "protocol must be Slush"),
        ({"protocol": {"majority": SLUSH}}, ValueError, "names that no other line has: got majority"),
        ({"protocol": Slush(15, 8)}, ValueError, "1 <= k <= n-1"),
        ({"truth": TRUTH[:-1]}, ValueError, r"one class per input \(120\): got shape \(119,\)"),
        ({"truth": TRUTH * 1.0}, TypeError, "truth must be integers"),
        ({"truth": TRUTH, "classes": 4, "votes": VOTES + 9}, ValueError, "must satisfy -1 <= class < 4"),
        ({"truth": TRUTH - 2}, ValueError, r"truth\[\d+\] must satisfy -1 <= class < 3: got -2"),
        ({"truth": np.full(INPUTS, -1)}, ValueError, "known .* at least one input"),
        ({"adversaries": {15: Silent()}}, ValueError, r"adversaries must name participants 0..14: got 15"),
        ({"adversaries": {1: PerfectlyMalicious()}}, ValueError, "must know the truth: give truth="),
        ({"faults": {-1: "gone"}}, ValueError, r"faults must name participants 0..14: got -1"),
        ({"faults": dict.fromkeys(range(14), "gone")}, ValueError, "at least two participants"),
        ({"anchors": ANCHORS[:3]}, ValueError, r"anchors must hold one per participant \(15\): got 3"),
        ({"skills": [0.5]}, ValueError, r"skills must hold one per participant \(15\): got 1"),
        ({"skills": [1.5] * N}, ValueError, "0 <= p <= 1: got 1.5"),
        ({"names": ["a"]}, ValueError, r"names must hold one per participant \(15\): got 1"),
        ({"seen": VOTES[:3]}, ValueError, r"seen must have the shape of votes \(15, 120\): got \(3, 120\)"),
        ({"rules": ["plurality"]}, ValueError, "rules must be among majority"),
        ({"stacking": True}, ValueError, "stacking learns from the truth"),
        ({"batch": "some"}, ValueError, "batch must be 'independent' or 'shared'"),
        ({"repeats": 0}, ValueError, "repeats >= 1"),
    ],
)  # fmt: skip
def test_bad_input(options: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"votes": VOTES, "protocol": SLUSH} | options
    with pytest.raises(error, match=message):
        compare(given.pop("votes"), given.pop("protocol"), **given)


def test_outcomes_know_what_colours_and_participants_are_called() -> None:
    labels, names = ["red", "green", "blue"], [f"site {i}" for i in range(N)]
    report = compare(
        VOTES, SLUSH, labels=labels, names=names, rounds=0, repeats=2, anchors=ANCHORS, record=True
    )
    said = [*report.outcomes.values(), *report.without_trust.values(), report.recorded]
    assert len(said) == 3
    for outcome in said:
        assert outcome is not None
        assert outcome.labels == labels
        assert outcome.names == tuple(names)
        expected = [None if colour < 0 else labels[colour] for colour in outcome.decision.ravel()]
        assert outcome.answers.ravel().tolist() == expected
    assert any(None in np.ravel(outcome.answers) for outcome in said if outcome is not None)
    assert compare(VOTES % 2, SLUSH, labels=labels).classes == 3
    assert compare(VOTES, SLUSH).outcome.names is None
    with pytest.raises(ValueError, match=r"labels must hold one per colour \(3\): got 2"):
        compare(VOTES, SLUSH, labels=labels[:2], classes=3)


def test_peer_review_needs_gold_and_is_named() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 120)
    votes = np.where(rng.random((15, 120)) < 0.75, truth, 1 - truth)
    votes[:9] = 1 - truth
    gold = split_gold(votes, np.where(np.arange(120) < 12, truth, -1), 2)
    report = compare(votes[:, 12:], Slush(10, 6), truth=truth[12:], anchors=gold, trust="peer-review")
    assert report.accuracy() == 1.0
    without = report.accuracy("talk without trust")
    assert without is not None
    assert without < 0.2
    assert report.protocol == "Slush, k=10, alpha=6, peer review"
    assert "15 of 15 honest participants anchor by gold" in str(report)
    for anchors in (None, gold.anchors):
        with pytest.raises(ValueError, match='"peer-review" needs gold: give anchors='):
            compare(votes[:, 12:], Slush(10, 6), anchors=anchors, trust="peer-review")
    with pytest.raises(ValueError, match="trust must be one of self-anchored, peer-review: got 'none'"):
        compare(votes[:, 12:], Slush(10, 6), anchors=gold, trust="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"gold must hold one per participant \(14\): got 15"):
        compare(votes[:14, 12:], Slush(10, 6), anchors=gold, trust="peer-review")
