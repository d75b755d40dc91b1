"""A point of the experiment ``peer-review``: so many rows shown, so many liars of one kind, and what comes.

Judges are honest participants; few of them speak for all where that is not said otherwise. Accuracy,
agreement and probabilities are of those who anchor. Where all honest participants judge, they then talk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.femnist.ensemble import TalkSettings
from experiments.peer_review.lies import claims_of, lie_named, spoken, story_on, told_on_rows
from experiments.peer_review.shown_rows import Shown
from experiments.trust.attacks import liars_order
from folkmoot.accuracy import share_right
from folkmoot.adversaries import Steadfast
from folkmoot.arrays import Bools, Floats, Ints, Singles
from folkmoot.protocols import Slush
from folkmoot.simulation.peer_reviewed import listeners_of
from folkmoot.trust import CheckedAnswers, PeerReview, check_answers, review_all
from folkmoot.trust.checked import labels_of
from folkmoot.trust.review import ExpertVoter

Voting = Literal["labels", "probabilities"]
VOTINGS: Final[tuple[Voting, ...]] = ("labels", "probabilities")
_BINS: Final = 10  # of the calibration error


@dataclass(frozen=True)
class Place:
    """Where a point is: rows that each shows, liars of as many participants as wanted, who judges."""

    rows: int
    liars: int
    judges: int | None  # None: all honest participants, who then talk


@dataclass(frozen=True)
class Point:
    """What came of it; None where nobody anchored, or where it was not tried."""

    task: str
    voting: str
    lie: str
    seed: int
    rows: int
    liars: int  # of as many participants as were wanted
    turned: int  # of as many as there are
    participants: int
    judges: int
    anchored: int  # of the judges
    majority: float  # accuracy of the plain vote, or of the mean of the probabilities
    accuracy: float | None  # mean of the judges that anchor
    worst: float | None
    agreement: float | None  # share that decides as most do, mean over inputs
    log_loss: float | None  # of the mean probabilities of those who anchor
    calibration: float | None
    honest_accepted: float  # share of the honest publishers, mean over judges
    liars_accepted: float | None
    talked: float | None = None  # mean accuracy after the talk
    talked_worst: float | None = None
    talked_agreement: float | None = None
    forest: bool = False  # whether a forest on the rows of accepted publishers is one more voter


class Heard(NamedTuple):
    """What is said in public, in one form of votes."""

    checked: CheckedAnswers
    batch: Ints | Singles
    liars: Bools
    shown: Ints  # which rows are


def ballots(shown: Shown, voting: Voting) -> Ints | Singles:
    """What the models say of all rows and inputs, as votes."""
    chances = shown.chances.array()
    if voting == "labels":
        return np.asarray(chances.argmax(axis=2), dtype=np.int64)
    whole = chances.astype(np.float32)
    return np.asarray(whole / whole.sum(axis=2, keepdims=True))


def hear(shown: Shown, votes: Ints | Singles, lie_name: str, rows: int, turned: int) -> Heard:
    """What everybody hears if the first ``turned`` of the order tell this lie."""
    lie, classes, seed = lie_named(lie_name), shown.classes, shown.seed
    labels, owner, truth = (np.array(each) for each in (shown.labels, shown.owner, shown.truth))
    who = liars_order(len(shown.members), seed)[:turned]
    of_liars = np.isin(owner, who)
    claims = claims_of(lie, labels, of_liars, classes, seed)
    told = told_on_rows(lie, labels, claims, of_liars, classes, seed)
    some = np.flatnonzero(np.array(shown.rank) < rows)
    checked = check_answers(
        spoken(votes[:, some], who, told[some]), claims[some], owner[some], classes=classes
    )
    batch = spoken(votes[:, len(labels) :], who, story_on(lie.story, truth, classes, seed))
    return Heard(checked, batch, np.isin(np.arange(len(shown.members)), who), some)


def review_places(
    shown: Shown, voting: Voting, lie: str, wanted: int, places: list[Place], talk: TalkSettings
) -> list[Point]:
    """Cell: one kind of liar at several places."""
    votes = ballots(shown, voting)
    points = []
    for place in places:
        turned = round(place.liars * len(shown.members) / wanted)
        heard = hear(shown, votes, lie, place.rows, turned)
        with threadpool_limits(1):  # cells run side by side
            points.append(_point(shown, voting, lie, place, heard, talk))
    return points


def judges_of(shown: Shown, turned: int, most: int | None) -> list[int]:
    """Honest participants: the last of the order in which they turn, so that they are the same for all."""
    honest = liars_order(len(shown.members), shown.seed)[turned:]
    return sorted(honest[::-1][:most].tolist())


def _point(shown: Shown, voting: Voting, lie: str, place: Place, heard: Heard, talk: TalkSettings) -> Point:
    turned = int(heard.liars.sum())
    who = judges_of(shown, turned, place.judges)
    reviews = review_all(heard.checked, judges=who, batch=heard.batch)
    point = measured(shown, voting, lie, place, heard, reviews)
    if place.judges is not None or not point.anchored:
        return point
    return _after_talk(point, shown, heard, reviews, talk)


def measured(
    shown: Shown,
    voting: Voting,
    lie: str,
    place: Place,
    heard: Heard,
    reviews: Sequence[PeerReview],
    expert: ExpertVoter | None = None,
) -> Point:
    """What the judges come to, before any talk; ``expert`` is one more voter."""
    truth = np.array(shown.truth)
    anchored = [each for each in reviews if each.anchored]
    said = [None if expert is None else expert.on_inputs(each.accepted) for each in anchored]
    pairs = list(zip(anchored, said, strict=True))
    held = np.array([each.decide(heard.batch, also) for each, also in pairs])
    right = share_right(held, truth) if anchored else np.empty(0)
    likely = sum((each.probabilities(heard.batch, also) / len(pairs) for each, also in pairs), np.zeros(1))
    accepted = np.mean([each.accepted for each in reviews], axis=0)
    return Point(
        task=shown.task,
        voting=voting,
        lie=lie,
        seed=shown.seed,
        rows=place.rows,
        liars=place.liars,
        turned=int(heard.liars.sum()),
        participants=len(shown.members),
        judges=len(reviews),
        anchored=len(anchored),
        majority=float((_plain(heard.batch, shown.classes) == truth).mean()),
        accuracy=float(right.mean()) if anchored else None,
        worst=float(right.min()) if anchored else None,
        agreement=agreement(held, shown.classes) if anchored else None,
        log_loss=log_loss(likely, truth) if anchored else None,
        calibration=calibration_error(likely, truth) if anchored else None,
        honest_accepted=float(accepted[~heard.liars].mean()),
        liars_accepted=float(accepted[heard.liars].mean()) if heard.liars.any() else None,
        forest=expert is not None,
    )


def _plain(batch: Ints | Singles, classes: int) -> Ints:
    """What most vote, or the mean of the probabilities."""
    shares = batch if batch.ndim == 3 else batch[:, :, None] == np.arange(classes)
    return np.asarray(shares.mean(axis=0).argmax(axis=1))


def _after_talk(
    point: Point, shown: Shown, heard: Heard, reviews: Sequence[PeerReview], talk: TalkSettings
) -> Point:
    """Those who anchor talk, as after listening; liars stand by what they voted."""
    truth, classes = np.array(shown.truth), shown.classes
    listeners = listeners_of(reviews, heard.batch, heard.liars, labels_of(heard.batch))
    anchored = listeners.anchored
    outcome = listeners.talk(
        Slush(talk.k, talk.alpha).scaled(int(listeners.speaking.sum())),
        {int(i): Steadfast() for i in np.flatnonzero(heard.liars)},
        truth=truth, rounds=talk.rounds, seed=shown.seed, threads=1, classes=classes,
    )  # fmt: skip
    after = np.asarray(outcome.decisions[anchored], dtype=np.int64)
    right = share_right(after, truth)
    return replace(
        point,
        talked=float(right.mean()),
        talked_worst=float(right.min()),
        talked_agreement=agreement(after, classes),
    )


def agreement(held: Ints, classes: int) -> float:
    """The share that holds the most common colour, mean over inputs."""
    counts = np.stack([(held == colour).sum(axis=0) for colour in range(classes)])
    return float(counts.max(axis=0).mean() / len(held))


def log_loss(likely: Floats, truth: Ints) -> float:
    """The mean of -log of the probability of the truth."""
    return float(-np.log(np.maximum(likely[np.arange(len(truth)), truth], 1e-12)).mean())


def calibration_error(likely: Floats, truth: Ints) -> float:
    """How far the probability of the likeliest colour is from how often it is right, in ten equal bins."""
    sure, right = likely.max(axis=1), likely.argmax(axis=1) == truth
    place = np.minimum((sure * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(place, weights=sure - right, minlength=_BINS)
    return float(np.abs(gaps).sum() / len(truth))
