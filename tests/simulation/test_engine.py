"""Properties of ``deliberate`` that hold bit for bit, and what it refuses."""

from __future__ import annotations

import signal
from functools import partial
from typing import Any

import networkx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import folkmoot
from folkmoot import Everyone, Neighbours, Others, Slush, Snowball, Snowflake
from folkmoot.adversaries import ConstantClass, Silent
from folkmoot.adversaries.behaviours import Copycat, Equivocating, RandomClass, Stalling
from folkmoot.adversaries.interface import Adversary
from folkmoot.simulation.setting import Setting
from support.outcomes import assert_bits_depend_on_the_seed_alone, same
from support.process import interrupted

# Participants without a vote ask and are asked, as in the paper.
deliberate = partial(folkmoot.deliberate, missing="present")

Votes = npt.NDArray[np.int64]
EXACT_KERNELS: list[dict[str, Any]] = [
    {},
    {"record": True},
    {"batch": "shared"},
    {"batch": "shared", "record": True},
]
KERNELS = [*EXACT_KERNELS, {"schedule": "lockstep"}, {"schedule": "lockstep", "record": True}]


@st.composite
def votes_of_two_colours(draw: st.DrawFn) -> Votes:
    n, inputs = draw(st.integers(5, 24)), draw(st.sampled_from([1, 3, 63, 64, 65]))
    seed = draw(st.integers(0, 10**6))
    return (np.random.default_rng(seed).random((n, inputs)) < draw(st.floats(0.2, 0.8))).astype(np.int64)


@pytest.mark.parametrize("options", KERNELS, ids=str)
@pytest.mark.parametrize(
    "protocol", [Slush(4, 3), Snowflake(4, 3, 5), Snowball(4, 3, 5)], ids=lambda p: type(p).__name__
)
def test_same_seed_same_bits_whatever_the_threads(protocol: Any, options: dict[str, Any]) -> None:
    assert_bits_depend_on_the_seed_alone(protocol, options)


@settings(max_examples=30)
@given(votes_of_two_colours(), st.sampled_from(EXACT_KERNELS), st.integers(0, 1000))
def test_relabelling_the_colours_relabels_the_outcome(
    votes: Votes, options: dict[str, Any], seed: int
) -> None:
    protocol = Slush(3, 2)
    one = deliberate(votes, protocol, seed=seed, rounds=4, **options)
    other = deliberate(1 - votes, protocol, seed=seed, rounds=4, **options)
    assert np.array_equal(one.decisions, 1 - other.decisions)
    assert np.array_equal(one.rounds, other.rounds)


def test_relabelling_three_colours_relabels_the_outcome() -> None:
    votes = np.random.default_rng(0).integers(0, 3, (12, 100))
    names = np.array([2, 0, 1])
    rule = Slush(5, 3, weights=[1.0] * 12)  # for the explicit kernel; others draw who wins by its number
    one = deliberate(votes, rule, classes=3)
    other = deliberate(names[votes], rule, classes=3)
    held = one.decisions >= 0
    assert np.array_equal(names[one.decisions[held]], other.decisions[held])


@settings(max_examples=30)
@given(votes_of_two_colours(), st.sampled_from(KERNELS), st.data())
def test_an_input_does_not_depend_on_its_neighbours_in_the_batch(
    votes: Votes, options: dict[str, Any], data: st.DataObject
) -> None:
    """A batch is its inputs, stacked: change all others, or cut them off, and this one stays as it is."""
    protocol = Slush(3, 2)
    i = data.draw(st.integers(0, votes.shape[1] - 1))
    changed = 1 - votes
    changed[:, i] = votes[:, i]
    whole, alone, cut = (
        deliberate(x, protocol, rounds=3, **options) for x in (votes, changed, votes[:, : i + 1])
    )
    for other in (alone, cut):
        assert np.array_equal(whole.decisions[:, i], other.decisions[:, i])
        assert whole.converged[i] == other.converged[i]
        assert whole.rounds[i] == other.rounds[i]


