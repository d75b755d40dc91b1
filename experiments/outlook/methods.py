"""The ways to agree of the study ``outlook``, in one table: what each is played by, and what it must know."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from experiments.counting import majority_answer, weighted_answer
from experiments.outlook.crowds import BOASTED, KNOWN, Crowd
from experiments.outlook.proposing import propose
from experiments.outlook.teams import hierarchy_verdict
from folkmoot.adversaries.interface import Adversary, handed_in
from folkmoot.aggregation import HoldoutTrust, Known
from folkmoot.arrays import Floats
from folkmoot.outcome import Decided, Outcome, log_odds, share_right
from folkmoot.outlook import FBA, Hierarchy, Leaders
from folkmoot.protocols.sampling import Others
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.snowball import Snowball
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.simulation.engine import deliberate
from folkmoot.theory import SlushChain, majority_accuracy
from folkmoot.votes import NO_VOTE

NOTHING: Final = "nothing"
TRUST: Final = "learnt trust"
FINAL: Final = "final votes"


@dataclass(frozen=True)
class Talking:
    """The settings of the talks."""

    k: int = 10
    alpha: int = 6
    beta: int = 20
    rounds: int = 50
    slices: tuple[int, ...] = (7, 21)  # how many a quorum set names
    team: int = 10  # members of a team, about


@dataclass(frozen=True)
class Said:
    """What one way to agree came to; None where there is no talk, or nobody who decides."""

    method: str
    known: str  # what it goes by
    accuracy: float
    exact: float | None = None  # where theory has it, for these very accuracies
    agreement: float | None = None
    decided: float = 1.0  # share of the inputs
    rounds: float | None = None
    messages: float | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """A crowd, some of it lying, and how it talks."""

    crowd: Crowd
    liars: dict[int, Adversary]
    talking: Talking

    def talk(self, protocol: Any) -> Outcome:
        """One talk about the whole batch."""
        return deliberate(
            self.crowd.votes,
            protocol,
            adversaries=self.liars,
            truth=self.crowd.truth,
            rounds=self.talking.rounds,
            batch="shared",
            seed=self.crowd.seed,
            classes=2,
            threads=1,
        )

    @property
    def honest_accuracies(self) -> Floats:
        """Of those who do not lie."""
        return np.delete(self.crowd.accuracies, list(self.liars))


class Method(NamedTuple):
    """A way to agree: how it is played with accuracies as they are taken for, and its exact accuracy."""

    play: Callable[[Scene, Floats], Outcome | Decided | None]
    exact: Callable[[Scene], float] | None = None


def teams_of(n: int, size: int, seed: int) -> list[list[int]]:
    """Everybody in one of several teams of nearly this size, drawn by the seed."""
    order = np.random.default_rng([seed, 3]).permutation(n)
    return [sorted(team.tolist()) for team in np.array_split(order, max(1, round(n / size)))]


def _weights(accuracies: Floats) -> list[float]:
    weights = np.maximum(log_odds(accuracies, 2), 0)
    return [float(each) for each in (weights if weights.any() else np.ones_like(weights))]


def _hierarchy(scene: Scene, *, honest: bool = False) -> Hierarchy:
    rule = Slush(scene.talking.k, scene.talking.alpha)
    teams = teams_of(len(scene.crowd.votes), scene.talking.team, scene.crowd.seed)
    return Hierarchy(teams, rule, rule, delegates="honest" if honest else "drawn")


def _federated(most: int) -> Callable[[Scene, Floats], Outcome]:
    def play(scene: Scene, accuracies: Floats) -> Outcome:
        return scene.talk(FBA(propose(accuracies, most=most)))

    return play


def _seen(scene: Scene) -> Any:
    return handed_in(scene.crowd.votes, scene.liars, scene.crowd.truth, 2)


def _slush_exactly(scene: Scene) -> float:
    n, f = len(scene.crowd.votes), len(scene.liars)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # alpha liars and more: nothing is absorbed, but the law is known
        chain = SlushChain(n, scene.talking.k, scene.talking.alpha, byzantine=f, sampling=Others())
    return chain.accuracy(scene.honest_accuracies, steps=scene.talking.rounds * chain.honest)


def _majority_exactly(scene: Scene) -> float:
    return majority_accuracy(len(scene.crowd.votes), scene.honest_accuracies, byzantine=len(scene.liars))


def _hierarchy_exactly(scene: Scene) -> float:
    return hierarchy_verdict(_hierarchy(scene), scene.crowd.accuracies).right


def plain(talking: Talking) -> dict[str, Method]:
    """Ways to agree that know nothing of anybody."""
    k, alpha = talking.k, talking.alpha
    return {
        "majority": Method(lambda scene, _: majority_answer(_seen(scene), 2), _majority_exactly),
        "Slush": Method(lambda scene, _: scene.talk(Slush(k, alpha)), _slush_exactly),
        "Snowball": Method(lambda scene, _: scene.talk(Snowball(k, alpha, talking.beta))),
        "leaders": Method(lambda scene, _: scene.talk(Leaders(k, alpha))),
        "teams": Method(lambda scene, _: scene.talk(_hierarchy(scene)), _hierarchy_exactly),
        "teams, honest delegates": Method(
            lambda scene, _: scene.talk(_hierarchy(scene, honest=True)), _hierarchy_exactly
        ),
    }


def favouring(talking: Talking) -> dict[str, Method]:
    """Ways to agree that favour accurate participants, as far as accuracies are known."""
    k, alpha = talking.k, talking.alpha
    return {
        "weighted majority": Method(lambda scene, p: weighted_answer(_seen(scene), log_odds(p, 2), 2)),
        "weighted Slush": Method(lambda scene, p: scene.talk(Slush(k, alpha, weights=_weights(p)))),
        "local Slush": Method(lambda scene, p: scene.talk(Slush(k, StrongConfidence(p)))),
        "weighted leaders": Method(lambda scene, p: scene.talk(Leaders(k, alpha, weights=_weights(p)))),
        **{f"federated, {most} each": Method(_federated(most)) for most in talking.slices},
    }


def said_by_all(scene: Scene) -> list[Said]:
    """Every way to agree without trust, those that favour with each kind of knowledge."""
    found = [
        _said(scene, name, NOTHING, method, scene.crowd.accuracies)
        for name, method in plain(scene.talking).items()
    ]
    for known in KNOWN if scene.liars else [each for each in KNOWN if each != BOASTED]:
        accuracies = scene.crowd.known(known, scene.liars)
        for name, method in favouring(scene.talking).items():
            found.append(_said(scene, name, known, method, accuracies))
    return found


def said_by_trust(scene: Scene) -> list[Said]:
    """What honest participants decide that have learnt from their held-out rows whom to believe."""
    crowd = scene.crowd
    honest = np.setdiff1d(np.arange(len(crowd.votes)), list(scene.liars))
    known = Known(classes=2, rows=crowd.rows, judges=honest)
    heard = handed_in(crowd.votes, scene.liars, crowd.truth, 2)
    held = HoldoutTrust().final_votes(heard, known).votes[honest]
    right = held == crowd.truth
    shares = np.stack([(held == label).mean(axis=0) for label in (0, 1)])
    return [Said(FINAL, TRUST, float(right.mean()), agreement=float(shares.max(axis=0).mean()))]


def _said(scene: Scene, name: str, known: str, method: Method, accuracies: Floats) -> Said:
    found = method.play(scene, accuracies)
    drawn = method.exact is not None and not (name.startswith("teams") and scene.liars)
    exact = method.exact(scene) if drawn and method.exact is not None else None
    if isinstance(found, Outcome):
        return replace(_of_outcome(scene.crowd, name, known, found), exact=exact)
    decision, level = found if found is not None else (np.full(len(scene.crowd.truth), NO_VOTE), None)
    right = float(share_right(decision, scene.crowd.truth, level))
    return Said(
        name,
        known,
        right,
        exact,
        decided=float((decision != NO_VOTE).mean()),
        messages=float(len(scene.crowd.votes)),
    )


def _of_outcome(crowd: Crowd, name: str, known: str, outcome: Outcome) -> Said:
    return Said(
        method=name,
        known=known,
        accuracy=outcome.accuracy(crowd.truth),
        agreement=float(outcome.agreement.mean()),
        decided=1.0 - outcome.undecided / len(crowd.truth),
        rounds=float(outcome.rounds.mean()),
        messages=float(outcome.queries),
    )
