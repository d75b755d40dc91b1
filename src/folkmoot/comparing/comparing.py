"""``compare``: the answer to votes beside single participants and every rule that sees all votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries.interface import Adversary, NumberAdversary
from folkmoot.aggregation import DawidSkene, Known, Mean, Median, Plurality, Pool, TrimmedMean, Weighted
from folkmoot.aggregation.aggregating import check_aggregation
from folkmoot.aggregation.gold import gold_known
from folkmoot.aggregation.interface import Aggregation, Answers
from folkmoot.arrays import Array, Bools, Floats, Ints, Progress
from folkmoot.comparing.certainty import Certainty
from folkmoot.comparing.independence import find_independence
from folkmoot.comparing.metric import ACCURACY, ERROR, Metric, is_there
from folkmoot.comparing.participants import ParticipantTable, Role, participant_table
from folkmoot.comparing.report import CONSENSUS, Line, Report, mean_agreement
from folkmoot.files.vote_files import VoteTable, named_votes
from folkmoot.outcome import Outcome, laplace_accuracy, log_odds, right_by_input
from folkmoot.protocols.naming import protocols_in_words
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.simulation.council import Council, CouncilOutcome, likeliest, right_shares, rule_in_words
from folkmoot.simulation.engine import deliberate
from folkmoot.votes import NO_VOTE, Missing, check_true_numbers, check_truth

MEAN, BEST, FINAL = "mean participant", "best participant", "mean final vote"
_NAMES_TAKEN: Final = (MEAN, BEST, FINAL, "majority", "Dawid-Skene", "weighted", "stacking")
_MOST_LIKELY: Final = 50_000_000  # probabilities that are kept for pictures


def compare(
    votes: npt.ArrayLike | VoteTable,
    protocol: Any = None,
    *,
    aggregation: Aggregation | None = None,
    known: Known | None = None,
    truth: npt.ArrayLike | None = None,
    adversaries: Mapping[int, Adversary | NumberAdversary] | None = None,
    others: Mapping[str, Aggregation] | None = None,
    stacking: bool = False,
    holdout: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    names: Sequence[str] | None = None,
    labels: Sequence[Any] | Array | None = None,
    classes: int | None = None,
    repeats: int | None = None,
    seed: int = 0,
    missing: Missing = "absent",
    progress: Progress | None = None,
    **run: Any,
) -> Report:
    """Answer every input, and put beside it what one participant or another rule would answer.

    Parameters
    ----------
    votes : array-like, VoteTable or data frame
        The first votes. Classes: integers, -1 for no vote, of shape (participant, input). Probabilities:
        shape (participant, input, class), NaN for none. Numbers: shape (participant, input) or
        (participant, input, d), NaN for none. A ``VoteTable`` or a data frame (long or wide, as
        ``read_votes`` takes them) brings its names, labels and truth, and its gold tasks are ``known``.
    protocol : Council, Slush, Snowflake or Snowball, or mapping of str to one of them, optional
        How votes are exchanged; or several protocols by name, each a line of the report. Default:
        ``Council()``.
    aggregation : Aggregation, optional
        How a council makes an answer of the table, such as ``DawidSkene()``. Default: ``Plurality()`` of
        classes, ``Pool()`` of probabilities, ``TrimmedMean()`` of numbers.
    known : Known, optional
        Knowledge besides the votes. Inputs whose truth it tells are not scored.
    truth : array-like, shape (input,), or (input, d) of numbers of several dimensions, optional
        The right classes, -1 where not known; or the right numbers, NaN where not known. Beside a data frame
        of classes, anything that ``read_votes`` takes. Without it there are no scores.
    adversaries : mapping of int to Adversary or NumberAdversary, optional
        Malicious participants by number, such as ``{3: PerfectlyMalicious()}``.
    others : mapping of str to Aggregation, optional
        The rules to compare with, by the names of their lines. Default: plurality, Dawid-Skene and, with
        ``holdout``, votes weighted by it; of probabilities, their pools; of numbers, mean, median and trimmed
        mean.
    stacking : bool, default False
        Whether to add what somebody could learn from the truth of these inputs, five-fold.
    holdout : (right, total), optional
        How many of how many labelled rows of its own each participant answers right; of numbers, its mean
        squared error on how many.
    names : sequence of str, optional
        The participants' names. Default: "participant 0" and so on.
    labels : sequence, optional
        Names of the classes.
    classes : int, optional
        The number of classes. Default: that of ``labels``, or one more than the largest in votes and truth.
    repeats : int, optional
        Repetitions of a protocol that draws. Default: 10.
    seed : int, default 0
        Seeds what protocols, adversaries and aggregations draw.
    missing : {"absent", "present"}, default "absent"
        Participation without a vote, as in ``deliberate``.
    progress : callable, optional
        Called with (done, all) as the work goes on.
    **run : dict
        Further options of ``deliberate`` for protocols with rounds, such as ``rounds`` and ``sampling``.

    Returns
    -------
    Report
        A line for each way to answer, and a row for each participant.

    Raises
    ------
    ValueError
        If what is given does not fit together, such as stacking without ``truth``.

    Examples
    --------
    >>> from folkmoot import Slush, compare
    >>> from folkmoot.adversaries import PerfectlyMalicious
    >>> from folkmoot.aggregation import DawidSkene
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(9, p=0.8, inputs=300)
    >>> malicious = {i: PerfectlyMalicious() for i in range(3)}
    >>> report = compare(votes, truth=truth, adversaries=malicious, aggregation=DawidSkene())
    >>> round(report.score("majority"), 1), round(report.score(), 1)
    (0.7, 1.0)
    >>> report = compare(votes, Slush(k=5, alpha=3), truth=truth)
    >>> round(report.score("majority"), 1), round(report.score(), 1)
    (1.0, 0.9)
    """
    protocols = _protocols(protocol)
    named, gold, array = named_votes(votes, truth), None, cast("npt.ArrayLike", votes)
    if named is not None:
        array, truth = named.votes, named.truth
        names, labels = names or named.names, named.labels if labels is None else labels
        if named.gold is not None:
            gold = gold_known(named.votes, named.gold)
    if classes is None and labels is not None:
        classes = len(labels)
    outcomes = {}
    for name, each in protocols.items():
        options: dict[str, Any] = dict(run) | {"known": known}
        given = None if truth is None else np.asarray(truth)
        if isinstance(each, SnowProtocol):
            options |= {"repeats": 10 if repeats is None else repeats}
            if given is not None and (given == NO_VOTE).any():
                given = None
        elif repeats not in (None, 1):
            options["repeats"] = repeats
        if known is None and isinstance(each, Council):
            options["known"] = gold
        outcomes[name] = deliberate(
            array, each, aggregation=aggregation, adversaries=adversaries, truth=given,
            classes=classes, seed=seed, missing=missing, progress=progress, **options,
        )  # fmt: skip
    return report_on(
        outcomes, truth=truth, known=gold if known is None else known, others=others, stacking=stacking,
        holdout=holdout, names=names, labels=labels,
        how="; ".join(_in_words(name, each, protocols) for name, each in protocols.items())
        if not _is_council(protocols) else None,
    )  # fmt: skip


def report_on(
    outcome: Outcome | Mapping[str, Outcome],
    *,
    truth: npt.ArrayLike | None = None,
    known: Known | None = None,
    others: Mapping[str, Aggregation] | None = None,
    stacking: bool = False,
    holdout: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    names: Sequence[str] | None = None,
    labels: Sequence[Any] | Array | None = None,
    predicted: Array | None = None,
    filled: str = "",
    likely: Floats | None = None,
    how: str | None = None,
    groups: Array | None = None,
) -> Report:
    """Make a report of what was agreed on; ``compare`` runs a protocol and then calls this.

    ``predicted`` (input[, output]): Final answers, if they fill undecided inputs: the consensus is scored
    by these. ``likely`` (input, class): Class probabilities. Default: the shares of the answer. ``groups``
    (input,): The group of each input, such as its patient: stacking then leaves out whole groups.
    """
    outcomes = dict(outcome) if isinstance(outcome, Mapping) else {CONSENSUS: outcome}
    main = next(iter(outcomes.values()))
    first = _first(main)
    said = likeliest(first) if main.classes and first.ndim == 3 else first
    metric = ACCURACY if main.classes else ERROR
    called = [str(name) for name in _one_each("names", names or main.names, len(said), "participant")]
    named = main.labels if labels is None else labels
    if named is not None:
        _one_each("labels", named, main.classes, "class")
    wrong = dict(main.faults)
    right, judged = _judged(truth, said, known, main.classes)
    right = right if judged.any() else None
    lying = ~main.honest & ~np.isin(np.arange(len(said)), list(wrong))
    honest = np.flatnonzero(main.honest & ~np.isin(np.arange(len(said)), list(wrong)))
    kept = None if holdout is None else _kept(holdout, len(said))

    lines = _single_lines(metric, said, honest, right, judged, called)
    lines += _central_lines(metric, first, main, right, judged, others, known, kept)
    if stacking:
        lines.append(_stacking_line(metric, first, main.classes, right, judged, groups))
    for name, each in outcomes.items():
        lines += _agreed_lines(metric, name, each, right, judged, predicted if each is main else None)
    answer = _one_answer(main) if predicted is None else predicted

    same = find_independence(
        said[honest] if right is None else said[honest][:, judged],
        None if right is None else right[judged],
        answer if right is None else answer[judged],
        [called[i] for i in honest.tolist()],
    )
    roles: list[Role] = [
        "faulty" if i in wrong else "malicious" if lying[i] else "honest" for i in range(len(said))
    ]
    table_of: ParticipantTable = participant_table(
        metric, said, right, judged, answer, names=called, roles=roles, classes=main.classes, labels=named,
        faults=wrong, groups=same.groups, weights=_weights(main),
        estimated=main.aggregated.skills if isinstance(main, CouncilOutcome) else None,
        holdout=None if kept is None else _shares(kept, metric),
    )  # fmt: skip
    back = main.final.fell_back if isinstance(main, CouncilOutcome) and main.final is not None else {}
    return Report(
        metric=metric,
        lines=tuple(lines),
        participants=table_of,
        independence=same,
        inputs=said.shape[1],
        scored=0 if right is None else int(judged.sum()),
        classes=main.classes,
        protocol=_how(main) if how is None else how,
        agreement=mean_agreement(main.agreement) if main.classes else None,
        rounds=float(np.mean(main.rounds)),
        queries=float(np.mean(main.queries)),
        converged=float(np.mean(main.converged)),
        fell_back={called[i]: why for i, why in back.items()},
        told=_told(main, called),
        faulty={called[i]: why for i, why in wrong.items()},
        filled=filled,
        outcomes={
            name: replace(each, labels=named, names=tuple(called), faults=wrong)
            for name, each in outcomes.items()
        },
        labels=named,
        certainty=_certainty(main, right, judged, answer, likely, named),
    )


def _told(main: Outcome, called: Sequence[str]) -> str:
    """The choice of the aggregation, and participants that should not join."""
    if not isinstance(main, CouncilOutcome) or main.final is None:
        return ""
    alone = [called[i] for i in main.final.alone]
    if not alone:
        return main.final.told
    more = f" and {len(alone) - 5} more" if len(alone) > 5 else ""
    whom = ", ".join(alone[:5]) + more
    return f"{main.final.told}; do not join, your own model is better on your inputs: {whom}"


def _protocols(protocol: Any) -> dict[str, Any]:
    if protocol is None:
        return {CONSENSUS: Council()}
    named = dict(protocol) if isinstance(protocol, Mapping) else {CONSENSUS: protocol}
    if not named or not all(isinstance(each, (Council, SnowProtocol)) for each in named.values()):
        raise TypeError(
            f"protocol must be Council() or {protocols_in_words()}, or several by name: got {protocol!r}"
        )
    taken = sorted({*_NAMES_TAKEN} & {*named})
    if taken:
        raise ValueError(f"protocol must have names that no other line has: got {', '.join(taken)}")
    return named


def _is_council(protocols: Mapping[str, Any]) -> bool:
    return [*protocols] == [CONSENSUS] and isinstance(protocols[CONSENSUS], Council)


def _in_words(name: str, protocol: Any, protocols: Mapping[str, Any]) -> str:
    said = "Council" if isinstance(protocol, Council) else describe(protocol)
    return said if [*protocols] == [CONSENSUS] else f"{name}: {said}"


def describe(protocol: SnowProtocol[Any]) -> str:
    """A protocol in a few words: Slush, k=10, alpha=6."""
    alpha = f"alpha={protocol.alpha}" if isinstance(protocol.alpha, int) else "local alpha"
    beta = f", beta={protocol.beta}" if hasattr(protocol, "beta") else ""
    weighted = ", weighted" if protocol.weights is not None else ""
    return f"{type(protocol).__name__}, k={protocol.k}, {alpha}{beta}{weighted}"


def _how(outcome: Outcome) -> str:
    if isinstance(outcome, CouncilOutcome):
        return f"Council, {rule_in_words(outcome.aggregation)}"
    return describe(outcome.protocol) if isinstance(outcome.protocol, SnowProtocol) else str(outcome.protocol)


def _first(outcome: Outcome) -> Array:
    table = outcome.first if isinstance(outcome, CouncilOutcome) else outcome.votes
    if table is None:
        raise ValueError("the outcome must know its first votes: take one of deliberate()")
    return table


def _one_answer(outcome: Outcome) -> Array:
    """(input[, output]): the answer; of several repetitions the first."""
    if isinstance(outcome, CouncilOutcome):
        return outcome.decision
    return np.asarray(np.atleast_2d(outcome.decision)[0])


def _one_each(what: str, given: Any, many: int, each: str) -> Any:
    if given is None:
        return [f"participant {i}" for i in range(many)]
    if len(given) != many:
        raise ValueError(f"{what} must hold one per {each} ({many}): got {len(given)}")
    return given


def _judged(truth: Any, said: Array, known: Known | None, classes: int) -> tuple[Array | None, Bools]:
    """The truth, and the inputs that are scored by it: not those that were given as known."""
    inputs = said.shape[1]
    if truth is None:
        return None, np.zeros(inputs, dtype=np.bool_)
    if classes:
        right: Array = check_truth(truth, inputs, complete=False)
        there = right != NO_VOTE
        if known is not None and known.truth is not None:
            there &= known.truth == NO_VOTE
        return right, there
    right = check_true_numbers(truth, said.shape[1:])
    return right, np.asarray(~np.isnan(right.reshape(inputs, -1)).any(axis=1))


def _kept(holdout: tuple[npt.ArrayLike, npt.ArrayLike], many: int) -> tuple[Floats, Ints]:
    right, total = np.asarray(holdout[0], dtype=np.float64), np.asarray(holdout[1])
    _one_each("holdout", right, many, "participant")
    return right, total


def _shares(kept: tuple[Floats, Ints], metric: Metric) -> tuple[Floats, Ints]:
    values, total = kept
    shares = values / np.maximum(total, 1) if metric.higher_is_better else np.sqrt(values)
    return np.where(total > 0, shares, np.nan), total


def _weights(outcome: Outcome) -> Floats | None:
    """(participant,): what each one's vote counts for, to the median of the others."""
    if isinstance(outcome, CouncilOutcome):
        if outcome.final is None or outcome.final.weights is None:
            return None
        weights = np.array(outcome.final.weights, dtype=np.float64)
        np.fill_diagonal(weights, np.nan)
        judges = weights[~np.isnan(weights).all(axis=1)]
        some = ~np.isnan(judges).all(axis=0)
        found = np.full(weights.shape[1], np.nan)
        found[some] = np.nanmedian(judges[:, some], axis=0)
        return found
    protocol = outcome.protocol
    given = None if protocol is None else getattr(protocol, "weights", None)
    return None if given is None else np.asarray(given, dtype=np.float64)


