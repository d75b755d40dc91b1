"""Learn from checked answers first, then talk: the deliberation of participants by peer review.

As with trust by listening (``self_anchored``), each participant that anchors decides by its own rule, takes
that decision into the talk, and asks there in proportion to what its rule makes of each peer's votes.
Adversaries lie on checked rows as on all others, since they cannot tell which are checked before they vote;
what they claim of rows that they publish themselves is another choice of theirs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries import Adversary, handed_in
from folkmoot.adversaries.interface import wrong
from folkmoot.arrays import Bools, Floats, Ints, Progress, Singles
from folkmoot.simulation.self_anchored import Listeners
from folkmoot.trust import (
    CheckedAnswers,
    Gold,
    GoldReview,
    PeerReview,
    TrustWarning,
    check_answers,
    review_all,
    review_gold,
)
from folkmoot.trust.checked import check_ballots, labels_of
from folkmoot.trust.review import ExpertVoter, leads
from folkmoot.votes import UNCOLOURED, Missing, Votes, check_votes

Claims: TypeAlias = Literal["wrong", "right", "backing"]
"""What adversaries publish as the labels of their own rows: the wrong colour that all who lie agree on, the
right one, or what they vote there themselves, so that the labels back the story."""


@dataclass(frozen=True, eq=False)
class Reviewing:
    """Peer review as something to compare by: checked answers, and how votes and lies are handed in.

    Parameters
    ----------
    checked : CheckedAnswers
        Votes on checked rows as if nobody lied, claimed truths, and who claims them.
    ballots : ndarray of float, shape (participant, input, colour), optional
        The probabilities that are handed in on the batch, where the checked answers are probabilities.
        Default: the votes on it.
    claims : {"wrong", "right", "backing"}, default "wrong"
        What adversaries publish as the labels of their own rows.
    expert : callable, optional
        Makes one more voter of the checked answers as everybody is shown them, such as a model that is fitted
        to the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot import Slush, compare
    >>> from folkmoot.simulation.peer_reviewed import Reviewing
    >>> from folkmoot.trust import check_answers
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 400)
    >>> votes = np.where(rng.random((9, 400)) < 0.7, truth, 1 - truth)
    >>> votes[:4] = 1 - truth  # four are always wrong, and so are read backwards
    >>> checked = check_answers(votes[:, :90], truth[:90], np.arange(90) % 9, classes=2)
    >>> report = compare(
    ...     votes[:, 90:], Slush(4, 3), truth=truth[90:], anchors=Reviewing(checked), repeats=1
    ... )
    >>> bool(report.accuracy("consensus") > 0.95 > report.accuracy("majority"))
    True
    """

    checked: CheckedAnswers
    ballots: Floats | Singles | None = None
    claims: Claims = "wrong"
    expert: Callable[[CheckedAnswers], ExpertVoter] | None = None

    def voter(self, adversaries: Mapping[int, Adversary]) -> ExpertVoter | None:
        """The expert that learns from what is published, lies and all."""
        if self.expert is None:
            return None
        return self.expert(with_lies(self.checked, adversaries, self.claims))

    def first(
        self, votes: Votes, adversaries: Mapping[int, Adversary], truth: Votes | None
    ) -> Listeners[PeerReview] | None:
        """Those who have learnt, and decided the votes."""
        return review_first(
            votes if self.ballots is None else self.ballots,
            self.checked,
            adversaries=adversaries,
            truth=known_truth(truth, self.checked.classes),
            claims=self.claims,
            expert=self.voter(adversaries),
        )


def known_truth(truth: Votes | None, classes: int) -> Votes | None:
    """The truth as far as it is one of the checked colours; liars take any other for the first."""
    return None if truth is None else np.where(truth < classes, truth, 0)


def review_first(
    votes: npt.ArrayLike,
    checked: CheckedAnswers,
    *,
    adversaries: Mapping[int, Adversary] | None = None,
    truth: npt.ArrayLike | None = None,
    claims: Claims = "wrong",
    judges: Sequence[int] | None = None,
    missing: Missing = "absent",
    expert: ExpertVoter | None = None,
    progress: Progress | None = None,
) -> Listeners[PeerReview] | None:
    """Let everybody learn from checked answers, and decide a batch by that; ``Listeners.talk`` is the talk.

    ``votes`` (participant, input) or (participant, input, colour) and ``checked`` are as if nobody lied; what
    adversaries hand in on both, and claim of rows that they publish, is put in their place. ``judges`` are
    those who learn, decide and talk, everybody by default; all vote and show their rows. With ``missing``
    "absent" they hand in nothing where their model has no vote. ``expert`` is one more voter, which
    each judge hears as it has learnt from those whom the judge accepts.

    A participant without any vote on the batch takes no part. None, with a ``TrustWarning``, if nobody
    anchors.
    """
    classes = checked.classes
    cast = check_ballots(votes, classes)
    adversaries = adversaries or {}
    if cast.ndim != checked.votes.ndim or len(cast) != checked.participants:
        raise ValueError(
            f"votes must be of the {checked.participants} participants that have checked answers, and of the "
            f"same kind: got the shapes {cast.shape} and {checked.votes.shape}"
        )
    if claims not in get_args(Claims):
        raise ValueError(f"claims must be one of {', '.join(get_args(Claims))}: got {claims!r}")
    seen = ballots_handed_in(cast, adversaries, truth, classes, missing)
    heard = with_lies(checked, adversaries, claims, missing)
    lying = np.isin(np.arange(len(cast)), list(adversaries))
    voted: npt.NDArray[np.bool_] = (labels_of(seen) != UNCOLOURED).any(axis=1)
    wanted = range(len(cast)) if judges is None else sorted(judges)
    stranger = next((i for i in wanted if not 0 <= i < len(cast)), None)
    if stranger is not None:
        raise ValueError(f"judges must be among the {len(cast)} participants: got {stranger}")
    able = [i for i in wanted if voted[i] and not lying[i]]
    if not able:
        _warn("no honest participant has votes, so none can learn from checked answers")
        return None
    on_rows = None if expert is None else expert.on_rows
    found = review_all(heard, judges=able, batch=seen, expert=on_rows, progress=progress)
    reviewers = listeners_of(found, seen, lying, labels_of(cast), expert)
    if not reviewers.anchored.any():
        _warn(
            "nobody can anchor by checked answers, so everybody is trusted alike; the first participant "
            f"says: {found[0].why}"
        )
        return None
    return reviewers


def listeners_of(
    found: Sequence[PeerReview],
    seen: Ints | Singles,
    lying: Bools,
    held_by_liars: Votes,
    expert: ExpertVoter | None = None,
) -> Listeners[PeerReview]:
    """Those who have reviewed a batch as it was handed in, ready to talk; who has not takes no part.

    ``lying`` (participant,) are adversaries, ``held_by_liars`` (participant, input) has in their rows what
    they hold in the talk; those that handed in no vote are not asked there.
    """
    n = len(seen)
    nobody = replace(found[0], anchored=False, recognition=0.0, why="it takes no part in the review")
    nobody = replace(nobody, accepted=np.zeros(n, dtype=np.bool_), weight=np.zeros(n))
    reviews = [replace(nobody, own=i) for i in range(n)]
    held = np.full(seen.shape[:2], UNCOLOURED)
    sure = np.zeros(seen.shape[:2])
    for review in found:
        reviews[review.own] = review
        if review.anchored:
            said = None if expert is None else expert.on_inputs(review.accepted)
            held[review.own] = review.decide(seen, said)
            sure[review.own] = leads(review.scores(seen, said))
    anchored = (held != UNCOLOURED).any(axis=1)
    held[lying] = held_by_liars[lying]
    voted: Bools = (labels_of(seen) != UNCOLOURED).any(axis=1)
    speaking = anchored | (lying & voted)
    return Listeners(tuple(reviews), anchored, speaking, held, sure, labels_of(seen), "peer review")


def _with_votes(votes: Ints | Singles, lying: Bools, i: int, column: Ints) -> Ints | Singles:
    """The votes with others (participant,) on input i; who votes otherwise is sure of it, and liars stay."""
    cast = votes.copy()
    moved = (labels_of(votes)[:, i] != column) & ~lying
    if cast.ndim == 2:
        cast[moved, i] = column[moved]
    else:
        cast[moved, i] = column[moved, None] == np.arange(cast.shape[2])
    return cast


def review_gold_first(
    votes: npt.ArrayLike,
    gold: Gold,
    *,
    adversaries: Mapping[int, Adversary] | None = None,
    truth: npt.ArrayLike | None = None,
    classes: int,
    missing: Missing = "absent",
) -> Listeners[GoldReview] | None:
    """Let everybody learn from the gold tasks of a crowd and all votes, and decide the others by that.

    ``votes`` (participant, input) and ``gold``, from ``split_gold``, are as if nobody lied. Gold and votes
    are public, so whoever does not lie comes to the same decisions and takes them into the talk.

    A participant without any vote on the batch takes no part. None, with a ``TrustWarning``, if nobody
    anchors.
    """
    cast = check_votes(votes, classes)
    adversaries = adversaries or {}
    seen = handed_in(cast, adversaries, truth, classes, missing=missing)
    told = check_answers(gold.votes, gold.truth, classes=classes)
    found = review_gold(with_lies(told, adversaries, missing=missing), seen)
    lying = np.isin(np.arange(len(cast)), list(adversaries))
    voted = (seen != UNCOLOURED).any(axis=1)
    deciding = voted & ~lying & found.anchored
    if not deciding.any():
        _warn(
            "nobody can anchor by gold, so everybody is trusted alike: "
            + (found.why if (voted & ~lying).any() else "no honest participant has votes")
        )
        return None
    held = np.where(deciding[:, None], found.decide(), UNCOLOURED)
    held[lying] = cast[lying]
    nothing = np.zeros(len(cast))
    opinions = [
        replace(found, own=i, anchored=bool(each), weight=found.weight if each else nothing)
        for i, each in enumerate(deciding)
    ]
    sure = np.where(deciding[:, None], leads(found.chances), 0.0)
    speaking = deciding | (lying & voted)
    return Listeners(tuple(opinions), deciding, speaking, held, sure, seen, "peer review")


def with_lies(
    checked: CheckedAnswers,
    adversaries: Mapping[int, Adversary],
    claims: Claims = "wrong",
    missing: Missing = "absent",
) -> CheckedAnswers:
    """Checked answers as everybody is shown them: adversaries' votes, and labels of rows they publish."""
    if not adversaries:
        return checked  # the same object: what was learnt from it is known
    votes = ballots_handed_in(checked.votes, adversaries, checked.truth, checked.classes, missing)
    told = checked.truth.copy()
    for row in np.flatnonzero(np.isin(checked.publisher, list(adversaries))):
        if claims == "wrong":
            told[row] = wrong(int(told[row]), checked.classes)
        elif claims == "backing":
            vote = labels_of(votes)[checked.publisher[row], row]
            told[row] = told[row] if vote == UNCOLOURED else vote
    return replace(checked, votes=votes, truth=told)


def ballots_handed_in(
    votes: Ints | Singles,
    adversaries: Mapping[int, Adversary],
    truth: npt.ArrayLike | None,
    classes: int,
    missing: Missing = "absent",
) -> Ints | Singles:
    """What is handed in, as ``handed_in``; adversaries that vote in probabilities are sure of their lie."""
    labels = handed_in(labels_of(votes), adversaries, truth, classes, missing=missing)
    if votes.ndim == 2:
        return labels
    result = votes.copy()
    for liar in adversaries:
        result[liar] = (labels[liar][:, None] == np.arange(classes)).astype(votes.dtype)
    return result


def _warn(what: str) -> None:
    warnings.warn(what, TrustWarning, stacklevel=3)
