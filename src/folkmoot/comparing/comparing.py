"""``compare``: the answer to votes beside single participants and every rule that sees all votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    aggregation: Aggregation | str | None = None,
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
    aggregation : Aggregation or str, optional
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

    scored = _Scored(metric, right, judged)
    lines = _single_lines(scored, said, honest, called)
    lines += _central_lines(
        scored, first, main, _central(main, first, kept) if others is None else others, known
    )
    if stacking:
        lines.append(_stacking_line(scored, first, main.classes, groups))
    for name, each in outcomes.items():
        lines += _agreed_lines(scored, name, each, predicted if each is main else None)
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


@dataclass(frozen=True, eq=False)
class _Scored:
    """The inputs that are scored, and how."""

    metric: Metric
    right: Array | None  # the truth; None if it is not known of any input
    judged: Bools  # (input,)

    def each(self, answers: Array) -> Floats:
        """The scores of answers, input by input."""
        right = np.asarray(self.right)
        return self.metric.each(answers[self.judged], right[self.judged])

    def line(self, name: str, answers: Array, each: Floats | None = None, **more: Any) -> Line:
        """A line of answers; ``each`` are their scores where ties share."""
        more = {"coverage": float(is_there(answers).mean()), "answers": answers, **more}
        if self.right is None:
            return Line(name, None, **more)
        each = self.each(answers) if each is None else each
        further = self.metric.also(each, self.right[self.judged])
        return Line(name, self.metric.score(each), self.metric.standard_error(each), scores=further, **more)

    def mean_line(self, name: str, table: Array, **more: Any) -> Line:
        """A line of the mean score of several participants."""
        if self.right is None:
            return replace(self.line(name, table, **more), answers=None)
        every = np.stack([self.each(own) for own in table])
        line = self.line(name, table, every.mean(axis=0), **more)
        # The mean of errors is no error of mean squares.
        return replace(line, score=float(np.mean([self.metric.score(one) for one in every])), answers=None)


def _single_lines(scored: _Scored, said: Array, honest: Ints, names: Sequence[str]) -> list[Line]:
    """The mean and the best of the honest participants; nothing without truth."""
    if scored.right is None or not honest.size:
        return []
    scores = [scored.metric.score(scored.each(said[i])) for i in honest.tolist()]
    best = honest[np.argmax(scores) if scored.metric.higher_is_better else np.argmin(scores)]
    note = f"{names[best]}: known by the truth only"
    return [scored.mean_line(MEAN, said[honest]), scored.line(BEST, said[best], note=note)]


def _central(outcome: Outcome, first: Array, kept: tuple[Floats, Ints] | None) -> dict[str, Aggregation]:
    """The rules that a consensus is compared with."""
    if not outcome.classes:
        return {"mean": Mean(), "median": Median(), "trimmed mean": TrimmedMean()}
    found: dict[str, Aggregation] = {"majority": Plurality()}
    if first.ndim == 3:
        found["mean of probabilities"] = Pool(robust=False)
        found["logarithmic pool"] = Pool("log", robust=False)
    found["Dawid-Skene"] = DawidSkene()
    if kept is not None and (kept[1] > 0).any():
        believed = laplace_accuracy(kept[0], kept[1], outcome.classes)
        found["weighted"] = Weighted(np.maximum(log_odds(believed, outcome.classes), 0.0).tolist())
    return found


def _central_lines(
    scored: _Scored, first: Array, outcome: Outcome, rules: Mapping[str, Aggregation], known: Known | None
) -> list[Line]:
    """Every rule that sees all votes."""
    besides = Known() if known is None else known
    if outcome.classes and besides.classes is None:
        besides = replace(besides, classes=outcome.classes)
    lines = []
    for name, named in rules.items():
        rule = check_aggregation(named)
        labels = outcome.classes and "labels" in rule.takes and "probabilities" not in rule.takes
        given = likeliest(first) if labels and first.ndim == 3 else first
        note = "by holdout accuracy" if name == "weighted" else ""
        if not note and type(rule) not in (Plurality, Mean, Median):
            words = rule_in_words(rule)
            note = f"aggregation={words}" + ("" if words.endswith(")") else "()")
        lines.append(_answered(scored, name, rule.aggregate(given, besides), note))
    return lines


def _answered(scored: _Scored, name: str, found: Answers, note: str = "") -> Line:
    """The line of an aggregation; tied classes share."""
    ties = 0 if found.tied is None else int(found.tied.any(axis=1).sum())
    each = None
    if scored.right is not None and found.choices is not None:
        each = right_shares(found, np.where(scored.judged, scored.right, NO_VOTE))
    return scored.line(name, found.decision, each, ties=ties, note=note)


def _agreed_lines(scored: _Scored, name: str, outcome: Outcome, predicted: Array | None) -> list[Line]:
    """The consensus, and with an own aggregation the mean of the honest final votes beside it."""
    if not isinstance(outcome, CouncilOutcome):
        return [_rounds_line(scored, name, outcome, predicted)]
    agreed = _answered(scored, name, outcome.aggregated)
    if predicted is not None:
        agreed = scored.line(name, predicted, ties=agreed.ties)
    if outcome.final is None:
        return [agreed]
    mean = scored.mean_line(
        FINAL if name == CONSENSUS else f"{name}: {FINAL}",
        outcome.decisions[outcome.judges],
        note="of the honest participants, each by what it believes",
    )
    note = "the plurality of all final votes" if outcome.classes else "their median"
    return [mean, replace(agreed, note=note)]


def _rounds_line(scored: _Scored, name: str, outcome: Outcome, predicted: Array | None) -> Line:
    """The line of a protocol with rounds: the mean over its repetitions."""
    decided = np.atleast_2d(outcome.decision)
    tied = outcome.tied.reshape(*decided.shape, -1)
    ties = float(tied.any(axis=-1).sum() / len(decided))
    if predicted is not None:
        return scored.line(name, predicted, ties=ties)
    each = None
    if scored.right is not None:
        right = np.where(scored.judged, scored.right, NO_VOTE)
        each = right_by_input(decided, right, tied).reshape(len(decided), -1).mean(axis=0)
    return scored.line(name, decided, each, ties=ties)


def _stacking_line(scored: _Scored, first: Array, classes: int, groups: Array | None) -> Line:
    """What could be learnt from the truth of these inputs: each is answered by what the others teach."""
    if scored.right is None:
        raise ValueError("stacking learns from the truth: give truth=, or stacking=False")
    from folkmoot.comparing.stacking import stacked, stacked_numbers  # scikit-learn, for those who want it

    right, there = scored.right[scored.judged], scored.judged
    whose = None if groups is None else np.asarray(groups)[there]
    note = "learnt from labelled inputs, five-fold" + ("" if whose is None else " by group")
    answers: Array | None
    if classes:
        said = likeliest(first) if first.ndim == 3 else first
        answers = stacked(said[:, there], right, classes, 0, groups=whose)
    else:
        shaped = first if first.ndim == 3 else first[:, :, None]
        answers = stacked_numbers(shaped[:, there], right.reshape(len(right), -1), 0, groups=whose)
    if answers is None:
        few = "inputs of some class" if classes else "inputs"
        return Line("stacking", None, note=f"needs more {few if whose is None else 'groups or ' + few}")
    each = scored.metric.each(answers.reshape(right.shape), right)
    return replace(scored.line("stacking", answers, each, note=note), answers=None)


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
    shares = (outcome.probabilities if likely is None else likely)[judged]
    given = np.where(answer[judged] == NO_VOTE, shares.argmax(axis=1), answer[judged])
    return Certainty(right[judged], given, shares, labels)
