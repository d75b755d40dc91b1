"""The rules of ballots, one by one, on cases made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot.federated import QuorumSet
from folkmoot.federated.agreement import Delegate, Statement
from folkmoot.federated.ballots import (
    COMMIT,
    COMMITTED,
    NONE,
    PREPARE,
    PREPARED,
    Ballots,
    preferred,
    wanted_by_first,
)

YES = np.ones((1, 1), dtype=np.bool_)


def one(**said: tuple[int, int]) -> Ballots:
    """One node that has said things of one input: ``commit=(1, 0)`` is a vote to commit (1, 0)."""
    ballots = Ballots.none(3, 1, 1)
    phases = {"prepare": PREPARE, "prepared": PREPARED, "commit": COMMIT, "committed": COMMITTED}
    for phase, (counter, label) in said.items():
        ballots.said[phases[phase], counter - 1, 0, 0] = label
    ballots.counter[:] = max((counter for counter, _ in said.values()), default=0)
    return ballots


def test_one_label_is_prepared_at_a_counter() -> None:
    ballots = one(prepared=(1, 0))
    assert not ballots.accept_prepared(1, 1, YES).any()
    assert ballots.accept_prepared(2, 1, YES).all()


def test_nothing_is_prepared_against_what_is_committed() -> None:
    ballots = one(committed=(2, 0))
    assert not ballots.accept_prepared(2, 1, YES).any()
    assert not ballots.accept_prepared(3, 1, YES).any()
    assert ballots.accept_prepared(1, 1, YES).all()  # an earlier ballot of another label may still be aborted


def test_nothing_is_committed_against_what_is_prepared_later() -> None:
    ballots = one(prepared=(2, 0))
    assert not ballots.accept_committed(1, 1, YES).any()
    assert not ballots.accept_committed(2, 1, YES).any()
    assert ballots.accept_committed(3, 1, YES).all()


def test_a_commit_is_voted_for_only_if_nothing_speaks_against_it() -> None:
    assert one(prepare=(1, 0), prepared=(1, 0)).vote_commit(1, 0, YES).all()
    assert not one(prepare=(1, 0)).vote_commit(1, 0, YES).any()  # it has not accepted it itself
    assert not one(prepare=(2, 1), prepared=(1, 0)).vote_commit(1, 0, YES).any()  # it has voted against it
    later = one(prepare=(1, 0), prepared=(1, 0))
    later.said[PREPARED, 1] = 1
    assert not later.vote_commit(1, 0, YES).any()


def test_a_node_is_locked_until_another_label_is_prepared_later() -> None:
    assert one(commit=(1, 1)).locked() == 1
    assert one(commit=(1, 1), prepared=(2, 1)).locked() == 1
    assert one(commit=(1, 1), prepared=(2, 0)).locked() == NONE
    assert one(committed=(2, 0), prepared=(1, 1)).locked() == 0
    ballots = one(commit=(1, 1))
    ballots.vote(2, np.zeros((1, 1)), YES)
    assert ballots.said[PREPARE, 1] == 1
    free = one(prepared=(1, 1))
    free.vote(2, np.zeros((1, 1)), YES)
    assert free.said[PREPARE, 1] == 0


def test_a_node_votes_once_a_counter_and_may_vote_late() -> None:
    ballots = one()
    ballots.vote(1, np.full((1, 1), NONE), YES)
    assert ballots.counter == 1
    assert ballots.said[PREPARE, 0] == NONE
    ballots.vote(1, np.ones((1, 1)), YES)
    ballots.vote(1, np.zeros((1, 1)), YES)
    assert ballots.said[PREPARE, 0] == 1


def test_who_has_decided_votes_no_more() -> None:
    ballots = one(prepare=(1, 0))
    assert ballots.decide(0, YES).all()
    assert not ballots.decide(1, YES).any()
    ballots.vote(2, np.ones((1, 1)), YES)
    assert ballots.counter == 1
    assert ballots.said[PREPARE, 1] == NONE


def test_more_says_less() -> None:
    ballots = one(commit=(2, 1))
    assert ballots.says("prepare", 2, 1).all()
    assert ballots.says("prepared", 2, 1).all()
    assert not ballots.says("committed", 2, 1).any()
    assert not ballots.says("prepare", 1, 1).any()
    assert ballots.votes_for(1).all()
    assert ballots.named() == [(2, 1)]


def test_preferred_takes_the_best_that_qualifies_then_ones_own_then_the_first() -> None:
    scores = np.array([3.0, 2.0, 2.0])[:, None, None]
    for qualified, own, expected in (
        ([1, 1, 1], 2, 0),
        ([0, 1, 1], 2, 2),
        ([0, 1, 1], 0, 1),
        ([0, 0, 0], 0, NONE),
    ):
        mask = np.array(qualified, dtype=np.bool_)[:, None, None]
        assert preferred(mask, scores, np.array([[own]], dtype=np.int8)) == expected


def test_the_first_node_goes_round_and_is_one_that_is_named() -> None:
    named = np.array([[True, False, True]])
    wanted = np.array([[0], [1], [2]], dtype=np.int8)
    assert [int(wanted_by_first(n, named, wanted)[0, 0]) for n in (2, 3, 4, 5)] == [0, 2, 2, 0]
    wanted[2] = NONE  # who wants nothing is passed over
    assert wanted_by_first(4, named, wanted) == 0


class TestDelegate:
    names = ("a", "b", "c", "d")
    sets = dict.fromkeys(names, QuorumSet(3, names))

    def nodes(self, votes: dict[str, list[int]]) -> dict[str, Delegate]:
        return {name: Delegate(name, self.sets, votes, classes=2) for name in self.names}

    def test_four_decide_in_five_turns_though_one_is_silent(self) -> None:
        nodes = self.nodes({"a": [0, 1, 0], "b": [0, 1, 1], "c": [0, 0, 1], "d": [1, 1, 1]})
        del nodes["d"]
        for turn in range(5):
            assert (nodes["a"].decided == NONE).all()
            said = {name: node.turn(due=turn == 0) for name, node in nodes.items()}
            for node in nodes.values():
                for name, statement in said.items():
                    node.hear(name, statement)
        for node in nodes.values():
            node.turn()
            assert node.decided.tolist() == [0, 1, 1]

    def test_a_label_needs_a_set_that_blocks(self) -> None:
        """Two of four block a set of three; one does not, so that its label is not voted for."""
        alone = self.nodes({"a": [0, 0], "b": [1, 0], "c": [1, 1], "d": [1, 1]})["a"].turn(due=True)
        assert alone.said[PREPARE, 0].tolist() == [1, 0]

    def test_statements_of_another_quorum_set_and_of_strangers_are_refused(self) -> None:
        node = self.nodes({name: [0] for name in self.names})["a"]
        fine = node.statement()
        other = Statement(QuorumSet(1, ["b"]).digest(), fine.said, fine.counter, fine.wanted)
        with pytest.raises(ValueError, match="another quorum set"):
            node.hear("b", other)
        with pytest.raises(ValueError, match="nobody counts it"):
            node.hear("x", fine)
        with pytest.raises(ValueError, match="4 phases"):
            node.hear("b", Statement(fine.quorum_set, fine.said[:3], fine.counter, fine.wanted))
        with pytest.raises(ValueError, match="-1 <= label < 2"):
            node.hear("b", Statement(fine.quorum_set, fine.said + 5, fine.counter, fine.wanted))

    def test_the_first_thing_said_counts_and_a_second_face_is_noted(self) -> None:
        node = self.nodes({name: [0] for name in self.names})["a"]
        fine = node.statement()
        said = fine.said.copy()
        said[PREPARE, 0] = 0
        node.hear("b", Statement(fine.quorum_set, said, fine.counter + 1, fine.wanted))
        said[PREPARE, 0] = 1
        node.hear("b", Statement(fine.quorum_set, said.copy(), fine.counter + 1, fine.wanted))
        assert node.two_faced == {"b"}
        assert node._heard.ballots.says("prepare", 1, 0)[1].all()
        assert not node._heard.ballots.says("prepare", 1, 1).any()

    def test_a_set_that_becomes_known_later_counts_from_then_on_and_is_fixed(self) -> None:
        votes = {name: [0] for name in self.names}
        known = Delegate("a", {**self.sets, "c": None}, votes, classes=2)
        others = self.nodes(votes)
        for turn in range(4):
            said = {name: others[name].turn(due=turn == 0) for name in ("b", "c")} | {
                "a": known.turn(due=turn == 0)
            }
            for name, statement in said.items():
                for node in (others["b"], others["c"]):
                    node.hear(name, statement)
                if name != "c":
                    known.hear(name, statement)
        assert known.turn().said[1:].max() == NONE, "a and b are no quorum of theirs"
        with pytest.raises(ValueError, match="another quorum set than it had"):
            known.hear("c", said["c"])
        known.learn("c", self.sets["c"])
        known.hear("c", said["c"])
        assert known.turn().said[1, 0].tolist() == [0], "three are"
        known.learn("c", QuorumSet(3, self.names))
        with pytest.raises(ValueError, match="another quorum set already"):
            known.learn("c", QuorumSet(1, ["c"]))
        with pytest.raises(ValueError, match="takes no part"):
            known.learn("x", self.sets["c"])

    def test_first_votes_that_come_later_make_labels_qualify(self) -> None:
        """One of four does not block a set of three; two do. What was known first stays."""
        votes = {"a": [0], "b": [NONE], "c": [NONE], "d": [NONE]}
        node = Delegate("a", self.sets, votes, classes=2)
        assert node.turn(due=True).said[PREPARE, 0].tolist() == [NONE]
        assert node.quiet.tolist() == [True]
        node.hear_first(np.array([[1], [0], [NONE], [NONE]], dtype=np.int8))
        assert node.turn().said[PREPARE, 0].tolist() == [0]
        assert node.quiet.tolist() == [False]

    def test_a_node_that_resumes_says_nothing_less_and_is_still_locked(self) -> None:
        nodes = self.nodes({"a": [0, 1], "b": [0, 1], "c": [0, 0], "d": [1, 1]})
        for turn in range(3):
            said = {name: node.turn(due=turn == 0) for name, node in nodes.items()}
            for node in nodes.values():
                for name, statement in said.items():
                    node.hear(name, statement)
        last = nodes["a"].turn()
        votes = {"a": [0, 1], "b": [NONE, NONE], "c": [NONE, NONE], "d": [NONE, NONE]}
        again = Delegate("a", self.sets, votes, classes=2)
        again.resume(last)
        for due in (False, True, True):
            after = again.turn(due)
            assert ((last.said == NONE) | (after.said == last.said)).all()
            assert (after.counter >= last.counter).all()
        assert (last.said[2, 0] != NONE).all(), "it had voted to commit"
        assert after.said[PREPARE, 1].tolist() == last.said[2, 0].tolist(), "so it votes for the same"
