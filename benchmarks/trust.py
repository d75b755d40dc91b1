"""How fast trust is learnt: seconds a participant, and agreements counted in bits against a matrix product.

    python benchmarks/trust.py [--json]

101 participants, 4,741 inputs; seconds of processor time, on one thread. Nothing has to be downloaded: votes
are made up, of accuracies about 0.65. The time depends on how many camps there are: real models err together
(forests of FEMNIST's writers are some 28 camps), those that err independently are as many as participants.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from folkmoot.adversaries import colluding_votes
from folkmoot.trust import Anchor, agreement_counts, check_answers, listen, listen_all, pack_votes, review_all
from folkmoot.votes import Votes
from timing import best_of, report

PARTICIPANTS, INPUTS, LIARS, CAMPS = 101, 4741, 60, 28
TARGET = 0.05  # seconds a participant
CHECKED, REVIEW_TARGET = 5000, 1.0  # rows; seconds a participant


def made_up(together: float) -> Votes:
    """Votes by a score: the truth, what a camp shares (a weight of ``together``), and noise of one's own."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, INPUTS)
    camp = rng.normal(size=(CAMPS, INPUTS))[rng.integers(0, CAMPS, PARTICIPANTS)]
    noise = together**0.5 * camp + (1 - together) ** 0.5 * rng.normal(size=(PARTICIPANTS, INPUTS))
    return np.where(0.4 * (2 * truth - 1) + noise > 0, 1, 0)


def measure() -> dict[str, object]:
    together, apart = made_up(0.4), made_up(0.0)
    lied = together.copy()
    lied[-LIARS:] = colluding_votes(INPUTS, 2, seed=1)
    anchor = Anchor.of_counts(8, 10)
    results: dict[str, object] = {}

    def add(name: str, seconds: float, votes: Votes) -> None:
        results[name] = {
            "seconds": round(seconds, 4), "target": TARGET, "reached": seconds <= TARGET,
            "camps": len(np.unique(listen(0, votes, anchor).camps)),
        }  # fmt: skip

    def alone(votes: Votes) -> float:
        return best_of(7, lambda: listen(0, votes, anchor), process_time)

    with threadpool_limits(1):
        add("listen, nobody lies", alone(together), together)
        add(f"listen, a clique of {LIARS}", alone(lied), lied)
        ten = [anchor if i < 10 else None for i in range(PARTICIPANTS)]
        add(
            "listen_all, a participant",
            best_of(3, lambda: listen_all(together, ten), process_time) / 10,
            together,
        )
        add("listen, all err independently", alone(apart), apart)

        packed, ones = pack_votes(together, 2), together.astype(np.float64)

        def product() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
            return np.asarray(ones @ ones.T + (1 - ones) @ (1 - ones).T)

        if not np.array_equal(agreement_counts(packed), product()):
            raise RuntimeError("bits and floats count different agreements")
        bits = best_of(20, lambda: agreement_counts(packed))
        results["packing the votes, seconds"] = round(best_of(5, lambda: pack_votes(together, 2)), 5)
        results["agreements of all pairs, in bits, seconds"] = round(bits, 5)
        results["times faster than matrix products of floats"] = round(best_of(20, product) / bits, 1)
        results[f"peer review of {CHECKED:,} checked rows, ten colours, a participant"] = reviewed()
    return results


def reviewed() -> dict[str, object]:
    """Ten participants of 101 learn from checked rows, each with publishers of its own to turn away."""
    rng = np.random.default_rng(1)
    truth, publisher = rng.integers(0, 10, CHECKED), np.arange(CHECKED) % PARTICIPANTS
    wrong = (truth + rng.integers(1, 10, (PARTICIPANTS, CHECKED))) % 10
    votes = np.where(rng.random((PARTICIPANTS, CHECKED)) < 0.4, truth, wrong)
    claims = np.where(publisher < 20, rng.integers(0, 10, CHECKED), truth)
    judges = list(range(91, 101))

    def once() -> None:  # checked answers anew, so that nothing is known from before
        review_all(check_answers(votes, claims, publisher, classes=10), judges=judges)

    seconds = best_of(2, once, process_time) / len(judges)
    return {"seconds": round(seconds, 4), "target": REVIEW_TARGET, "reached": seconds <= REVIEW_TARGET}


if __name__ == "__main__":
    report(measure, __doc__)