@pytest.mark.parametrize("inputs", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("alpha", [6, [6, 7, 8] * 7])
@pytest.mark.parametrize(
    "liars", [{}, {3: ConstantClass(1), 20: ConstantClass(0)}, {0: Silent(), 9: Silent()}]
)
def test_bit_sliced_is_the_explicit_kernel_bit_for_bit(inputs: int, alpha: Any, liars: Any) -> None:
    votes = np.random.default_rng(inputs).integers(0, 2, (21, inputs))
    options = {"adversaries": liars, "rounds": 6, "batch": "shared", "repeats": 2, "seed": 4}
    graph = Neighbours(networkx.circulant_graph(21, [1, 2, 3, 4, 5, 6]))
    for sampling in (Others(), Everyone(), graph):
        fast = deliberate(votes, Slush(10, alpha), permute=False, sampling=sampling, **options)
        slow = deliberate(votes, Slush(10, alpha), permute=False, record=True, sampling=sampling, **options)
        assert np.array_equal(fast.decisions, slow.decisions)
        assert np.array_equal(fast.converged, slow.converged)
        assert np.array_equal(fast.queries, slow.queries)


@pytest.mark.parametrize("options", KERNELS, ids=str)
@pytest.mark.parametrize(
    "protocol", [Slush(4, 3), Snowflake(4, 3, 3), Snowball(4, 3, 3)], ids=lambda p: type(p).__name__
)
def test_a_unanimous_vote_is_a_fixed_point_and_the_uncoloured_join_it(
    protocol: Any, options: dict[str, Any]
) -> None:
    for colour in (0, 1):
        votes = np.full((12, 40), colour)
        assert (deliberate(votes, protocol, **options).decisions == colour).all()
        votes[:4] = -1  # adding uncoloured participants never flips it
        outcome = deliberate(votes, protocol, rounds=200, **options)
        assert (outcome.decision == colour).all()
        assert set(np.unique(outcome.decisions)) <= {-1, colour}


@pytest.mark.parametrize("options", [{}, {"record": True}, {"schedule": "lockstep"}], ids=str)
@pytest.mark.parametrize("special", ["plain", "weights", "graph"])
def test_participants_keep_their_numbers(special: str, options: dict[str, Any]) -> None:
    """Numbering the participants otherwise changes nothing but the order of the rows.

    Adversaries anywhere in the list; thresholds, weights, neighbours and decisions must follow. Compared:
    how often each participant ends blue, 4,000 inputs, within 5 standard errors.
    """
    n, inputs = 9, 4000
    column = np.array([0, 0, 1, 0, 0, 1, 1, 0, 1])
    alphas = np.array([2, 2, 3, 2, 2, 3, 2, 3, 2])
    weights = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 0.2, 1.0])
    graph = networkx.to_numpy_array(networkx.circulant_graph(n, [1, 2, 4]), nodelist=range(n))
    graph[0, 3] = graph[5, 8] = 1  # two one-way streets
    liars: dict[int, Any] = {0: Silent(), 4: ConstantClass(1), 7: ConstantClass(0)}

    def blue(order: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.float64]:
        place = np.argsort(order)
        extra: Any = {"weights": weights[order]} if special == "weights" else {}
        sampling = Neighbours(graph[np.ix_(order, order)]) if special == "graph" else Others()
        outcome = deliberate(
            np.repeat(column[order][:, None], inputs, axis=1),
            Slush(3, alphas[order], **extra),
            adversaries={int(place[i]): liar for i, liar in liars.items()},
            sampling=sampling,
            rounds=2,
            seed=seed,
            **options,
        )
        return np.asarray((outcome.decisions[place] == 1).mean(axis=1))

    straight = blue(np.arange(n), 1)
    shuffled = blue(np.array([5, 8, 0, 3, 7, 1, 4, 2, 6]), 2)
    assert np.abs(straight - shuffled).max() < 5 * np.sqrt(2 * 0.25 / inputs)
    assert (straight[[0, 4, 7]] == 0).all()
    assert (shuffled[[0, 4, 7]] == 0).all()
    assert len(np.unique(np.round(straight[[1, 2, 3, 5, 6, 8]], 2))) > 2  # the test could tell them apart


def test_equivocation_goes_by_the_number_of_the_asker() -> None:
    # All liars: everybody hears its own number modulo two from eight of nine.
    votes = np.full((10, 1), -1)
    liars = {i: Equivocating() for i in (0, 1, 2, 5, 6, 7, 8, 9)}
    outcome = deliberate(votes, Slush(4, 4), adversaries=liars, rounds=60)
    assert outcome.decisions[[3, 4], 0].tolist() == [1, 0]


