"""``liveness``: participants that want no agreement (the stalling attack), beside perfectly malicious ones.

Section 4.1 of the paper mentions the attack and leaves it; Amores-Sesar, Cachin and Tedeschi (2022) analyse
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from experiments.experiment import Experiment, Finding, Plan, Result
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.adversaries.behaviours import Stalling
from folkmoot.datasets import homogeneous_votes
from folkmoot.pictures.palette import SERIES, panels
from folkmoot.protocols.naming import named_protocol
from folkmoot.simulation.engine import deliberate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ATTACKS: dict[str, type[Stalling | PerfectlyMalicious]] = {
    "stalling": Stalling,
    "malicious": PerfectlyMalicious,
}


@dataclass(frozen=True)
class Config:
    """n participants of accuracy p; protocols with one k and several alpha; f attackers of either kind."""

    n: int = 101
    p: float = 0.6
    k: int = 10
    alphas: tuple[int, ...] = (6, 7, 8)
    beta: int = 20
    byzantine: tuple[int, ...] = (0, 2, 4, 6, 8, 10, 12, 16, 20, 24, 30)  # even: the honest cannot be level
    inputs: int = 1000
    rounds: int = 50


@dataclass(frozen=True)
class LivenessRow:
    """One protocol under one attack: a value for each number of attackers."""

    protocol: str
    attack: str
    accuracy: list[float]
    undecided: list[float]  # share of inputs without an honest majority at the end
    unsettled: list[float]  # share on which not all honest participants agree for good
    rounds: list[float]


class LivenessFound(TypedDict):
    """What the cells returned."""

    rows: dict[tuple[str, int, str], LivenessRow]  # by protocol, alpha and attack


@dataclass(frozen=True)
class LivenessResult(Result):
    """All lines over the numbers of attackers."""

    n: int
    byzantine: tuple[int, ...]
    rounds: int
    lines: tuple[LivenessRow, ...]


def line(
    protocol: str, attack: str, n: int, p: float, k: int, alpha: int, beta: int,
    byzantine: list[int], inputs: int, rounds: int, seed: int,
) -> LivenessRow:  # fmt: skip
    """One protocol under one attack."""
    votes, truth, _ = homogeneous_votes(n, p, inputs, seed)
    rule = named_protocol(protocol.lower(), k, alpha, beta=beta)
    found: dict[str, list[float]] = {"accuracy": [], "undecided": [], "unsettled": [], "rounds": []}
    for count in byzantine:
        outcome = deliberate(
            votes,
            rule,
            adversaries={i: _ATTACKS[attack]() for i in range(count)},
            truth=truth,
            rounds=rounds,
            seed=seed,
            threads=1,
        )
        split = outcome.counts.max(axis=-1) < outcome.honest.sum()
        found["accuracy"].append(outcome.accuracy(truth))
        found["undecided"].append(outcome.undecided / inputs)
        found["unsettled"].append(float(np.mean(split)))
        found["rounds"].append(float(outcome.rounds.mean()))
    return LivenessRow(f"{protocol}, alpha={alpha}", attack, **found)


def cells(config: Config, seed: int) -> Plan:
    """One for each protocol, alpha and attack."""
    common: dict[str, Any] = {
        "n": config.n, "p": config.p, "k": config.k, "beta": config.beta, "inputs": config.inputs,
        "byzantine": list(config.byzantine), "rounds": config.rounds, "seed": seed,
    }  # fmt: skip
    kinds = [("Slush", alpha) for alpha in config.alphas]
    kinds += [(name, config.alphas[1]) for name in ("Snowflake", "Snowball")]
    return {
        "rows": {
            (name, alpha, attack): partial(line, **common, protocol=name, alpha=alpha, attack=attack)
            for name, alpha in kinds
            for attack in _ATTACKS
        }
    }


def result(config: Config, found: LivenessFound) -> LivenessResult:
    """How many attackers each protocol withstands before one input in a hundred is split at the end."""
    findings = []
    for each in found["rows"].values():
        if each.attack == "stalling":
            broken = next(
                (f for f, open_ in zip(config.byzantine, each.unsettled, strict=True) if open_ > 0.01), None
            )
            findings.append(
                Finding(
                    f"{each.protocol}: stalling participants until over 1% of inputs stay split",
                    "mentioned, not measured",
                    "more than tried" if broken is None else f"{broken} of {config.n}",
                    difference=f"split at {config.byzantine[-1]}: {each.unsettled[-1]:.1%}",
                )
            )
    return LivenessResult(
        verdict=_verdict(config, found),
        findings=tuple(findings),
        notes=(
            f"n={config.n}, p={config.p}, k={config.k}, {config.inputs} inputs, {config.rounds} rounds. A "
            "stalling participant sees all honest colours and names the one that is behind.",
        ),
        n=config.n, byzantine=config.byzantine, rounds=config.rounds, lines=tuple(found["rows"].values()),
    )  # fmt: skip


def _verdict(config: Config, found: LivenessFound) -> str:
    first = config.alphas[0]
    stalled, misled = (found["rows"]["Slush", first, attack] for attack in ("stalling", "malicious"))
    split = _first(config.byzantine, [open_ > 0.5 for open_ in stalled.unsettled])
    wrong = _first(config.byzantine, [right < 0.5 for right in misled.accuracy])
    return (
        f"Beyond the paper. {stalled.protocol}: {split} stalling participants of {config.n} keep the others "
        f"split on half of the inputs; {wrong} perfectly malicious ones mislead them on half."
    )


def _first(counts: Sequence[int], reached: Sequence[bool]) -> str:
    at = next((count for count, yes in zip(counts, reached, strict=True) if yes), None)
    return f"over {counts[-1]}" if at is None else str(at)


def figures(result: LivenessResult) -> dict[str, Figure]:
    """Left: inputs on which the honest stay split. Right: accuracy; dashed under perfectly malicious ones."""
    figure, (left, right) = panels(1, 2, size=(5.0, 3.6))
    names = list(dict.fromkeys(each.protocol for each in result.lines))
    for each in result.lines:
        colour = SERIES[names.index(each.protocol)]
        stalling = each.attack == "stalling"
        style = "-" if stalling else "--"
        label = each.protocol if stalling else None
        left.plot(result.byzantine, each.unsettled, style, color=colour, marker=".", label=label)
        right.plot(result.byzantine, each.accuracy, style, color=colour, marker=".")
    left.set(
        xlabel="attackers", ylabel=f"inputs still split after {result.rounds} rounds", ylim=(-0.02, 1.02)
    )
    right.set(xlabel="attackers", ylabel="accuracy", ylim=(-0.02, 1.02))
    left.legend(frameon=False, fontsize=8)
    right.set_title("solid: stalling, dashed: perfectly malicious", fontsize=9, loc="left")
    return {"liveness": figure}


EXPERIMENT = Experiment(
    name="liveness",
    about="the stalling attack: how many participants can keep the others from agreeing",
    claim="Section 4.1 mentions attacks on liveness; beyond the paper: how much each protocol withstands.",
    full=Config(),
    quick=Config(inputs=100, byzantine=(0, 4, 8, 12, 20, 30)),
    cells=cells,
    result=result,
    figures=figures,
)
