"""Whole nodes in one process: what is asked at one is decided by all, whatever happens on the way."""

from __future__ import annotations

import errno
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from folkmoot.node.certificate import verify
from folkmoot.node.service.context import Own, Settings
from folkmoot.node.service.holdout import Holdout, LabelledRows
from folkmoot.node.service.interface import RefusedError
from folkmoot.node.service.models import Model
from folkmoot.node.service.policy import Policy
from folkmoot.node.wire.schema import align
from support.node.moot import Moot, model

X = np.arange(12.0).reshape(6, 2)
LABELS = ("no", "yes")
NAMES = {"y": "yes", "n": "no", "m": "maybe"}


def voter(said: str, labels: tuple[str, ...] | None = None) -> Model:
    """A model that answers the six inputs so: the first letters of labels; it fails on others."""
    return model(lambda rows: [NAMES[said[int(row[0]) // 2]] for row in rows], labels)


def most(answers: list[str], least: int) -> list[str | None]:
    """What the plurality decides, counted by hand."""
    decided: list[str | None] = []
    for column in zip(*answers, strict=True):
        (label, many), *others = Counter(column).most_common()
        tied = bool(others) and others[0][1] == many
        decided.append(None if tied or many < least else NAMES[label])
    return decided


ANSWERS = ["yyynnn", "yynnyn", "ynynnn", "nyyynn", "yynnyy", "yynnnn", "nnyynn"]


@pytest.mark.parametrize("n", [4, 5, 7])
def test_all_decide_what_most_voted_and_anybody_can_verify_it(n: int) -> None:
    moot = Moot([voter(said) for said in ANSWERS[:n]])
    accounts = moot.play(moot.put(1, X, labels=LABELS))
    assert accounts[0].decisions == most(ANSWERS[:n], (n - 1) // 3 + 1)
    for storage in moot.storages:
        stored = storage.motion(bytes.fromhex(accounts[0].motion))
        assert stored.certificate is not None
        assert verify(stored.certificate, moot.roster).answer == stored.answer


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("far", [0, 1])  # the asker, another
def test_one_member_far_away_costs_nine_delays_at_the_most(
    delay: float, far: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    moot = Moot([voter(said) for said in ANSWERS[:5]])
    network = moot.network

    def carry(sender: bytes, peer: bytes, frame: bytes) -> None:
        late = delay if moot.peers[far] in (sender, peer) else 0.0
        network.at(network.time + late, lambda: network._deliver(sender, peer, frame))

    monkeypatch.setattr(network, "carry", carry)
    moot.run(1.0)
    name = moot.put(0, X, labels=LABELS)
    network.run(network.time + 9 * delay)
    assert moot.decided(name)
    account = moot.account(0, name)
    assert (account.silent, account.withheld) == ([], [])


def test_a_silent_member_holds_nobody_up_beyond_the_window() -> None:
    moot = Moot([voter(said) for said in ANSWERS[:4]])
    moot.crash(2)
    account = moot.play(moot.put(0, X, labels=LABELS, seconds=20.0))[0]
    assert account.silent == ["node002"]
    there = [ANSWERS[i] for i in (0, 1, 3)]
    assert account.decisions == most(there, 2)


def test_nobody_waits_for_a_member_that_refuses() -> None:
    """Its policy is against the motion: it says so to the asker, who tells all."""
    moot = Moot([voter(said) for said in ANSWERS[:4]])
    moot.crash(2)
    moot.settings[2] = replace(moot.settings[2], policy=Policy(most_inputs=3))
    moot.start(2)
    moot.run(1.0)
    began = moot.network.time
    name = moot.put(0, X, labels=LABELS, seconds=60.0)
    account = moot.play(name, 10.0, but=[2])[0]
    assert moot.network.time - began < 5.0 < 60.0 / 4  # the window
    assert "at the most" in account.refused["node002"]
    assert not moot.storages[2].knows(name)


def test_a_member_that_fails_on_some_inputs_votes_on_the_others() -> None:
    def some(rows: Any) -> list[str]:
        if (rows[:, 0] == 4.0).any():
            raise ArithmeticError("secret")
        return ["yes"] * len(rows)

    moot = Moot([voter("yyyyyy"), voter("nnnnnn"), model(some), voter("yyyyyy")])
    account = moot.play(moot.put(0, X, labels=LABELS))[0]
    assert account.decisions == ["yes"] * 6
    assert [votes["yes"] for votes in account.first_votes] == [3, 3, 2, 3, 3, 3]
    assert account.abstained == {"node002": "its model failed on 1 input"}
    assert account.refused == {}
    node = moot.nodes[2]
    assert node is not None
    assert (node.status().model.failed, "secret" in node.status().model.trouble) == (1, False)


def test_labels_are_those_of_all_members_and_a_model_votes_where_it_can() -> None:
    """The asker's model knows no "maybe": the decision is not what it happens to know instead."""
    knowing = [("no", "yes"), ("no", "yes", "maybe"), ("maybe", "no", "yes"), ("maybe", "yes")]
    answers = ["ynnnnn", "mnnnnn", "mnnnnn", "myyyyy"]
    moot = Moot([voter(said, labels) for said, labels in zip(answers, knowing, strict=True)])
    moot.run(0.5)
    account = moot.play(moot.put(0, X))[0]
    assert account.labels == ["no", "yes", "maybe"]
    assert account.decisions == ["maybe", *["no"] * 5]


def test_a_member_cannot_make_the_default_labels_too_many() -> None:
    many = tuple(f"junk{i:05}" for i in range(4000))
    moot = Moot([voter("yyyyyy", LABELS), voter("yyyyyy", LABELS), voter("yyyyyy", LABELS), voter("y", many)])
    moot.run(0.5)
    account = moot.play(moot.put(0, X))[0]
    assert len(account.labels) == Policy().most_labels
    assert account.decisions == ["yes"] * 6


class Chances:
    """A model that gives probabilities."""

    def __init__(self, yes: float) -> None:
        self.yes = yes

    def predict(self, rows: Any) -> list[str]:
        """The likelier label."""
        return ["yes" if self.yes > 0.5 else "no"] * len(rows)

    def chances(self, rows: Any) -> Any:
        """The same for each row."""
        return np.tile([1 - self.yes, self.yes], (len(rows), 1))


def of_chances(yes: float) -> Model:
    """A model of ``Chances``."""
    found = Chances(yes)
    return Model("test:chances", found.predict, labels=LABELS, chances=found.chances)


@pytest.mark.parametrize("rule", ["mean", "log"])
def test_probabilities_are_pooled(rule: str) -> None:
    """Three say .6, one .05: trimmed by one on both sides, "yes" leads, although the plain mean says "no"."""
    moot = Moot([of_chances(yes) for yes in (0.6, 0.6, 0.6, 0.05)])
    account = moot.play(moot.put(0, X, answers="probabilities", rule=rule))[0]
    assert account.decisions == ["yes"] * 6


def constant(value: float) -> Model:
    """A model that always gives this number."""
    return model(lambda rows: [value] * len(rows))


@pytest.mark.parametrize(("rule", "expected"), [("trimmed-mean", 2.5), ("median", 2.5)])
def test_numbers_are_aggregated_robustly(rule: str, expected: float) -> None:
    moot = Moot([constant(value) for value in (2.0, 1e6, 3.0, 1.0)])
    account = moot.play(moot.put(0, X, answers="numbers", rule=rule, step=0.5))[0]
    assert account.decisions == [expected] * 6


@pytest.mark.parametrize("rule", ["dawid-skene", "weighted"])
def test_every_rule_of_labels_is_played(rule: str) -> None:
    """Without truths the weights fall back to equal ones, and the account says so."""
    moot = Moot([voter(said) for said in ("yyyyyy", "yyyyyy", "yyyyyn", "nnnnnn")])
    account = moot.play(moot.put(0, X, labels=LABELS, rule=rule))[0]
    assert account.decisions[:5] == ["yes"] * 5
    assert ("weigh the same" in account.fell_back) == (rule == "weighted")


def test_weights_of_a_file_count() -> None:
    owns = [Own(voter(said)) for said in ("yyyyyy", "nnnnnn", "nnnnnn", "yyyyyy", "nnnnnn")]
    moot = Moot(owns)
    weights = dict(
        zip((member.fingerprint for member in moot.roster), (5.0, 1.0, 1.0, 1.0, 1.0), strict=True)
    )
    moot.crash(0)
    moot.owns[0] = Own(owns[0].model, weights=weights)
    moot.start(0)
    account = moot.play(moot.put(0, X, labels=LABELS, rule="weighted"))[0]
    assert account.decisions == ["yes"] * 6
    assert account.fell_back == ""


# Stops and starts


@pytest.mark.parametrize("after", [0.005, 0.03, 0.06, 0.1, 0.2, 0.5])
@pytest.mark.parametrize("who", [0, 2])
def test_a_node_that_is_started_again_goes_on_from_its_journal(after: float, who: int) -> None:
    moot = Moot([voter(said) for said in ANSWERS[:5]], seed=round(1000 * after))
    moot.run(0.2)
    name = moot.put(0, X, labels=LABELS, seconds=8.0)
    moot.network.run(moot.network.time + after)
    moot.crash(who)
    moot.run(1.0)
    moot.start(who)
    accounts = moot.play(name, 40.0)
    assert not any(each.evidence for each in accounts)


def test_an_asker_that_is_started_again_still_has_its_inputs_and_what_waited() -> None:
    moot = Moot([voter(said) for said in ANSWERS[:5]])
    moot.run(0.2)
    names = [moot.put(0, X, labels=LABELS, seconds=10.0) for _ in range(6)]
    moot.crash(0)  # before anybody has fetched an input
    moot.run(0.5)
    node = moot.start(0)
    assert node.status().waiting == 2
    for name in names:
        accounts = moot.play(name, 60.0)
        assert accounts[0].decisions == most(ANSWERS[:5], 2)
        assert (accounts[0].abstained, accounts[0].silent) == ({}, [])
    assert not moot.storages[0].asked.names()


def test_all_nodes_stop_at_once_and_go_on() -> None:
    moot = Moot([voter(said) for said in ANSWERS[:4]])
    moot.run(0.2)
    name = moot.put(0, X, labels=LABELS, seconds=8.0)
    moot.network.run(moot.network.time + 0.04)
    for i in range(4):
        moot.crash(i)
    for i in range(4):
        moot.start(i)
    assert not any(each.evidence for each in moot.play(name, 60.0))


def test_the_deadline_ends_the_asker_waiting_and_not_the_agreement() -> None:
    moot = Moot([voter(said) for said in ANSWERS[:4]])
    moot.run(0.2)
    name = moot.put(0, X, labels=LABELS, seconds=4.0)
    moot.network.run(moot.network.time + 0.03)
    moot.network.divide(moot.peers[:2], moot.peers[2:])
    moot.run(10.0)
    node = moot.nodes[0]
    assert node is not None
    assert node.live(name) is None
    assert moot.account(0, name).state == "open"
    moot.network.divide()
    moot.play(name, 60.0)


def test_who_was_away_learns_of_a_decision_long_after_it() -> None:
    """Its peers read the motion again from their journals."""
    moot = Moot([voter(said) for said in ANSWERS[:4]])
    moot.run(0.2)
    name = moot.put(0, X, labels=LABELS, seconds=6.0)
    moot.network.run(moot.network.time + 0.03)
    moot.crash(3)
    moot.play(name, 30.0)
    moot.run(200.0)
    node = moot.nodes[0]
    assert node is not None
    assert not node._running
    moot.start(3)
    moot.play(name, 30.0)


def test_what_nobody_could_finish_is_given_up_when_it_may_be_forgotten() -> None:
    """Up to then a quorum could still come together again."""
    moot = Moot([voter(said) for said in ANSWERS[:4]])
    for i in (1, 2, 3):
        moot.crash(i)
    name = moot.put(0, X, labels=LABELS, seconds=5.0)
    moot.network.run(5.0 + 7100.0)
    assert moot.account(0, name).state == "open"
    moot.network.run(5.0 + 7300.0)
    account = moot.account(0, name)
    assert (account.state, account.undecided) == ("stopped", 6)
    assert "too old" in account.why


def test_observers_are_told_of_a_motion_from_its_opening_to_its_end() -> None:
    moot = Moot([voter(said) for said in ANSWERS[:4]])
    moot.run(0.2)
    node = moot.nodes[0]
    assert node is not None
    phases: list[str] = []

    def look(motion: bytes | None) -> None:
        if motion is not None:
            live = node.live(motion)
            phases.append("over" if live is None else live.phase)

    node.observe(look)
    name = moot.put(0, X, labels=LABELS)
    opening = node.opening(name)
    assert (opening["asker"], opening["inputs"], opening["terms"]["labels"]) == ("node000", 6, LABELS)
    moot.play(name)
    assert list(dict.fromkeys(phases)) == [
        "making first votes", "agreeing on who voted", "agreeing on first votes", "over",
    ]  # fmt: skip
    counts = node.counts()
    undecided = most(ANSWERS[:4], 2).count(None)
    assert (counts["motions_over"], counts["inputs_undecided"]) == (1, undecided)


# Final votes


def holdout(right: int, rows: int) -> Holdout:
    """So many rows answered right."""
    return Holdout([("yes", "yes" if i < right else "no") for i in range(rows)])


def test_each_casts_a_final_vote_by_what_it_believes() -> None:
    """Two models that are right by their holdouts beat three that answer otherwise."""
    good, bad = Own(voter("yyyyyy", LABELS), holdout(40, 40)), Own(voter("nnnnnn", LABELS))
    moot = Moot([good, good, good, good, bad])
    account = moot.play(moot.put(0, X, labels=LABELS, believe="own"))[0]
    assert account.decisions == ["yes"] * 6
    assert [votes["yes"] for votes in account.final_votes] >= [4] * 6
    assert set(account.weights) == {member.name for member in moot.roster}


@pytest.mark.parametrize("protocol", ["slush", "snowflake", "snowball"])
def test_members_talk_before_their_final_votes(protocol: str) -> None:
    moot = Moot(
        [voter(said) for said in ("yyyyyy", "yyyyyy", "yyyyyn", "nnnnnn", "yyyyyy", "yyyyyy", "nyyyyy")]
    )
    name = moot.put(0, X, labels=LABELS, protocol=protocol, k=4, alpha=3, rounds=10, beta=3, seconds=30.0)
    account = moot.play(name)[0]
    assert account.decisions == ["yes"] * 6
    assert account.rounds > 0
    rounds = moot.storages[0].motion(name).part.rounds
    assert all(len(each.asked) == 4 and set(each.heard) <= set(each.asked) for each in rounds)


def shower(i: int, right: bool) -> Own:
    """A node with labelled rows of its own: the label is whether the first number is above 50."""

    def answer(rows: Any) -> list[str]:
        told = rows[:, 0] > 50
        return ["yes" if each == right else "no" for each in told.tolist()]

    rows = np.random.default_rng(i).uniform(0, 100, (30, 2))
    labels = ["yes" if row[0] > 50 else "no" for row in rows]
    return Own(
        model(answer, LABELS),
        Holdout(
            zip(labels, answer(rows), strict=True),
            LabelledRows(rows, labels, lambda schema, columns: align((), schema, columns)),
        ),
    )


def reviewing(moot: Moot) -> bytes:
    """A motion by peer review: three of five models always say the contrary."""
    return moot.put(
        0, np.array([[90.0, 1.0], [10.0, 2.0]]), labels=LABELS, believe="own", rows=6, seconds=60.0
    )


def test_peer_review_finds_whom_to_believe_by_rows_that_nobody_can_tell_from_inputs() -> None:
    settings = Settings(policy=Policy(validation_rows=6))
    moot = Moot([shower(i, right=i < 3) for i in range(4)], settings=settings)
    moot.run(0.2)
    name = reviewing(moot)
    account = moot.play(name)[0]
    assert account.decisions == ["yes", "no"]
    assert account.rows == {f"node00{i}": 6 for i in range(4)}
    assert account.weights["node003"] < min(account.weights[f"node00{i}"] for i in range(3))
    invitation = moot.storages[1].motion(name).header.shown
    stored = moot.storages[1].motion(invitation)
    assert stored.state == "decided"
    assert moot.storages[1].shown(moot.owns[1].holdout.rows.digest) == 6  # type: ignore[union-attr]


def test_rows_are_shown_once_and_an_invitation_is_answered_once_also_after_a_restart() -> None:
    settings = Settings(policy=Policy(validation_rows=10))
    moot = Moot([shower(i, right=True) for i in range(4)], settings=settings)
    moot.run(0.2)
    seen: set[int] = set()
    for _ in range(2):
        name = reviewing(moot)
        moot.play(name)
        shown = moot.storages[1].motion(moot.storages[1].motion(name).header.shown).part.shown
        assert len(shown) == 6
        assert not seen & set(shown)
        seen |= set(shown)
        moot.crash(1)
        moot.start(1)
        moot.run(0.2)
    assert not any(moot.account(i, name).evidence for i in range(4))


def test_an_invitation_in_vain_is_told() -> None:
    moot = Moot([voter(said) for said in ANSWERS[:4]])
    moot.run(0.2)
    with pytest.raises(RefusedError, match="nobody showed validation rows"):
        moot.put(0, X, labels=LABELS, believe="own", rows=3)


# What is asked here


def test_motions_beyond_the_allowed_number_wait_for_their_place() -> None:
    moot = Moot([voter(said) for said in ANSWERS[:4]])
    moot.run(0.2)
    node = moot.nodes[0]
    assert node is not None
    names = [moot.put(0, X, labels=LABELS, seconds=10.0 + i) for i in range(9)]
    status = node.status()
    assert status.own_motions == (4, 4)
    assert status.waiting == 5
    live = node.live(names[8])
    assert live is not None
    assert live.phase == "waiting"
    assert node.opening(names[8])["seconds"] == 18.0
    assert node.find(names[8].hex()[:8]) == names[8]
    for name in names:
        moot.play(name)
    assert node.status().waiting == 0


def test_inputs_that_the_own_model_cannot_read_are_refused_before_anything_is_sent() -> None:
    def two(rows: Any) -> list[str]:
        return [["no", "yes"][int(row @ np.array([1.0, 1.0])) % 2] for row in rows]

    declared = Model("test:two", two, labels=LABELS, columns=2)
    moot = Moot([declared, model(two), voter("yyyyyy"), voter("yyyyyy")])
    moot.run(0.5)
    for i in (0, 1):
        frames = moot.network.frames
        with pytest.raises(ValueError, match="model"):
            moot.put(i, np.ones((3, 3)), labels=LABELS)
        moot.run(0.5)
        assert moot.network.frames == frames
    with pytest.raises(ValueError, match=r"labels must be given, .* with answers=numbers"):
        Moot([model(two)] * 4).put(0, X)


def test_a_model_is_loaded_again_without_a_restart() -> None:
    moot = Moot([voter("yyyyyy", LABELS)] * 4)
    moot.run(0.5)
    node = moot.nodes[0]
    assert node is not None
    moot.owns[0] = Own(voter("nnnnnn", ("maybe", "no")))
    facts = moot.done(node.reload())
    assert facts.labels == ["maybe", "no"]
    moot.run(0.5)
    other = moot.nodes[1]
    assert other is not None
    assert "maybe" in other.status().labels
    account = moot.play(moot.put(0, X, labels=LABELS))[0]
    assert [votes["no"] for votes in account.first_votes] == [1] * 6

    def gone() -> Own:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "model.skops")

    node._load = gone
    with pytest.raises(ValueError, match=r"the model cannot be loaded: model\.skops: No such file"):
        moot.done(node.reload())
    assert node.facts().labels == ["maybe", "no"]