def test_a_copycat_follows_the_participant_it_names() -> None:
    votes = np.zeros((8, 1), dtype=np.int64)
    votes[5] = 1
    copies = {i: Copycat(target=5) for i in (0, 1, 2, 3, 4)}
    stubborn = [4] * 8
    outcome = deliberate(votes, Slush(4, stubborn), adversaries=copies, rounds=200, seed=1)
    assert outcome.decisions[5:, 0].tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="Copycat must follow an honest participant: target=1"):
        deliberate(votes, Slush(4, 3), adversaries={0: Copycat(1), 1: Copycat(5)})


def test_explain_tells_every_change() -> None:
    votes = np.random.default_rng(3).integers(0, 3, (15, 20))
    for protocol in (Slush(5, 3), Snowball(5, 3, 4)):
        outcome = deliberate(
            votes, protocol, record=True, rounds=30, adversaries={4: RandomClass()}, repeats=2
        )
        for i in range(20):
            colours = votes[:, i].copy()
            for change in outcome.turns(i).changes:
                assert colours[change.participant] == change.before != change.after
                if isinstance(protocol, Slush):
                    assert change.tally[change.after] >= 3
                colours[change.participant] = change.after
            assert np.array_equal(colours[outcome.honest], outcome.decisions[0][outcome.honest, i])
            last = max((change.round for change in outcome.turns(i).changes), default=0)
            assert last <= outcome.rounds[0, i]


def test_history_counts_the_honest() -> None:
    votes = np.random.default_rng(3).integers(0, 2, (15, 20))
    outcome = deliberate(votes, Slush(5, 3), record=True, rounds=9, adversaries={0: Silent(), 7: Stalling()})
    assert outcome.history is not None
    assert outcome.history.shape == (20, 10, 2)
    assert (outcome.history.sum(axis=2) == 13).all()
    honest = np.delete(votes, [0, 7], axis=0)
    assert np.array_equal(outcome.history[:, 0, 1], honest.sum(axis=0))
    assert np.array_equal(outcome.history[:, -1], outcome.counts)


def test_queries_and_rounds_are_what_was_asked() -> None:
    votes = np.array([[0], [1], [0], [1]])
    outcome = deliberate(votes, Slush(3, 3), rounds=7)  # nobody can ever hear three equal others
    assert outcome.rounds.tolist() == [7]
    assert outcome.queries == 7 * 4 * 3
    assert outcome.decision.tolist() == [-1]  # a tie, and visible
    assert outcome.undecided == 1
    assert not outcome.converged[0]
    for record in (False, True):
        batch = deliberate(np.repeat(votes, 70, axis=1), Slush(3, 3), rounds=7, batch="shared", record=record)
        assert batch.queries == 7 * 4 * 3  # one query carries all inputs
    assert deliberate(votes, Slush(3, 3), rounds=0).queries == 0


def test_stalling_keeps_the_network_split_where_nothing_else_does() -> None:
    votes = np.zeros((31, 200), dtype=np.int64)
    votes[:13] = 1
    liars = range(26, 31)
    stalled = deliberate(votes, Slush(10, 7), adversaries={i: Stalling() for i in liars}, rounds=100)
    silent = deliberate(votes, Slush(10, 7), adversaries={i: Silent() for i in liars}, rounds=100)
    assert silent.converged.mean() > 0.99
    assert stalled.agreement.mean() < silent.agreement.mean()


@pytest.mark.parametrize(
    "protocol", [Snowflake(10, 6, 70), Snowball(10, 6, 70)], ids=lambda p: type(p).__name__
)
def test_a_large_beta_is_still_a_beta(protocol: Any) -> None:
    votes = np.random.default_rng(0).integers(0, 2, (41, 60))
    options: dict[str, Any] = {"adversaries": {i: ConstantClass(0) for i in range(6)}, "rounds": 120}
    one, two, seven = (deliberate(votes, protocol, threads=threads, **options) for threads in (1, 2, 7))
    assert same(one, two)
    assert same(one, seven)
    assert (one.rounds >= 70).all()  # nobody can have decided earlier
    short = deliberate(votes, protocol, **options | {"rounds": 40})
    assert not short.converged.any()


