"""What a node may rely on, of whichever transport: one suite over memory and TLS."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from folkmoot.node.session.frames import MOST_BYTES
from support.node.halls import MemoryHall, MeshHall, TransportHall

N = 3


@pytest.fixture(params=["memory", "tls"])
def hall(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TransportHall]:
    made: TransportHall = MemoryHall(N) if request.param == "memory" else MeshHall(N, tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_every_frame_arrives_once_and_whole_and_from_who_sent_it(hall: TransportHall) -> None:
    rng = random.Random(0)
    sent = {
        (sender, peer): [rng.randbytes(rng.choice([1, 10, 1000, 70_000])) for _ in range(20)]
        for sender in range(N)
        for peer in range(N)
        if sender != peer
    }
    sent[0, 1].append(rng.randbytes(MOST_BYTES))

    def send() -> None:
        for (sender, peer), frames in sent.items():
            for frame in frames:
                hall.transports[sender].send(hall.peers[peer], frame)

    hall.do(send)
    hall.wait(lambda: sum(len(ear.frames) for ear in hall.ears) >= 121, "all have arrived")
    hall.rest(0.1)
    for peer, ear in enumerate(hall.ears):
        assert all(type(frame) is bytes for _, frame in ear.frames)
        for sender in range(N):
            heard = [frame for who, frame in ear.frames if who == hall.peers[sender]]
            assert sorted(heard) == sorted(sent.get((sender, peer), []))


def test_a_node_is_never_called_while_it_calls(hall: TransportHall) -> None:
    """Or a session would be changed while it is read."""
    calls: list[str] = []

    def all_at_once() -> None:
        transport = hall.transports[0]
        transport.send(hall.peers[1], b"x")
        transport.later(transport.now() - 1.0, lambda: calls.append("later"))
        transport.work(lambda: "result", calls.append)
        time.sleep(0.05)
        assert not calls
        assert not hall.ears[1].frames

    hall.do(all_at_once)
    hall.wait(lambda: len(calls) == 2 and bool(hall.ears[1].frames), "then it is called")
    assert sorted(calls) == ["later", "result"]


def test_a_node_is_called_in_one_thread(hall: TransportHall) -> None:
    threads: list[int] = []

    def begin() -> None:
        hall.transports[0].work(lambda: 0, lambda _: threads.append(threading.get_ident()))
        hall.transports[0].later(hall.transports[0].now(), lambda: threads.append(threading.get_ident()))
        hall.transports[1].send(hall.peers[0], b"x")

    hall.do(begin)
    hall.wait(lambda: len(threads) == 2 and bool(hall.ears[0].frames), "all three have come")
    assert {*threads, *hall.ears[0].threads} == {threading.get_ident()}


def test_timers_come_in_their_order_not_early_and_once(hall: TransportHall) -> None:
    transport = hall.transports[0]
    rung: list[tuple[float, float]] = []

    def begin() -> None:
        start = transport.now()
        for delay in (0.15, 0.05, 0.1):
            when = start + delay
            transport.later(when, lambda when=when: rung.append((when, transport.now())))  # type: ignore[misc]
        cancel = transport.later(start + 0.07, lambda: rung.append((0.0, 0.0)))
        cancel()
        cancel()  # does no harm

    hall.do(begin)
    hall.wait(lambda: len(rung) == 3, "all three")
    hall.rest(0.1)
    assert len(rung) == 3
    assert rung == sorted(rung)
    assert all(due <= now + 1e-3 for due, now in rung)  # an event loop rounds to its clock's tick


def test_clocks_go_forward_and_tell_the_time_since_1970(hall: TransportHall) -> None:
    transport = hall.transports[0]
    before, told = transport.now(), transport.clock()
    hall.rest(0.2)
    assert 0.19 <= transport.now() - before < 5.0
    assert transport.clock() - told == pytest.approx(transport.now() - before, abs=0.1)
    assert 1e9 <= told < 1e11


def test_jobs_are_done_one_after_the_other_and_hand_over_their_results(hall: TransportHall) -> None:
    results: list[int] = []
    running = most = 0

    def job(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.002)
        running -= 1
        return number

    def begin() -> None:
        for number in range(10):
            hall.transports[0].work(lambda number=number: job(number), results.append)  # type: ignore[misc]

    hall.do(begin)
    hall.wait(lambda: len(results) == 10, "all are done")
    assert results == list(range(10))
    assert most == 1


def test_what_is_not_the_model_s_does_not_wait_for_it(hall: TransportHall) -> None:
    results: list[str] = []
    hangs = threading.Event()

    def begin() -> None:
        transport = hall.transports[0]
        if isinstance(hall, MeshHall):  # in memory all is done at once
            transport.work(hangs.wait, lambda _: results.append("model"))
        transport.compute(lambda: "answer", results.append)

    hall.do(begin)
    hall.wait(lambda: results == ["answer"], "the model did not hold it up")
    hangs.set()


def test_taking_a_job_back_does_no_harm_whenever_it_is_done(hall: TransportHall) -> None:
    results: list[str] = []

    def begin() -> None:
        transport = hall.transports[0]
        transport.work(lambda: time.sleep(0.1), lambda _: results.append("long"))
        transport.work(lambda: results.append("was run"), lambda _: None)()
        cancels.append(transport.work(lambda: "short", results.append))

    cancels: list[object] = []
    hall.do(begin)
    hall.wait(lambda: "short" in results, "those that were not taken back are done")
    (cancel,) = cancels
    assert callable(cancel)
    hall.do(cancel)
    assert [each for each in results if each != "was run"] == ["long", "short"]


def test_sending_to_a_node_that_is_gone_neither_waits_nor_fails_and_it_may_come_back(
    hall: TransportHall,
) -> None:
    hall.leave(1)

    def send() -> None:
        for _ in range(3000):
            hall.transports[0].send(hall.peers[1], bytes(1000))

    hall.do(send)  # if each waited a second for the node, this would take most of an hour
    hall.do(lambda: hall.transports[0].send(hall.peers[2], b"others hear"))
    hall.wait(lambda: (hall.peers[0], b"others hear") in hall.ears[2].frames, "the others are not disturbed")
    hall.come_back(1)

    def call() -> bool:
        one, other = hall.peers[:2]
        hall.transports[0].send(other, b"again")
        hall.transports[1].send(one, b"here")
        return (one, b"again") in hall.ears[1].frames and (other, b"here") in hall.ears[0].frames

    hall.wait(call, "it hears and is heard")


def test_a_node_that_comes_back_and_the_others_reach_each_other(hall: TransportHall) -> None:
    hall.wait(
        lambda: all(
            {*ear.reached_peers} == {*hall.peers} - {hall.peers[i]} for i, ear in enumerate(hall.ears)
        ),
        "at first",
    )
    before = [len(ear.reached_peers) for ear in hall.ears]
    hall.leave(2)
    hall.come_back(2)
    hall.wait(lambda: {*hall.ears[2].reached_peers} == {*hall.peers[:2]}, "it reaches the others")
    for place in (0, 1):
        more = hall.ears[place].reached_peers
        hall.wait(lambda more=more, old=before[place]: hall.peers[2] in more[old:], "they reach it")  # type: ignore[misc]
