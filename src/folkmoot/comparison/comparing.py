"""``compare``: votes and a protocol in, the talk beside single participants and every central rule out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries import Adversary
from folkmoot.arrays import Array, Ints, Progress
from folkmoot.comparison.ground import Ground
from folkmoot.comparison.lines import central_lines, single_lines, stacking_line, talk_line
from folkmoot.comparison.open_inputs import warn_of_open_inputs
from folkmoot.comparison.report import CONSENSUS, WITHOUT_TRUST, Report
from folkmoot.comparison.rules import NEEDS, RuleName, wanted_rules
from folkmoot.comparison.scene import Scene, one_each
from folkmoot.outcome import Outcome
from folkmoot.protocols import SnowProtocol, protocols_in_words
from folkmoot.sampling import Everyone, Neighbours, Others, Sampling, Trusting
from folkmoot.simulation.peer_reviewed import Reviewing
from folkmoot.simulation.play_options import Device
from folkmoot.trust import Anchor, Gold
from folkmoot.votes import Missing, Votes, packed_bytes

# How the sampling law is said.
_LAWS: Final[dict[type, str]] = {
    Others: "",
    Everyone: ", asking themselves too",
    Neighbours: ", on a graph",
    Trusting: ", by trust",
}

# How the ways to trust are said.
_TRUSTS: Final = {"self-anchored": "self-anchored trust", "peer-review": "peer review"}


def compare(
    votes: npt.ArrayLike,
    protocol: SnowProtocol[Any] | Mapping[str, SnowProtocol[Any]],
    *,
    truth: npt.ArrayLike | None = None,
    adversaries: Mapping[int, Adversary] | None = None,
    anchors: Sequence[Anchor | None] | Gold | Reviewing | None = None,
    trust: Literal["self-anchored", "peer-review"] = "self-anchored",
    skills: npt.ArrayLike | None = None,
    holdout: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    faults: Mapping[int, str] | None = None,
    names: Sequence[str] | None = None,
    labels: Sequence[Any] | Array | None = None,
    seen: npt.ArrayLike | None = None,
    classes: int | None = None,
    rounds: int = 50,
    repeats: int = 10,
    seed: int = 0,
    sampling: Sampling | None = None,
    batch: Literal["independent", "shared"] | None = None,
    threads: int | None = None,
    device: Device = "cpu",
    keys: Callable[[Votes], Ints] | None = None,
    missing: Missing = "absent",
    rules: Sequence[RuleName] | None = None,
    stacking: bool = False,
    record: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Let the participants talk, and put beside it what one of them, or a centre with all votes, would say.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        First votes: colours 0..C-1, -1 for none.
    protocol : Slush, Snowflake or Snowball, or mapping of str to one of them
        How they talk; or several protocols by name, each a line of the report.
    truth : array-like of int, shape (input,), optional
        The right colours, -1 where not known. Without it there are no accuracies.
    adversaries : mapping of int to Adversary, optional
        Byzantine participants by number, such as ``{3: PerfectlyMalicious()}``.
    anchors : sequence of Anchor or None, Gold or Reviewing, optional
        What each participant knows of its own accuracy, or gold from ``trust.split_gold``, which says it;
        or ``Reviewing(checked)``, checked answers for peer review. They then learn whom to trust first and
        talk by trust; the talk without it becomes one of the comparisons.
    trust : {"self-anchored", "peer-review"}, default "self-anchored"
        What they learn from ``anchors``: whom to trust, each by its own accuracy (docs/trust.md); or what is
        right, from gold and all votes, which is public and the same for all (docs/peer-review.md). The second
        needs a ``Gold``; ``Reviewing`` is peer review whatever this says.
    skills : array-like of float, shape (participant,), optional
        What each participant says its accuracy is, nan if it does not know: the weighted majority goes by
        it. Default: what Dawid-Skene estimates.
    holdout : (right, total), optional
        How many of how many labelled rows of its own each participant answers right, each of shape
        (participant,), for its row in the report. Default: what ``anchors`` know.
    faults : mapping of int to str, optional
        Participants that cannot answer, and why: the others talk without them. A centre sees the votes that
        they have.
    names : sequence of str, optional
        The participants' names, for the report. Default: "participant 0" and so on.
    labels : sequence, optional
        What the colours are called, one for each: ``Report.outcome.answers`` then gives the decisions as
        labels, None where undecided.
    seen : array-like of int, shape (participant, input), optional
        The votes that a centre sees. Default: ``votes`` with what the adversaries hand in.
    classes : int, optional
        The number of colours. Default: that of ``labels``, or one more than the largest colour in votes and
        truth, and at least 2.
    rounds : int, default 50
        The most rounds to play; in a round each honest participant asks once, on average.
    repeats : int, default 10
        How many times to play the talk; the standard error is over these.
    seed : int, default 0
        The same seed gives the same report on processors of one kind, with the same versions.
    sampling : Others, Everyone, Neighbours or Trusting, optional
        Whom each may ask. Default: ``Others()``. With ``anchors`` it is always by trust.
    batch : {"independent", "shared"}, optional
        Whether each input has a talk of its own, or one query carries all inputs. Default: "independent", and
        "shared" with ``anchors``.
    threads : int, optional
        How many threads to use. Default: one per core.
    device : {"cpu", "cuda", "auto"}, default "cpu"
        Where the talks are played, as in ``deliberate``: the same bits on a GPU.
    keys : callable, optional
        Makes a number for each input from the votes that are talked about, which seeds its randomness, such
        as ``folkmoot.votes.vote_keys``. Default: its position.
    missing : {"absent", "uncoloured"}, default "absent"
        What a participant does on an input on which it has no vote, as in ``deliberate``: it takes no part in
        it, or talks and adopts a colour. An adversary that is absent also hands in nothing to a centre. A
        talk by trust is not touched by it: whoever anchors has a decision of its own to talk about.
    rules : sequence of {"majority", "supermajority", "weighted majority", "Dawid-Skene"}, optional
        The rules of a centre that are wanted. Default: all that apply.
    stacking : bool, default False
        Whether to add what a server could learn from the truth of these inputs, five-fold.
    record : bool, default False
        Whether to play the talk (of the first protocol) once more and keep its record, as
        ``Report.recorded``.
    progress : callable, optional
        Called with (done, all) as the work goes on.

    Returns
    -------
    Report
        A line for each way to answer, and what the talk cost. On every line an input whose labels are level
        counts as the share of right ones among them, and one that is undecided without a tie as wrong.

    Raises
    ------
    ValueError
        If what is given does not fit together, such as stacking or a malicious participant without
        ``truth``.

    Warns
    -----
    OpenInputsWarning
        If more than a tenth of the inputs stays undecided, or alpha can never be reached on some; it says why
        and what to try.
    TrustWarning
        If ``anchors`` are given but trust cannot be learnt: fewer than 50 inputs, or nobody anchors. Peer
        review needs no number of inputs.

    Examples
    --------
    >>> from folkmoot import Slush, compare
    >>> from folkmoot.adversaries import PerfectlyMalicious
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(15, p=0.7, inputs=200)
    >>> report = compare(votes, Slush(k=5, alpha=3), truth=truth, rules=["majority"])
    >>> print(*(f"{line.name}: {line.accuracy:.2f}" for line in report.lines), sep="; ")
    mean participant: 0.70; best participant: 0.77; majority: 0.96; consensus: 0.89
    >>> report = compare(votes, Slush(k=5, alpha=3), truth=truth, adversaries={3: PerfectlyMalicious()})
    >>> round(report.accuracy("majority"), 2), round(report.accuracy("consensus"), 2)
    (0.91, 0.79)
    """
    protocols = _protocols(protocol)
    if classes is None and labels is not None:
        classes = len(labels)
    options: dict[str, Any] = {
        "rounds": rounds, "seed": seed, "threads": threads, "missing": missing, "progress": progress,
        "device": device,
    }  # fmt: skip
    if batch is not None:
        options["batch"] = batch
    scene = Scene.checked(votes, truth, classes, adversaries or {}, faults or {}, keys, sampling, options)
    n, inputs = scene.votes.shape
    right, classes = scene.truth, scene.classes
    # What else can be wrong is said before the work is done.
    shown = scene.seen(seen)
    wanted_rules(rules, n)
    who = [f"participant {i}" for i in range(n)] if names is None else names
    told = None if skills is None else np.asarray(skills, dtype=np.float64)
    one_each("names", who, n)
    if told is not None:
        one_each("skills", told, n)
    if labels is not None:
        one_each("labels", labels, classes, "colour")
    _check_trust(trust, anchors)
    if anchors is not None and device == "cuda":
        raise ValueError(
            "a GPU does not play talks by trust: give device='cpu', or device='auto', which takes a GPU "
            "where it can"
        )
    if stacking and right is None:
        raise ValueError("stacking learns from the truth: give truth=, or stacking=False")

    started = time.perf_counter()
    plain = {name: scene.talk(each, repeats=repeats) for name, each in protocols.items()}
    listeners = None
    if isinstance(anchors, Gold) and trust == "peer-review":
        listeners = scene.review(anchors)
    elif anchors is not None:
        listeners = scene.listen(anchors)
    outcomes = plain
    if listeners is not None:
        outcomes = {name: scene.talk(each, listeners, repeats=repeats) for name, each in protocols.items()}
    seconds = time.perf_counter() - started

    there = scene.there
    alike, talk = next(iter(protocols.values())).restricted(there), next(iter(outcomes.values()))
    warn_of_open_inputs(
        scene.votes[there], scene.lying[there], alike, talk, rounds, missing, by_trust=listeners is not None
    )

    lines = [
        *single_lines(shown[~scene.lying], right, classes),
        *central_lines(shown, right, classes, told, rules),
    ]
    if stacking and right is not None:
        lines.append(stacking_line(shown, right, classes, seed))
    if listeners is not None:
        lines += [talk_line(_without(name, protocol), outcome, right) for name, outcome in plain.items()]
    lines += [talk_line(name, outcome, right) for name, outcome in outcomes.items()]

    anchored = None if anchors is None else 0 if listeners is None else int(listeners.anchored.sum())
    first, main = next(iter(protocols.values())), next(iter(outcomes.values()))
    queries, carried = _queries(main, first), inputs if main.present is None else 1
    repetitions = len(np.atleast_2d(main.decision))

    ground = Ground(
        scene.votes,
        shown,
        right,
        classes,
        tuple(map(str, who)),
        labels,
        _holdout(holdout, anchors, n),
        None if first.weights is None else np.asarray(first.weights),
    )

    def called(outcome: Outcome) -> Outcome:
        called = None if names is None else tuple(names)
        return replace(outcome, labels=labels, names=called, faults=scene.faults)

    return Report(
        lines=tuple(lines),
        n_participants=n,
        inputs=inputs,
        classes=classes,
        byzantine=tuple(who[i] for i in sorted(scene.adversaries)),
        faulty={who[i]: why for i, why in scene.faults.items()},
        protocol=_described(protocols, sampling) + (f", {_by(trust, anchors)}" if anchored else ""),
        repeats=repetitions,
        agreement=float(main.agreement.mean()),
        settled=float(main.settled.mean()),
        undecided=main.undecided / repetitions,
        rounds=float(main.rounds.mean()),
        queries=queries,
        bytes=queries * packed_bytes(carried, classes),
        anchored=anchored,
        anchored_by=_anchored_by(trust, anchors),
        honest=next(iter(plain.values())).honest,
        outcomes={name: called(outcome) for name, outcome in outcomes.items()},
        without_trust={} if listeners is None else {name: called(each) for name, each in plain.items()},
        listeners=listeners,
        recorded=called(scene.talk(first, listeners, record=True, device="cpu", progress=None))
        if record
        else None,
        seconds=seconds,
        ground=ground,
        certainty=None if listeners is not None else ground.certainty(main),
    )


