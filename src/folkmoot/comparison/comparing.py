"""``compare``: votes and a protocol in, the talk beside single participants and every central rule out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries import Adversary
from folkmoot.arrays import Ints, Progress
from folkmoot.comparison.lines import central_lines, single_lines, stacking_line, talk_line
from folkmoot.comparison.report import CONSENSUS, WITHOUT_TRUST, Report
from folkmoot.comparison.rules import NEEDS, RuleName, wanted_rules
from folkmoot.comparison.scene import Scene, one_each
from folkmoot.protocols import SnowProtocol, protocols_in_words
from folkmoot.sampling import Everyone, Neighbours, Others, Sampling, Trusting
from folkmoot.trust import Anchor
from folkmoot.votes import Votes, packed_bytes

# How the sampling law is said.
_LAWS: Final[dict[type, str]] = {
    Others: "",
    Everyone: ", asking themselves too",
    Neighbours: ", on a graph",
    Trusting: ", by trust",
}


def compare(
    votes: npt.ArrayLike,
    protocol: SnowProtocol[Any] | Mapping[str, SnowProtocol[Any]],
    *,
    truth: npt.ArrayLike | None = None,
    adversaries: Mapping[int, Adversary] | None = None,
    anchors: Sequence[Anchor | None] | None = None,
    skills: npt.ArrayLike | None = None,
    faults: Mapping[int, str] | None = None,
    names: Sequence[str] | None = None,
    seen: npt.ArrayLike | None = None,
    classes: int | None = None,
    rounds: int = 50,
    repeats: int = 10,
    seed: int = 0,
    sampling: Sampling | None = None,
    batch: Literal["independent", "shared"] | None = None,
    threads: int | None = None,
    keys: Callable[[Votes], Ints] | None = None,
    rules: Sequence[RuleName] | None = None,
    stacking: bool = False,
    record: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Let the participants talk, and put beside it what one of them, or a centre with all votes, would say.

    Parameters
    ----------
    votes : (participant, input) first votes, colours 0..C-1, -1 for none.
    protocol : ``Slush``, ``Snowflake`` or ``Snowball``; or several by name, each a line of its own.
    truth : the right colours, -1 where not known; without it there are no accuracies.
    adversaries : Byzantine participants by number, such as ``{3: PerfectlyMalicious()}``.
    anchors : what each participant's trust hangs on. They then listen first and talk by trust; the talk
        without it becomes one of the comparisons.
    skills : what each participant says its accuracy is, nan if it does not know: the weighted majority goes
        by it. Without, by what Dawid-Skene estimates.
    faults : participants that cannot answer, and why: the others talk without them. A centre sees what votes
        they have.
    names : of the participants, for the report.
    seen : the votes that a centre sees, if not ``votes`` with what the adversaries hand in.
    classes : the number of colours, if not all are voted for.
    rounds, repeats, seed, threads, progress : as for ``deliberate``.
    sampling : as for ``deliberate``; by trust it is always ``Trusting``.
    batch : as for ``deliberate``; if None, "independent", and "shared" by trust.
    keys : what seeds the randomness of each input, from the votes that are talked about, such as
        ``votes.vote_keys``; its position if None.
    rules : the rules of a centre that are wanted, by name; all that apply if None.
    stacking : add what a server could learn from the truth of these inputs, five-fold.
    record : play the talk (of the first protocol) once more and keep its record: ``Report.recorded``.
    """
    protocols = _protocols(protocol)
    options: dict[str, Any] = {"rounds": rounds, "seed": seed, "threads": threads, "progress": progress}
    if batch is not None:
        options["batch"] = batch
    scene = Scene.checked(votes, truth, classes, adversaries or {}, faults or {}, keys, sampling, options)
    n, inputs = scene.votes.shape
    right, colours = scene.truth, scene.classes
    # What else can be wrong is said before the work is done.
    shown = scene.seen(seen)
    wanted_rules(rules, n)
    who = [f"participant {i}" for i in range(n)] if names is None else names
    told = None if skills is None else np.asarray(skills, dtype=np.float64)
    one_each("names", who, n)
    if told is not None:
        one_each("skills", told, n)
    if stacking and right is None:
        raise ValueError("stacking learns from the truth: give truth=, or stacking=False")

    started = time.perf_counter()
    plain = {name: scene.talk(each, repeats=repeats) for name, each in protocols.items()}
    listeners = None if anchors is None else scene.listen(anchors)
    outcomes = plain
    if listeners is not None:
        outcomes = {name: scene.talk(each, listeners, repeats=repeats) for name, each in protocols.items()}
    seconds = time.perf_counter() - started

    lines = [*single_lines(shown[~scene.lying], right), *central_lines(shown, right, colours, told, rules)]
    if stacking and right is not None:
        lines.append(stacking_line(shown, right, colours, seed))
    if listeners is not None:
        lines += [talk_line(_without(name, protocol), outcome, right) for name, outcome in plain.items()]
    lines += [talk_line(name, outcome, right) for name, outcome in outcomes.items()]

    anchored = None if anchors is None else 0 if listeners is None else int(listeners.anchored.sum())
    first, main = next(iter(protocols.values())), next(iter(outcomes.values()))
    # A real query carries the votes on all inputs, so a batch asks until its longest talk is over.
    queries = round(float(np.mean(main.rounds.max(axis=-1))) * int(main.honest.sum()) * first.k)
    repetitions = len(np.atleast_2d(main.decision))
    return Report(
        lines=tuple(lines),
        participants=n,
        inputs=inputs,
        classes=colours,
        byzantine=tuple(who[i] for i in sorted(scene.liars)),
        faulty={who[i]: why for i, why in scene.faults.items()},
        protocol=_described(protocols, sampling) + (", self-anchored trust" if anchored else ""),
        repeats=repetitions,
        agreement=float(main.agreement.mean()),
        settled=float(main.settled.mean()),
        undecided=main.undecided / repetitions,
        rounds=float(main.rounds.mean()),
        queries=queries,
        bytes=queries * packed_bytes(inputs, colours),
        anchored=anchored,
        honest=next(iter(plain.values())).honest,
        outcomes=outcomes,
        without_trust={} if listeners is None else plain,
        listeners=listeners,
        recorded=scene.talk(first, listeners, record=True, progress=None) if record else None,
        seconds=seconds,
    )