# ---- the lines -------------------------------------------------------------------------------


def _line(
    metric: Metric, name: str, each: Floats | None, right: Array | None, judged: Bools, **more: Any
) -> Line:
    """A line of per-input scores; ``right`` are the truths of the inputs scored."""
    if each is None or right is None:
        return Line(name, None, **more)
    further = metric.also(each, right[judged])
    return Line(name, metric.score(each), metric.standard_error(each), scores=further, **more)


def _coverage(answers: Array) -> float:
    there = is_there(answers)
    return float(there.mean())


def _single_lines(
    metric: Metric, said: Array, honest: Ints, right: Array | None, judged: Bools, names: Sequence[str]
) -> list[Line]:
    """The mean and the best of the honest participants; nothing without truth."""
    if right is None or not honest.size:
        return []
    each = np.stack([metric.each(said[i, judged], right[judged]) for i in honest.tolist()])
    scores = [metric.score(one) for one in each]
    best = int(np.argmax(scores) if metric.higher_is_better else np.argmin(scores))
    # The mean of errors is no error of mean squares: the mean participant has the mean of the scores.
    usual = _line(metric, MEAN, each.mean(axis=0), right, judged, coverage=_coverage(said[honest]))
    return [
        replace(usual, score=float(np.mean(scores))),
        _line(
            metric, BEST, each[best], right, judged, coverage=_coverage(said[honest[best]]),
            note=f"{names[honest[best]]}: known by the truth only", answers=said[honest[best]],
        ),
    ]  # fmt: skip