def _holdout(
    given: tuple[npt.ArrayLike, npt.ArrayLike] | None, anchors: object, participants: int
) -> tuple[Ints, Ints] | None:
    """How many labelled rows each has right, of how many: as given, or as the anchors were measured."""
    if given is not None:
        right, total = (np.asarray(each, dtype=np.int64) for each in given)
        for what, each in (("right", right), ("total", total)):
            one_each(f"holdout ({what})", each, participants)
        return right, total
    known = anchors.anchors if isinstance(anchors, Gold) else anchors
    if not isinstance(known, Sequence):
        return None
    counts = [(0, 0) if each is None else (each.right, each.held_out) for each in known]
    right, total = np.array(counts, dtype=np.int64).T
    return right, total


def _by(trust: str, anchors: object) -> str:
    """How those who talk by trust have learnt it."""
    return _TRUSTS["peer-review" if isinstance(anchors, Reviewing) else trust]


def _anchored_by(trust: str, anchors: object) -> str:
    """What those who anchor hold on to."""
    if isinstance(anchors, Reviewing):
        return "what all can check"
    return "gold" if trust == "peer-review" else "their holdout"


def _check_trust(trust: str, anchors: object) -> None:
    if trust not in _TRUSTS:
        raise ValueError(f"trust must be one of {', '.join(_TRUSTS)}: got {trust!r}")
    if trust == "peer-review" and not isinstance(anchors, Gold | Reviewing):
        raise ValueError(
            'trust="peer-review" needs gold: give anchors=folkmoot.trust.split_gold(votes, gold, classes)'
        )


def _queries(outcome: Outcome, protocol: SnowProtocol[Any]) -> int:
    """The requests of a talk; a real one carries the votes on all inputs, if the peer has them."""
    if outcome.present is not None:
        return round(float(np.mean(outcome.queries)))
    # So a batch asks until its longest talk is over.
    a_round = protocol.requests(int(outcome.honest.sum()), len(outcome.honest))
    return round(float(np.mean(outcome.rounds.max(axis=-1))) * a_round)


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