def describe(protocol: SnowProtocol[Any], sampling: Sampling | None = None) -> str:
    """A protocol in a few words: Slush, k=10, alpha=6."""
    alpha = f"alpha={protocol.alpha}" if isinstance(protocol.alpha, int) else "local alpha"
    beta = f", beta={protocol.beta}" if hasattr(protocol, "beta") else ""
    weighted = ", weighted" if protocol.weights is not None else ""
    law = "" if sampling is None else _LAWS[type(sampling)]
    return f"{type(protocol).__name__}, k={protocol.k}, {alpha}{beta}{weighted}{law}"


def _protocols(protocol: object) -> dict[str, SnowProtocol[Any]]:
    named: dict[str, Any] = dict(protocol) if isinstance(protocol, Mapping) else {CONSENSUS: protocol}
    if not named or not all(isinstance(each, SnowProtocol) for each in named.values()):
        raise TypeError(f"protocol must be {protocols_in_words()}, or several by name: got {protocol!r}")
    taken = {"mean participant", *NEEDS} & set(named)
    if taken:
        raise ValueError(f"protocol must have names that no other line has: got {', '.join(sorted(taken))}")
    return named


def _described(protocols: Mapping[str, SnowProtocol[Any]], sampling: Sampling | None) -> str:
    if list(protocols) == [CONSENSUS]:
        return describe(protocols[CONSENSUS], sampling)
    return "; ".join(f"{name}: {describe(each, sampling)}" for name, each in protocols.items())


def _without(name: str, protocol: object) -> str:
    return f"{name} without trust" if isinstance(protocol, Mapping) else WITHOUT_TRUST