def _central(outcome: Outcome, first: Array, kept: tuple[Floats, Ints] | None) -> dict[str, Aggregation]:
    """The rules that a consensus is compared with."""
    if not outcome.classes:
        return {"mean": Mean(), "median": Median(), "trimmed mean": TrimmedMean()}
    found: dict[str, Aggregation] = {"majority": Plurality()}
    if first.ndim == 3:
        found |= {"mean of probabilities": Pool(), "logarithmic pool": Pool("log")}
    found["Dawid-Skene"] = DawidSkene()
    if kept is not None and (kept[1] > 0).any():
        believed = laplace_accuracy(kept[0], kept[1], outcome.classes)
        found["weighted"] = Weighted(np.maximum(log_odds(believed, outcome.classes), 0.0).tolist())
    return found


def _central_lines(
    metric: Metric,
    first: Array,
    outcome: Outcome,
    right: Array | None,
    judged: Bools,
    others: Mapping[str, Aggregation] | None,
    known: Known | None,
    kept: tuple[Floats, Ints] | None,
) -> list[Line]:
    """Every rule that sees all votes."""
    rules = _central(outcome, first, kept) if others is None else others
    besides = Known() if known is None else known
    if outcome.classes and besides.classes is None:
        besides = replace(besides, classes=outcome.classes)
    lines = []
    for name, rule in rules.items():
        check_aggregation(rule)
        labels = outcome.classes and "labels" in rule.takes and "probabilities" not in rule.takes
        given = likeliest(first) if labels and first.ndim == 3 else first
        found = rule.aggregate(given, besides)
        plain = type(rule) in (Plurality, Mean, Median) or name == "weighted"
        note = (
            "by holdout accuracy"
            if name == "weighted"
            else ""
            if plain
            else f"aggregation={rule_in_words(rule)}"
        )
        if note.startswith("aggregation") and not note.endswith(")"):
            note += "()"
        lines.append(_answered(metric, name, found, right, judged, note))
    return lines


