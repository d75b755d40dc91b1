"""A consensus on probabilities in a report, beside the talk about labels and the mean that a server takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from folkmoot.accuracy import share_right
from folkmoot.arrays import Floats, Ints
from folkmoot.comparing.how_sure.scores import balanced_scores
from folkmoot.comparison.line import Line
from folkmoot.comparison.report import CONSENSUS, Report
from folkmoot.outcome import Outcome, most
from folkmoot.votes import UNCOLOURED

ABOUT_LABELS: Final = "talk about labels"  # the line of a talk that the probabilities are compared with
MEAN_OF_PROBABILITIES: Final = "mean of probabilities"
_LEVEL: Final = 1e-9  # means that differ by less are level


def with_probabilities(
    report: Report, outcome: Outcome, truth: Ints, *, agreed: Floats, sent: Floats, how: str
) -> Report:
    """The report of a talk about labels, with what was ``agreed`` (input, class) as its consensus.

    ``sent`` (participant, input, class) is what a server would be handed, NaN for nothing; each number is a
    byte.
    """
    queries = int(outcome.queries)
    return replace(
        report,
        lines=(
            *report.lines,
            _likeliest(MEAN_OF_PROBABILITIES, np.nanmean(sent, axis=0), truth, "a server"),
            _likeliest(CONSENSUS, agreed, truth, ""),
        ),
        protocol=how,
        repeats=1,
        agreement=float(outcome.agreement.mean()),
        settled=float(outcome.settled.mean()),
        undecided=outcome.undecided,
        rounds=float(outcome.rounds.mean()),
        queries=queries,
        bytes=queries * agreed.size,
        honest=outcome.honest,
        outcomes={CONSENSUS: outcome, **report.outcomes},
    )


def _likeliest(name: str, chances: Floats, truth: Ints, needs: str) -> Line:
    """The line of the likeliest class; classes that are level share."""
    decision, level = most(chances, np.ones(len(chances), dtype=np.bool_), _LEVEL)
    right = float(share_right(decision, truth, level))
    undecided = int((decision == UNCOLOURED).sum())
    ties = np.asarray(level)[None]
    scores = balanced_scores(decision, truth, max(chances.shape[1], int(truth.max()) + 1), ties)
    return Line(name, right, None, undecided, needs, decision[None], ties, scores)
