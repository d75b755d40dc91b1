"""Work in pieces, shared out over threads: common to all kernels, with progress and a way to stop.

A kernel cuts its work as suits it. A piece cannot be interrupted but by ``halt``, an array of one byte that
kernels look at between rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from folkmoot.arrays import Array, Progress

# Jobs in a piece at most: progress should move, and Ctrl-C should not have to wait.
LARGEST = 4096
_LOOK = 0.2  # seconds after which Ctrl-C is looked for


class Piece(NamedTuple):
    """A piece of work: how many jobs it is, and a function of ``halt`` that does it."""

    jobs: int
    play: Callable[[Array], object]


def by_jobs(play: Callable[[int, int, Array], object], jobs: int, threads: int) -> list[Piece]:
    """Pieces of jobs that can be played each by itself: ``play(first, last, halt)``."""
    size = _size(jobs, threads)

    def piece(first: int, last: int) -> Piece:
        return Piece(last - first, lambda halt: play(first, last, halt))

    return [piece(start, min(start + size, jobs)) for start in range(0, jobs, size)]


def _size(jobs: int, threads: int) -> int:
    """The number of jobs that a thread takes at once, large enough that sharing them out costs little."""
    return min(-(-jobs // (threads * 8)), LARGEST)


def _bundles(pieces: Sequence[Piece], size: int) -> Iterator[list[Piece]]:
    """Neighbouring pieces, together at least so many jobs: a short one is less work than handing it out."""
    bundle: list[Piece] = []
    jobs = 0
    for piece in pieces:
        bundle.append(piece)
        jobs += piece.jobs
        if jobs >= size:
            yield bundle
            bundle, jobs = [], 0
    if bundle:
        yield bundle


def share(pieces: Sequence[Piece], threads: int, progress: Progress | None) -> None:
    """Do the pieces on so many threads. The kernels let go of the interpreter, so Ctrl-C gets through."""
    halt = np.zeros(1, dtype=np.uint8)  # not 0: kernels under way stop

    def do(bundle: Sequence[Piece]) -> int:
        for piece in bundle:
            if not halt[0]:
                piece.play(halt)
        return sum(piece.jobs for piece in bundle)

    done, whole = 0, sum(piece.jobs for piece in pieces)
    pool = ThreadPoolExecutor(threads)
    try:
        for future in [pool.submit(do, bundle) for bundle in _bundles(pieces, _size(whole, threads))]:
            # A signal may reach another thread, such as a driver's: we see it only if we run now and then.
            while not wait([future], timeout=_LOOK).done:
                pass
            done += future.result()
            if progress:
                progress(done, whole)
    except BaseException:
        halt[0] = 1
        raise
    finally:
        pool.shutdown(cancel_futures=True)