def _answered(
    metric: Metric, name: str, found: Answers, right: Array | None, judged: Bools, note: str = ""
) -> Line:
    """The line of an aggregation; tied classes share."""
    ties = 0 if found.tied is None else int(found.tied.any(axis=1).sum())
    each = None
    if right is not None:
        if found.choices is None:
            each = metric.each(found.decision[judged], right[judged])
        else:
            each = right_shares(found, np.where(judged, right, NO_VOTE))
    return _line(
        metric, name, each, right, judged, coverage=_coverage(found.decision), ties=ties, note=note,
        answers=found.decision,
    )  # fmt: skip


def _agreed_lines(
    metric: Metric, name: str, outcome: Outcome, right: Array | None, judged: Bools, predicted: Array | None
) -> list[Line]:
    """The consensus, and with an own aggregation the mean of the honest final votes beside it."""
    if not isinstance(outcome, CouncilOutcome):
        return [_rounds_line(metric, name, outcome, right, judged, predicted)]
    lines = []
    agreed = _answered(metric, name, outcome.aggregated, right, judged)
    if predicted is not None:
        each = None if right is None else metric.each(predicted[judged], right[judged])
        agreed = replace(
            _line(metric, name, each, right, judged, coverage=_coverage(predicted), ties=agreed.ties),
            answers=predicted,
        )
    if outcome.final is not None:
        agreed = replace(
            agreed, note="the plurality of all final votes" if outcome.classes else "their median"
        )
        held = outcome.decisions[outcome.judges]
        each = None
        scores: list[float] = []
        if right is not None:
            every = np.stack([metric.each(votes[judged], right[judged]) for votes in held])
            each, scores = every.mean(axis=0), [metric.score(one) for one in every]
        mean = _line(
            metric, FINAL if name == CONSENSUS else f"{name}: {FINAL}", each, right, judged,
            coverage=_coverage(held), note="of the honest participants, each by what it believes",
        )  # fmt: skip
        lines.append(replace(mean, score=float(np.mean(scores))) if scores else mean)
    return [*lines, agreed]


