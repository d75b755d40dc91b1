"""A whole moot about numbers on one machine: real processes with regressors, real sockets, real faults.

What it comes to is put beside what ``agree`` makes of the same first numbers, and beside a centre's mean and
median of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot import checks
from folkmoot.aggregation import Mean, Median, Rule, TrimmedMean
from folkmoot.arrays import Array, Floats, PartProgress
from folkmoot.network import Account, Terms
from folkmoot.network.storage.account import find, outcome_of
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.runs.processes import (
    Nodes,
    ask_while_some_fail,
    check_members,
    check_shown_rows,
    name_of,
    prepare,
)
from folkmoot.simulation import agree
from folkmoot.testing.liars import PLAYABLE_IN_NUMBERS
from folkmoot.testing.node import number_attack_called

MOST_INPUTS = 142  # of the 442 patients; the others are shared out
UNIT = "disease progression after a year, 25 to 346"


@dataclass(frozen=True)
class LocalNumbers:
    """How many take part, what goes wrong, and what is asked."""

    nodes: int = 25
    byzantine: int = 0
    attack: str = "far-away"
    kill: int = 0
    pause: int = 0
    inputs: int = 100
    rounds: int = 50
    deadline: float = 30.0
    tol: float = 1.0
    check_rows: int = 0  # that each shows: then it is by peer review, and without it beside

    def check(self) -> None:
        """ValueError, with what is wrong."""
        check_members(
            self.nodes,
            50,
            byzantine=self.byzantine,
            kill=self.kill,
            pause=self.pause,
            note=" with --regression",
        )
        if self.attack not in PLAYABLE_IN_NUMBERS:
            raise ValueError(
                f"--attack must be one that a node can play with --regression, "
                f"{', '.join(PLAYABLE_IN_NUMBERS)}: got {self.attack!r}"
            )
        if not 1 <= checks.integer("inputs", self.inputs) <= MOST_INPUTS:
            raise checks.ArgumentError(
                f"{{inputs}} must satisfy 1 <= inputs <= {MOST_INPUTS}, the patients set aside: "
                "got {inputs=}",
                inputs=self.inputs,
            )
        check_shown_rows(self.check_rows)
        Terms(regression=True, tol=self.tol)


@dataclass(frozen=True, eq=False)
class LocalNumbersResult:
    """What a local moot about numbers came to; errors are root mean squares, in the unit of the numbers."""

    config: LocalNumbers
    account: Account
    error: float | None  # of the claims; None if there are none
    lines: dict[str, float]  # what others make of the same first numbers, on the inputs that were claimed
    apart: float  # how far two claims of honest nodes on one input differ, at most: never above tol
    byzantine: list[str]
    killed: list[str]
    paused: list[str]
    seconds: float
    without_review: float | None = None  # with peer review: the error of a motion without it, among the same


def play_numbers(
    config: LocalNumbers, seed: int, folder: Path, report: PartProgress | None = None
) -> LocalNumbersResult:
    """Fit, start, ask, break, compare."""
    config.check()
    began = time.monotonic()
    X, y, groups, inputs, truth = _shared_out(config, seed)
    drawn = (1 + np.random.default_rng(seed).permutation(config.nodes - 1)).tolist()
    liars, rest = drawn[: config.byzantine], drawn[config.byzantine :]
    killed, paused = rest[: config.kill], rest[config.kill : config.kill + config.pause]
    models, first, holdouts = _fit(X, y, groups, inputs, folder, report, holds_out=config.check_rows > 0)
    attacks = dict.fromkeys(liars, config.attack)
    nodes = prepare(folder, models, attacks, holdouts=holdouts, check_rows=config.check_rows)
    try:
        for place in range(config.nodes):
            nodes.start(place)
        nodes.wait(range(config.nodes), 60.0, None)
        # Nobody fails in the motion that is only shown beside.
        plain = (
            _ask(replace(config, check_rows=0), nodes, inputs, [], [], report) if config.check_rows else None
        )
        account = _ask(config, nodes, inputs, killed, paused, report)
    finally:
        nodes.stop()
    names = [participant.name for participant in nodes.roster]
    claims = _claims(account)
    claimed = ~np.isnan(claims)
    beside = None if plain is None else _claims(plain)
    both = claimed if beside is None else claimed & ~np.isnan(beside)
    honest = [place for place in range(config.nodes) if place not in liars]
    return LocalNumbersResult(
        config=config,
        account=account,
        error=_error(claims[claimed], truth[claimed]),
        lines={} if not claimed.any() else _lines(config, first[:, claimed], liars, truth[claimed], seed),
        apart=_apart(nodes, account, honest),
        byzantine=[names[place] for place in sorted(liars)],
        killed=[names[place] for place in sorted(killed)],
        paused=[names[place] for place in sorted(paused)],
        seconds=time.monotonic() - began,
        without_review=None if beside is None else _error(beside[both], truth[both]),
    )


def _claims(account: Account) -> Floats:
    return np.array([np.nan if claim is None else claim for claim in account.claims], dtype=np.float64)


def _shared_out(config: LocalNumbers, seed: int) -> tuple[Floats, Floats, Array, Floats, Floats]:
    """Scikit-learn's 442 diabetes patients: some are asked about, the others dealt out to the nodes."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    order = np.random.default_rng(seed).permutation(len(data.target))
    asked, kept = order[: config.inputs], order[MOST_INPUTS:]
    groups = np.arange(len(kept)) % config.nodes
    return data.data[kept], data.target[kept], groups, data.data[asked], data.target[asked]


