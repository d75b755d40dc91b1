"""Whose questions the model is asked: on a virtual clock, which only the model moves."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from folkmoot.arrays import Array
from folkmoot.node.service.models import Model
from folkmoot.node.service.scheduling import GROWTH, SLICE, Answered, Question, Scheduler


class Thread:
    """A transport's clock and the thread of the model: one job after the other, and each as long as it is."""

    def __init__(self) -> None:
        self.time = 0.0
        self.jobs: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = deque()

    def now(self) -> float:
        return self.time

    def clock(self) -> float:
        return 1e9 + self.time

    def work(self, job: Callable[[], Any], done: Callable[[Any], None]) -> Callable[[], None]:
        self.jobs.append((job, done))
        return lambda: None

    def run(self, until: float = float("inf")) -> None:
        """Let time pass, until nothing is asked any more."""
        while self.jobs and self.time < until:
            job, done = self.jobs.popleft()
            done(job())


@dataclass(frozen=True)
class Said:
    votes: list[str | None]
    failed: int = 0
    reason: str = ""


@dataclass
class Scene:
    """A model that takes ``cost`` seconds a row, and who asked it what, when."""

    thread: Thread = field(default_factory=Thread)
    cost: float = 1e-3
    slices: list[tuple[bytes, bytes, int, float]] = field(default_factory=list)  # asker, motion, rows, start
    answered: dict[bytes, tuple[float, Answered[Said]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.model("odd or even"), self.thread)  # type: ignore[arg-type]

    def model(self, name: str) -> Model:
        def answer(X: Array) -> Array:
            self.thread.time += self.cost * len(X)
            return np.where(X[:, 0].astype(int) % 2, "odd", "even")

        return Model(name, answer, labels=["even", "odd"])

    def ask(self, asker: bytes, motion: bytes, rows: int, *, slower: float = 0.0) -> None:
        inputs = np.arange(rows)[:, None]

        def asked(model: Model, start: int, stop: int, _: Callable[[], bool]) -> Said:
            self.slices.append((asker, motion, stop - start, self.thread.time))
            self.thread.time += slower * (stop - start)
            return Said(model.predict(inputs[start:stop]))

        def done(found: Answered[Said]) -> None:
            assert motion not in self.answered
            self.answered[motion] = self.thread.time, found

        self.scheduler.ask(Question(motion, asker, rows, asked, done))


def test_what_a_slow_model_has_said_is_there_before_it_has_said_all() -> None:
    scene = Scene(cost=0.5)
    scene.ask(b"a", b"motion", 40)
    scene.thread.run(until=5.0)
    ((chunk, parts),) = scene.scheduler.so_far(b"motion").items()
    votes = [vote for part in parts for vote in part.votes]
    assert (chunk, votes) == (0, ["even", "odd"] * 5)
    assert scene.scheduler.so_far(b"another") == {}
    scene.thread.run()
    assert scene.scheduler.so_far(b"motion") == {}


@pytest.mark.parametrize("hostile", [1, 3])
def test_four_legal_motions_of_100_000_rows_do_not_silence_the_model(hostile: int) -> None:
    """An honest motion has its share, however many rows others have put before it, and ends in time."""
    scene, deadline = Scene(), 15.0
    for who in range(hostile):
        for motion in range(4):
            scene.ask(b"hostile %d" % who, b"%d %d" % (who, motion), 100_000)
    scene.ask(b"honest", b"wanted", 2000)
    scene.thread.run(until=deadline)
    when, found = scene.answered[b"wanted"]
    assert not found.trouble
    votes = [vote for part in found.parts for vote in part.votes]
    assert votes == ["even", "odd"] * 1000
    assert when < (hostile + 1) * (2000 * scene.cost + 8 * SLICE), "its share: 1 of those who ask"
    first_come = 2000 * scene.cost + hostile * 400_000 * scene.cost
    assert first_come > 20 * deadline, "the first come is served first, and it is silenced"


@pytest.mark.parametrize("seed", range(5))
def test_who_wants_more_than_it_gets_gets_as_much_as_others(seed: int) -> None:
    """Between any two moments at which two askers have something to ask: the same seconds, to some slices."""
    rng = random.Random(seed)
    scene = Scene()
    rows: defaultdict[bytes, int] = defaultdict(int)
    for number in range(60):
        asker = b"%d" % rng.randrange(4)
        many = rng.choice([1, 30, 2000])
        rows[b"%d" % number] = many
        scene.ask(asker, b"%d" % number, many, slower=rng.choice([0.0, 0.01]))
        scene.thread.run(until=scene.thread.time + rng.random())
    ends = {asker: scene.thread.time for asker, *_ in scene.slices}
    for asker in (b"0", b"1"):  # from here on both have more to ask than can be answered
        scene.ask(asker, b"last of " + asker, 100_000)
    began = scene.thread.time
    scene.thread.run(until=began + 300.0)
    had: defaultdict[bytes, float] = defaultdict(float)
    starts = [start for *_, start in scene.slices] + [scene.thread.time]
    for (asker, _, _, start), stop in zip(scene.slices, starts[1:], strict=True):
        if start >= max(began, *ends.values()) + 100.0:
            had[asker] += stop - start
    assert abs(had[b"0"] - had[b"1"]) < 3 * SLICE
    scene.thread.run()
    assert len(scene.answered) == 62
    for motion, many in rows.items():
        votes = [vote for part in scene.answered[motion][1].parts for vote in part.votes]
        assert votes == ["odd" if row % 2 else "even" for row in range(many)], "each row once, in order"


def test_slices_are_short_and_slow_rows_of_one_do_not_shorten_those_of_others() -> None:
    scene = Scene(cost=1e-5)
    scene.ask(b"slow", b"slow rows", 40, slower=0.05)
    scene.ask(b"quick", b"quick rows", 100_000)
    scene.thread.run()
    by = {b"slow": [0], b"quick": [0]}
    for asker, _, rows, _ in scene.slices:
        by[asker].append(rows)
    assert max(by[b"slow"]) <= GROWTH
    assert all(many <= max(1, GROWTH * before) for before, many in zip(by[b"quick"], by[b"quick"][1:]))  # noqa: B905
    assert 0.99 * SLICE / 1e-5 < max(by[b"quick"]) < 1.01 * SLICE / 1e-5
    assert len(by[b"quick"]) < 30


def test_who_asked_nothing_has_saved_up_nothing() -> None:
    scene = Scene()
    scene.ask(b"early", b"long", 1_000_000)
    scene.thread.run(until=500.0)
    scene.ask(b"late", b"another", 1_000_000)
    before = len(scene.slices)
    scene.thread.run(until=510.0)
    turns = [asker for asker, *_ in scene.slices[before + 10 :]]
    assert abs(turns.count(b"early") - turns.count(b"late")) <= 2


def test_of_one_asker_the_motion_with_the_fewest_rows_comes_first() -> None:
    scene = Scene()
    scene.ask(b"a", b"large", 5000)
    scene.ask(b"a", b"small", 10)
    scene.thread.run()
    assert scene.answered[b"small"][0] < 0.1
    assert scene.answered[b"large"][0] > 5.0


def test_nothing_is_asked_for_a_motion_that_is_over() -> None:
    scene = Scene()
    wanted: list[bool] = []

    def asked(model: Model, start: int, stop: int, is_wanted: Callable[[], bool]) -> Said:
        wanted.append(is_wanted())
        if start > 100:
            scene.scheduler.cancel(b"over")
        wanted.append(is_wanted())
        return Said(model.predict(np.zeros((stop - start, 1))))

    def never(_: object) -> None:
        raise AssertionError("it was cancelled")

    scene.scheduler.ask(Question(b"over", b"a", 5000, asked, never))
    scene.scheduler.work(b"a job", b"a", lambda: never(None), never)
    scene.scheduler.cancel(b"a job")
    scene.scheduler.cancel(b"another")
    scene.ask(b"b", b"goes on", 50)
    scene.thread.run()
    assert wanted[-2:] == [True, False]
    assert set(scene.answered) == {b"goes on"}
    status = scene.scheduler.status()
    assert (status.late, status.chunks, status.failed) == (1, 1, 0)


def test_a_model_that_is_loaded_anew_answers_from_the_next_slice_on() -> None:
    scene = Scene()
    scene.ask(b"a", b"motion", 2000)
    scene.thread.run(until=1.0)
    old = scene.scheduler.status()
    assert (old.model, old.loaded, old.labels) == ("odd or even", 1e9, ["even", "odd"])

    other = Model("always even", lambda X: np.full(len(X), "even"), labels=["even"])
    before = sum(rows for *_, rows, _ in scene.slices)
    scene.scheduler.swap(other)
    scene.thread.run()
    votes = [vote for part in scene.answered[b"motion"][1].parts for vote in part.votes]
    changed = next(row for row in range(1, 2000, 2) if votes[row] == "even")
    assert votes[:changed] == ["odd" if row % 2 else "even" for row in range(changed)]
    assert set(votes[changed:]) == {"even"}
    assert before <= changed <= before + SLICE / scene.cost + 1
    assert scene.scheduler.status().model == "always even"


def test_whatever_a_model_does_others_are_answered_and_it_is_counted() -> None:
    scene = Scene()
    heard: list[tuple[int, int, float]] = []

    class Ear:
        def motion_over(self, *_: object) -> None:
            raise AssertionError("no motion is over")

        def model_answered(self, rows: int, failed: int, seconds: float) -> None:
            heard.append((rows, failed, seconds))

    scene.scheduler = Scheduler(scene.model("m"), scene.thread, Ear())  # type: ignore[arg-type]

    def leaves(_: Model, start: int, *__: object) -> Said:
        scene.thread.time += 0.5
        if start:
            raise SystemExit("enough of this")
        return Said(["even"], failed=1, reason="its model failed on 1 input")

    found: list[Answered[Said]] = []
    scene.scheduler.ask(Question(b"bad", b"a", 7, leaves, found.append))
    scene.thread.run()
    assert scene.scheduler.status().trouble == "SystemExit: enough of this"
    assert (len(found[0].parts), found[0].trouble, found[0].seconds) == (1, "SystemExit: enough of this", 1.0)
    scene.ask(b"a", b"good", 3)
    results: list[Answered[Any]] = []
    scene.scheduler.work(b"good", b"a", lambda: 41 + 1, results.append)
    scene.thread.run()
    assert results[0].parts == [42]
    status = scene.scheduler.status()
    assert (status.chunks, status.failed, status.late, status.trouble) == (2, 1, 0, "")
    assert status.slowest == 1.0
    assert status.seconds == pytest.approx(1.0 + 3 * scene.cost)
    assert [(rows, failed) for rows, failed, _ in heard] == [(7, 7), (3, 0)]
    assert sum(seconds for *_, seconds in heard) == pytest.approx(status.seconds)
