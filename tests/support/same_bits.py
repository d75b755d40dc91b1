"""What is promised to be the same on every processor, computed and printed as digests by name.

PYTHONPATH=tests python -m support.same_bits
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import numba
import numpy as np
from llvmlite import binding

from folkmoot import Everyone, Neighbours, Others, Slush, Snowball, Snowflake, aggregate, deliberate
from folkmoot.adversaries import FarAway, PerfectlyMalicious
from folkmoot.adversaries.behaviours import RandomClass
from folkmoot.adversaries.interface import numbers_handed_in
from folkmoot.aggregation import GeometricMedian
from folkmoot.aggregation.naming import RULES
from folkmoot.node.answer import answer_of, digest_of
from folkmoot.node.ballots import Numbers, Probabilities, levels_of, on_grid
from folkmoot.node.review import ballots_of
from folkmoot.node.session.header import Header, motion_of
from folkmoot.node.session.terms import RULES as RULES_OF_A_NODE
from folkmoot.node.session.terms import STEP, Terms
from folkmoot.outlook import FBA, Hierarchy, Leaders, QuorumSet
from folkmoot.simulation.setting import chance_rows, in_units
from folkmoot.simulation.sweeping import sweep

N = 41
_NUMBA: Any = numba.config


def main(motions: int | None = None) -> None:
    """Print them, with what shows which kind of floating point this process has.

    With ``motions`` only what a node signs, of so many motions by each rule.
    """
    told = promised() if motions is None else node(motions)
    found = {name: sha256(data).hexdigest()[:16] for name, data in (*told, *not_promised())}
    found["compiled for"] = str(_NUMBA.CPU_NAME or binding.get_host_cpu_name())
    print(json.dumps(found))


def promised() -> Iterator[tuple[str, bytes]]:
    """By name."""
    yield from tables()
    yield from talks()
    yield from numbers()
    yield from node()


def not_promised() -> Iterator[tuple[str, bytes]]:
    """What differs between kinds of floating point, and says so."""
    x = np.linspace(-3.0, 3.0, 4001)
    yield "exp", np.exp(x).tobytes()
    yield "log", np.log(x + 4).tobytes()
    yield "product", (x[:4000].reshape(50, 80) @ x[:4000].reshape(80, 50)).tobytes()


def tables() -> Iterator[tuple[str, bytes]]:
    """The chances by which talks on the complete graph are drawn."""
    for n, k in ((7, 3), (41, 10), (101, 20), (300, 299), (20_001, 10)):
        levels = np.arange(k // 2 + 1, k + 1)[:5]
        for law in (Others(), Everyone()):
            yield f"chances, {law}, {n}, {k}", chance_rows(law, n, k, levels).tobytes()
    yield "accuracies", in_units(np.linspace(0.0, 1.0, 1001)).tobytes()


def talks() -> Iterator[tuple[str, bytes]]:
    """Decisions, rounds and queries of every kernel."""
    rng = np.random.default_rng(1)
    two, three = (rng.integers(0, colours, (N, 150)) for colours in (2, 3))
    gaps = np.where(rng.random(three.shape) < 0.2, -1, three)
    weights = rng.random(N) + 0.5
    ring = [[(i + step) % N for step in (1, 2, 3, 5, 8, 13)] for i in range(N)]
    graph = np.zeros((N, N), dtype=np.int64)
    for i, row in enumerate(ring):
        graph[i, row] = graph[row, i] = 1
    local = rng.integers(4, 8, N).tolist()
    names = [f"node {i}" for i in range(N)]
    teams = [list(range(first, N, 6)) for first in range(6)]
    liars: Any = {0: PerfectlyMalicious(), 1: RandomClass(), 2: PerfectlyMalicious()}
    kinds: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "flip": (two, Slush(7, 5), {}),
        "flip, local": (two, Slush(7, local), {"adversaries": {0: PerfectlyMalicious()}}),
        "table": (three, Slush(7, 4), {"sampling": Everyone()}),
        "table, Snowflake": (gaps, Snowflake(7, 5, 3), {"schedule": "lockstep"}),
        "table, Snowball": (gaps, Snowball(7, 4, 5), {"adversaries": liars}),
        "absent": (gaps, Slush(5, 3), {"missing": "absent"}),
        "explicit": (three, Slush(7, 4), {"record": True, "adversaries": liars}),
        "weights": (three, Slush(7, 4, weights=weights.tolist()), {}),
        "graph": (three, Slush(4, 3), {"sampling": Neighbours(graph)}),
        "bit-sliced": (two, Slush(7, 4), {"batch": "shared"}),
        "shared": (three, Snowball(7, 4, 5), {"batch": "shared"}),
        "leaders": (three, Leaders(7, 4), {}),
        "teams": (three, Hierarchy(teams, inner=Slush(4, 3), outer=Slush(4, 3)), {}),
        "quorum sets": (three, FBA(dict.fromkeys(names, QuorumSet(25, names))), {}),
    }
    for name, (votes, protocol, options) in kinds.items():
        truth = np.zeros(votes.shape[1], dtype=np.int64)
        done = deliberate(votes, protocol, truth=truth, seed=5, rounds=20, repeats=2, threads=1, **options)
        yield (
            name,
            b"".join(
                np.ascontiguousarray(each).tobytes()
                for each in (done.decisions, done.converged, done.rounds, done.queries)
            ),
        )
    swept = sweep(
        rng.random((3, N)), Slush(7, 4), byzantine=2, repeats=50, rounds=20, threads=1, keep="decisions"
    )
    assert swept.decisions is not None
    yield "sweep", np.ascontiguousarray(swept.decisions).tobytes()


def numbers() -> Iterator[tuple[str, bytes]]:
    """Numbers with a liar among them, by every rule."""
    values = np.random.default_rng(2).normal(size=(13, 60, 3))
    for name, rule in RULES.items():
        outputs = 1 if rule is GeometricMedian else 3  # of several it solves linear equations
        sent = numbers_handed_in(values[:, :, :outputs], {0: FarAway()})
        yield f"aggregate, {name}", np.asarray(aggregate(sent, rule()).decision).tobytes()


def node(motions: int = 8) -> Iterator[tuple[str, bytes]]:
    """The results that members sign of so many motions decided by every public rule, and of final votes."""
    for answers, rules in RULES_OF_A_NODE.items():
        if answers == "text":  # no number is computed for these
            continue
        for rule in (*rules, "own"):
            signed = [_signed(answers, rule, np.random.default_rng([3, seed])) for seed in range(motions)]
            yield f"a node's {rule} of {answers}", b"".join(signed)


def _signed(answers: Any, rule: str, rng: np.random.Generator) -> bytes:
    """The result of one motion: members are often wrong, so that rules differ, and may not answer."""
    n, inputs, classes = int(rng.integers(4, 20)), int(rng.integers(1, 60)), int(rng.integers(2, 7))
    coin = answers != "numbers" and bool(rng.integers(2))
    labels = tuple("abcdefg"[:classes]) if answers != "numbers" else ()
    weights = tuple(rng.integers(1, 1000, n).tolist()) if rule == "weighted" else ()
    own = rule == "own"
    terms = Terms(answers, labels, "" if own else rule, weights, coin=coin, believe="own" if own else "all")
    terms.check(n)
    header = Header(bytes(32), 0, rng.bytes(16), 0.0, terms, inputs)
    tables = []
    for poll in range(terms.polls):
        form = ballots_of(header, poll)
        if isinstance(form, Numbers):
            table = on_grid(rng.normal(size=(n, inputs)), STEP)
        elif isinstance(form, Probabilities):
            table = np.stack([levels_of(each) for each in rng.random((n, inputs, classes)) ** 3])
        else:
            right = rng.random((n, inputs)) < rng.random((n, 1))
            table = np.where(right, rng.integers(0, classes, inputs), rng.integers(-1, classes, (n, inputs)))
        tables.append({member: form.pack(table[member]) for member in range(n) if rng.random() < 0.95})
    answer = answer_of(header, tables, rng.bytes(32), n, (n - 1) // 3)
    return digest_of(motion_of(header.encoded()), answer)


if __name__ == "__main__":
    main()
