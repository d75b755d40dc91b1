"""Reports of a fitted moot beside single participants and central aggregation.

Adversaries are an experiment here, never a property of an estimator. Models predict once for all numbers of
adversaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from folkmoot.aggregation import Plurality
from folkmoot.arrays import Array, Floats
from folkmoot.comparing.comparing import report_on
from folkmoot.comparing.joining import compare_alone
from folkmoot.comparing.report import Report
from folkmoot.learning.classifier import ConsensusClassifier, first_choice
from folkmoot.learning.first_votes import FirstVotes, check_labels, with_strangers
from folkmoot.learning.regressor import ConsensusRegressor
from folkmoot.learning.scoring import Scoring, scorers, with_scores
from folkmoot.learning.tables import group_column
from folkmoot.outcome import Outcome
from folkmoot.simulation.council import CouncilOutcome, likeliest
from folkmoot.votes import NO_VOTE

FILLED: Final = "answered with the first of the tied labels, as predict does"


def reports(
    moot: ConsensusClassifier | ConsensusRegressor,
    X: Any,
    y: Any,
    adversaries: Sequence[Any] = (None,),
    *,
    groups: Any = None,
    scoring: Scoring | None = None,
    stacking: bool = True,
) -> Iterator[Report]:
    """Report on a fitted moot, once for each of ``adversaries``.

    The score of the consensus is ``moot.score``.

    ``X`` (input, feature): The inputs. ``y`` (input,) or (input, output): The truth. For labels that nobody
    has learnt, all answers are wrong. ``groups`` (input,): The participant of each input, for
    ``Report.joining``: each alone and together on its inputs.
    """
    moot._check_fitted()
    moot._check_parameters()
    wanted = None if scoring is None else scorers(scoring)
    labels = None
    if isinstance(moot, ConsensusClassifier):
        moot._check_abstaining()
        labels = with_strangers(moot.classes_, check_labels(y))
    votes = moot._first_votes(X)
    truth = _truth(moot, y, labels, votes)
    whose = None if groups is None else group_column(groups)
    alone = likeliest(votes.table) if labels is not None and votes.table.ndim == 3 else votes.table
    for each in adversaries:
        # Of a label that nobody has learnt any answer is wrong.
        known = truth if labels is None else np.where(truth < moot._n_classes, truth, 0)
        outcome, likely = moot._deliberated(votes, known, moot._malicious(each)), None
        predicted = np.asarray(outcome.decision)
        if labels is not None:
            predicted, likely = _filled(moot, votes, outcome, len(labels))
            outcome = replace(outcome, classes=len(labels), labels=labels)
        report = report_on(
            outcome, truth=truth, stacking=stacking, holdout=_holdout(moot), predicted=predicted,
            filled=FILLED, likely=likely, groups=whose,
        )  # fmt: skip
        if whose is not None:
            joining = compare_alone(report.metric, alone, predicted, truth, whose, moot._names)
            report = replace(report, joining=joining)
        if wanted is not None:
            honest = alone[[row.role == "honest" for row in report.participants.rows]]
            report = with_scores(
                report, wanted, truth, honest, labels=labels, predicted=predicted, likely=likely
            )
        yield report


def _truth(moot: Any, y: Any, labels: Array | None, votes: FirstVotes) -> Array:
    truth = np.asarray(y, dtype=np.float64) if labels is None else moot._truth(y, labels)
    shape = votes.table.shape[1:] if labels is None else votes.table.shape[1:2]
    if truth.shape != shape:
        raise ValueError(f"y must have the shape {shape}, one answer per input: got {truth.shape}")
    return np.asarray(truth)


def _holdout(moot: Any) -> tuple[list[float], list[int]] | None:
    """Right answers (or mean squared errors) of participants on their own rows, and the numbers of rows."""
    people = moot.participants_
    if not any(each.held_out for each in people):
        return None
    classes = isinstance(moot, ConsensusClassifier)
    kept = [each.right if classes else each.squared_error if each.held_out else 0.0 for each in people]
    return kept, [each.held_out for each in people]


def _filled(moot: Any, votes: FirstVotes, outcome: Outcome, labels: int) -> tuple[Array, Floats]:
    """The answers of ``predict`` and ``predict_proba``, which are 0 for labels that nobody has learnt."""
    if isinstance(outcome, CouncilOutcome):
        table = outcome.first
        answers = outcome.aggregated if outcome.final is None else moot._counted(outcome.final)
    else:
        table = np.asarray(outcome.votes)
        decision = np.atleast_2d(outcome.decision)[0]
        answers = replace(Plurality().aggregate(table), decision=decision)
    chosen, likely = first_choice(answers), moot._likely(replace(votes, table=table), answers)
    if moot.abstain_below is not None:
        sure = np.take_along_axis(likely, chosen[:, None], axis=1)[:, 0]
        chosen = np.where(sure >= moot.abstain_below, chosen, NO_VOTE)
    return chosen, np.pad(likely, ((0, 0), (0, labels - likely.shape[1])))
