"""What stands beside peer review: trust by listening, forests on the rows that are shown, and one as a voter.

A forest on shown rows believes every label. The pooled one has all rows with right labels: what could be
had if nothing were private. As a voter, a forest on the rows of the publishers that a judge accepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.femnist.writer_votes import model_of
from experiments.peer_review.lies import claims_of, lie_named, spoken, story_on
from experiments.peer_review.points import VOTINGS, Place, Point, ballots, hear, judges_of, measured
from experiments.peer_review.shown_rows import ALL, Sample, Shown, forest_says, written
from experiments.trust.attacks import NOBODY, liars_order
from folkmoot.accuracy import share_right
from folkmoot.old.expert import ExpertModel, Fitted
from folkmoot.trust import Anchor, decide, listen_all, review_all


@dataclass(frozen=True)
class Listened:
    """Trust by listening, to the story of a lie: it is shown no rows."""

    task: str
    seed: int
    story: str
    liars: int
    anchored: int  # of the judges
    accuracy: float | None  # mean of the judges that anchor
    worst: float | None


@dataclass(frozen=True)
class Forest:
    """One forest on all rows that are shown, with the labels that are claimed."""

    task: str
    seed: int
    claims: str
    rows: int
    liars: int
    accuracy: float


def listen_to(shown: Shown, story: str, wanted: int, liars: list[int], judges: int) -> list[Listened]:
    """Cell: a few judges listen to first votes on the inputs, in labels."""
    votes = ballots(shown, "labels")[:, len(shown.labels) :]
    truth, n, found = np.array(shown.truth), len(shown.members), []
    for f in liars:
        turned = round(f * n / wanted)
        who = liars_order(n, shown.seed)[:turned]
        heard = spoken(votes, who, story_on(story, truth, shown.classes, shown.seed))
        some = judges_of(shown, turned, judges)
        anchors = [Anchor.of_confusion(shown.confusion[i]) if i in some else None for i in range(n)]
        with threadpool_limits(1):  # cells run side by side
            trusts = listen_all(heard, anchors, classes=shown.classes)
        held = np.array([decide(heard, trusts[i]) for i in some if trusts[i].anchored])
        right = share_right(held, truth) if len(held) else np.empty(0)
        found.append(
            Listened(
                shown.task, shown.seed, story, f, len(held),
                float(right.mean()) if len(held) else None, float(right.min()) if len(held) else None,
            )
        )  # fmt: skip
    return found


def plant(
    sample: Sample, shown: Shown, lie: str, wanted: int, places: list[Place], trees: int
) -> list[Forest]:
    """Cell: the forests on shown rows under the labels of one lie."""
    rows, told, found = written(sample), lie_named(lie), []
    for place in places:
        who = liars_order(len(shown.members), shown.seed)[: round(place.liars * len(shown.members) / wanted)]
        claims = claims_of(told, rows.labels, np.isin(rows.owner, who), shown.classes, shown.seed)
        some = np.flatnonzero(np.array(shown.rank) < place.rows)
        with threadpool_limits(1):  # cells run side by side
            said = forest_says(
                rows.X[some], claims[some], rows.X_new, shown.classes, trees, shown.seed
            ).argmax(axis=1)
        found.append(
            Forest(
                shown.task, shown.seed, told.claims, place.rows, place.liars,
                float((said == rows.truth).mean()),
            )
        )  # fmt: skip
    return found


def review_with_forest(sample: Sample, shown: Shown, place: Place, trees: int) -> list[Point]:
    """Cell: nobody lies, and a forest on the rows of the accepted publishers is one more voter."""
    rows, points = written(sample), []
    fitted: Fitted = {}  # the same for both forms of votes
    for voting in VOTINGS:
        heard = hear(shown, ballots(shown, voting), NOBODY, place.rows, 0)
        X, forest = rows.X[heard.shown], model_of("rf", trees)
        voter = ExpertModel(forest, X, heard.checked, rows.X_new, shown.seed, fitted)
        with threadpool_limits(1):  # cells run side by side
            reviews = review_all(
                heard.checked,
                judges=judges_of(shown, 0, place.judges),
                batch=heard.batch,
                expert=voter.on_rows,
            )
            points.append(measured(shown, voting, NOBODY, place, heard, reviews, voter))
    return points


def pooled(forests: Sequence[Forest]) -> dict[tuple[str, int], float]:
    """The accuracy of the forest on all rows with right labels, by task and seed."""
    return {(each.task, each.seed): each.accuracy for each in forests if each.rows == ALL and each.liars == 0}