def _rounds_line(
    metric: Metric, name: str, outcome: Outcome, right: Array | None, judged: Bools, predicted: Array | None
) -> Line:
    """The line of a protocol with rounds: the mean over its repetitions."""
    decided = np.atleast_2d(outcome.decision)
    tied = outcome.tied.reshape(*decided.shape, -1)
    each = None
    if predicted is not None:
        each = None if right is None else metric.each(predicted[judged], right[judged])
    elif right is not None:
        scored = np.where(judged, right, NO_VOTE)
        each = right_by_input(decided, scored, tied).reshape(len(decided), -1).mean(axis=0)
    ties = float(tied.any(axis=-1).sum() / len(decided))
    held = decided if predicted is None else predicted
    return _line(metric, name, each, right, judged, coverage=_coverage(held), ties=ties, answers=held)


def _stacking_line(
    metric: Metric, first: Array, classes: int, right: Array | None, judged: Bools, groups: Array | None
) -> Line:
    """What could be learnt from the truth of these inputs: each is answered by what the others teach."""
    if right is None:
        raise ValueError("stacking learns from the truth: give truth=, or stacking=False")
    from folkmoot.comparing.stacking import stacked, stacked_numbers  # scikit-learn, for those who want it

    whose = None if groups is None else np.asarray(groups)[judged]
    note = "learnt from labelled inputs, five-fold" + ("" if whose is None else " by group")
    answers: Array | None
    if classes:
        said = likeliest(first) if first.ndim == 3 else first
        answers = stacked(said[:, judged], right[judged], classes, 0, groups=whose)
    else:
        shaped = first if first.ndim == 3 else first[:, :, None]
        answers = stacked_numbers(
            shaped[:, judged], right[judged].reshape(int(judged.sum()), -1), 0, groups=whose
        )
        answers = None if answers is None else answers.reshape(right[judged].shape)
    if answers is None:
        few = "inputs of some class" if classes else "inputs"
        return Line("stacking", None, note=f"needs more {few if whose is None else 'groups or ' + few}")
    return _line(
        metric, "stacking", metric.each(answers, right[judged]), right, judged, coverage=1.0, note=note
    )


def _certainty(
    outcome: Outcome,
    right: Array | None,
    judged: Bools,
    answer: Array,
    likely: Floats | None,
    labels: Any,
) -> Certainty | None:
    """Class probabilities for pictures; None without truth, or of numbers."""
    if right is None or not outcome.classes or outcome.classes * int(judged.sum()) > _MOST_LIKELY:
        return None
    if likely is None:
        if not isinstance(outcome, CouncilOutcome):
            return None
        likely = outcome.aggregated.probabilities(outcome.classes)
    shares = likely[judged]
    given = np.where(answer[judged] == NO_VOTE, shares.argmax(axis=1), answer[judged])
    return Certainty(right[judged], given, shares, labels)