def test_snowball_with_many_colours() -> None:
    votes = np.random.default_rng(0).integers(0, 6, (30, 40))
    votes[:12] = 3
    outcome = deliberate(votes, Snowball(10, 6, 10), rounds=100)
    assert (outcome.decision == 3).mean() > 0.9


@pytest.mark.parametrize(
    "protocol", [Slush(11, 6), Snowflake(11, 6, 5), Snowball(11, 6, 5)], ids=lambda p: type(p).__name__
)
@pytest.mark.parametrize("sampling", [Everyone(), Others()], ids=str)
def test_colours_are_alike_in_the_table_kernel(protocol: Any, sampling: Any) -> None:
    """With odd k and the least alpha some colour always wins: chances add up to one, and must not wrap."""
    votes = np.zeros((102, 3000), dtype=np.int64)
    votes[:51] = 1
    votes[0, :1500] = votes[51, 1500:] = -1  # one uncoloured on either side: not the plain kernel
    outcome = deliberate(votes, protocol, sampling=sampling, rounds=3)
    red, blue = outcome.counts[:1500].mean(axis=0)
    blue_too, red_too = outcome.counts[1500:].mean(axis=0)
    error = 5 * outcome.counts.std() / np.sqrt(1500)
    assert abs(red - blue_too) < 2 * error
    assert abs(blue - red_too) < 2 * error
    slow = deliberate(votes, protocol, sampling=sampling, rounds=3, record=True)
    assert np.abs(outcome.counts[:1500].mean(axis=0) - slow.counts[:1500].mean(axis=0)).max() < 2 * error


@pytest.mark.parametrize("threads", [1, 2])
def test_a_talk_of_years_can_be_interrupted(threads: int) -> None:
    code = (
        "import numpy as np, folkmoot\n"
        "votes = np.arange(16)[:, None] % 2 * np.ones((1, 3), dtype=int)\n"  # nobody hears 15 equal answers
        f"folkmoot.deliberate(votes, folkmoot.Slush(15, 15), rounds=10**9, threads={threads})"
    )
    ended, _, complaint = interrupted(code, inside="folkmoot/simulation/")
    assert ended == -signal.SIGINT
    assert complaint.splitlines()[-1] == "KeyboardInterrupt"


def test_a_copycat_cannot_keep_a_unanimous_network_open() -> None:
    votes = np.ones((9, 3), dtype=np.int64)
    outcome = deliberate(votes, Slush(3, 2), adversaries={i: Copycat(target=8) for i in range(4)})
    assert outcome.converged.all()
    assert (outcome.rounds == 0).all()


def test_weights_of_any_size_are_ratios() -> None:
    votes = np.array([[0], [0], [0], [0], [1]]).repeat(50, axis=1)
    small, huge = (deliberate(votes, Slush(3, 2, weights=[w] * 5), rounds=3) for w in (1.0, 1e308))
    assert np.array_equal(small.decisions, huge.decisions)


@pytest.mark.parametrize("options", [{}, {"record": True}, {"batch": "shared"}], ids=str)
def test_an_adversary_that_names_no_colour_is_refused(options: dict[str, Any]) -> None:
    class Nonsense(Adversary):
        def answer(self, seen: int, *, vote: int, truth: int, classes: int) -> int:  # noqa: ARG002
            return 5

    with pytest.raises(ValueError, match=r"must answer a class in -1\.\.1: got 5"):
        deliberate(np.zeros((6, 2), dtype=np.int64), Slush(3, 2), adversaries={0: Nonsense()}, **options)


def test_many_silent_adversaries_need_little_memory() -> None:
    n, f = 20_000, 2_000
    votes = np.ones((n, 1), dtype=np.int64)
    setting = Setting.checked(
        votes, Slush(10, 6), {i: Silent() for i in range(f)}, None, Others(), "one", 5, None
    )
    assert setting.malicious.answers.nbytes <= 2 * f


def test_progress_reaches_the_end() -> None:
    for options in EXACT_KERNELS:
        seen: list[tuple[int, int]] = []

        def note(done: int, whole: int, into: list[tuple[int, int]] = seen) -> None:
            into.append((done, whole))

        deliberate(np.zeros((12, 130), dtype=np.int64), Slush(3, 2), repeats=3, progress=note, **options)
        assert seen[-1] == (390, 390)
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