def _fit(
    X: Floats,
    y: Floats,
    groups: Array,
    inputs: Floats,
    folder: Path,
    report: PartProgress | None,
    *,
    holds_out: bool,
) -> tuple[list[str], Floats, dict[int, Path]]:
    """A ridge regression on each one's own rows, as a file, and what it says to the inputs.

    With peer review every third row is held out to be shown, and the model has not seen it.
    """
    import skops.io
    from sklearn.linear_model import Ridge

    files, said, holdouts = [], [], {}
    whole = int(groups.max()) + 1
    for place in range(whole):
        rows, numbers = X[groups == place], y[groups == place]
        held = (np.arange(len(rows)) % 3 == 2) & holds_out
        if holds_out:
            holdouts[place] = folder / f"{name_of(place)}.npz"
            np.savez(holdouts[place], X=rows[held], y=numbers[held])
        model = Ridge(alpha=0.05).fit(rows[~held], numbers[~held])
        path = folder / f"{name_of(place)}.skops"
        skops.io.dump(model, path)
        files.append(str(path))
        said.append(model.predict(inputs))
        if report is not None:
            report("models fitted", place + 1, whole)
    return files, np.stack(said), holdouts


def _ask(
    config: LocalNumbers,
    nodes: Nodes,
    inputs: Any,
    killed: list[int],
    paused: list[int],
    report: PartProgress | None,
) -> Account:
    terms = Terms(
        rounds=config.rounds, seconds=config.deadline, regression=True, tol=config.tol,
        peer_review=config.check_rows > 0,
    )  # fmt: skip
    return ask_while_some_fail(nodes, inputs, terms, killed, paused, report)


def _lines(
    config: LocalNumbers, first: Floats, liars: list[int], truth: Floats, seed: int
) -> dict[str, float]:
    """What ``agree`` and a centre make of the same first numbers, liars' as they would tell them."""
    from folkmoot.adversaries import numbers_handed_in

    adversaries = {place: number_attack_called(config.attack) for place in liars}
    agreed = agree(first, TrimmedMean(), adversaries=adversaries, rounds=config.rounds, seed=seed)
    sent = numbers_handed_in(first[:, :, None], adversaries)
    told = sent[~np.isnan(sent).any(axis=(1, 2))]
    rules: dict[str, Rule] = {"mean of a centre": Mean(), "median of a centre": Median()}
    errors = {
        name: _error(rule.combine(told.transpose(1, 0, 2))[:, 0], truth) for name, rule in rules.items()
    }
    found = {"agree on the same numbers": _error(agreed.decision, truth), **errors}
    return {name: error for name, error in found.items() if error is not None}


def _error(said: Floats, truth: Floats) -> float | None:
    return float(np.sqrt(np.mean((said - truth) ** 2))) if said.size else None


def _apart(nodes: Nodes, account: Account, honest: list[int]) -> float:
    """By how much the claims of two honest nodes on one input differ, at most."""
    claims = []
    for place in honest:
        storage = Storage(nodes.settings[place].folder / DATABASE)
        try:
            outcome = outcome_of(storage, find(storage, account.motion))
            if isinstance(outcome, NumberVerdict):
                claims.append(outcome.claims[:, 0])
        except ValueError:
            continue  # killed before it heard of the motion
        finally:
            storage.close()
    table = np.stack(claims)
    there = ~np.isnan(table)
    spread = np.where(there, table, -np.inf).max(axis=0) - np.where(there, table, np.inf).min(axis=0)
    return float(np.maximum(spread, 0.0).max())
