"""Work shared out over threads can be stopped, whichever thread the signal reaches."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from folkmoot.arrays import Array
from folkmoot.simulation.sharing import Piece, share


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals go to processes here")
def test_a_signal_that_reaches_another_thread_stops_the_work() -> None:
    """As with a GPU, whose driver has threads of its own; the handler runs in the main thread alone."""
    rounds: list[int] = []

    def play(halt: Array) -> None:
        time.sleep(0.3)  # until the main thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        until = time.monotonic() + 20
        while not halt[0] and time.monotonic() < until:
            time.sleep(0.05)
            rounds.append(1)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever came before this test
    try:
        with pytest.raises(KeyboardInterrupt):
            share([Piece(1, play)], 1, None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(rounds) < 200  # of 400, were it not told to stop


def test_an_error_of_a_piece_is_the_error_of_the_work() -> None:
    def play(halt: Array) -> None:
        raise ZeroDivisionError(f"{halt[0]}")

    with pytest.raises(ZeroDivisionError):
        share([Piece(1, play)], 2, None)


def test_short_pieces_go_to_a_thread_together_and_each_is_played_once() -> None:
    played: list[int] = []
    told: list[tuple[int, int]] = []
    whose: set[int] = set()

    def piece(number: int) -> Piece:
        def play(_halt: Array) -> None:
            whose.add(threading.get_ident())
            played.append(number)

        return Piece(1 + number % 3, play)

    pieces = [piece(number) for number in range(1000)]
    whole = sum(each.jobs for each in pieces)
    share(pieces, 2, lambda done, of: told.append((done, of)))
    assert sorted(played) == list(range(1000))
    assert told[-1] == (whole, whole)
    assert 8 <= len(told) <= 16  # not a thousand turns
    assert len(whose) <= 2
