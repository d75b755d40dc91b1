"""Peer review: a participant learns from checked answers whom to believe on what (docs/peer-review.md).

It begins with its own rows, accepts publishers whose claims its rule predicts better than chance, and learns
again from its own rows and theirs, three times. Publishers that stand apart, and that the rules of its own
side do not reach, are heard one by one, once. It anchors if rules that have not seen its own rows know them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.accuracy import softmax
from folkmoot.arrays import Bools, Floats, Ints, Progress, Singles
from folkmoot.cores import one_thread
from folkmoot.trust.blend import forecast, shares, sharpest, smoothed
from folkmoot.trust.checked import PUBLIC, CheckedAnswers, centred, check_ballots
from folkmoot.trust.panel import Panel, Rule, told
from folkmoot.trust.shift import LEAST_BATCH, agreement, shifted
from folkmoot.trust.shown import ShownView, yes
from folkmoot.trust.vetting import BELIEVED, attainable, believed, more_than_chance, permutation_z
from folkmoot.votes import UNCOLOURED

SWEEPS: Final = 3
_REACHED: Final = 0.5  # of what a rule is worth on its own side, it must be worth on the other

# Given who is accepted, (participant,): another voter's answers to the checked rows, each by a model that had
# not seen its publisher's rows, as ``centred`` makes votes, (row, colour).
Expert: TypeAlias = Callable[[Bools], Singles]


class ExpertVoter(Protocol):
    """One more voter, which answers checked rows and a batch; ``accepted`` (participant,) may teach it."""

    def on_rows(self, accepted: Bools) -> Singles:
        """(row, colour): its votes on the checked rows, as ``review_all`` wants them of an expert."""
        ...

    def on_inputs(self, accepted: Bools) -> Singles:
        """(input, colour): its votes on the batch, less 1/C."""
        ...


@dataclass(frozen=True, eq=False)
class PeerReview(ShownView):
    """One participant's rule, learnt from checked answers: what speaks for each colour, and how much.

    Parameters
    ----------
    own : int
        The participant whose rule it is.
    anchored : bool
        Whether rules that had not seen its own rows know their labels. If not, it decides nothing.
    recognition : float
        How much better than by chance these know them, in standard deviations.
    accepted : ndarray of bool, shape (participant,)
        Whose published rows it learnt from.
    muted : ndarray of bool, shape (participant,)
        Whose votes it does not hear, since they answer the batch unlike checked rows.
    weight : ndarray of float, shape (participant,)
        What each one's vote counts for, on average over colours.
    sharpness : float
        What scores are multiplied by to become logarithms of odds.
    why : str
        One sentence: on what the rule rests, or why there is none.
    panel : Panel
        The checked answers, as features.
    rule : Rule
        The linear rule.

    See Also
    --------
    review_all : Makes it.

    Examples
    --------
    Five participants; the third is wrong whenever the truth is 1, the last always. Ten rows each tell.

    >>> import numpy as np
    >>> from folkmoot.trust import check_answers, review_all
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 300)
    >>> votes = np.where(rng.random((5, 300)) < 0.8, truth, 1 - truth)
    >>> votes[2], votes[4] = 0, 1 - truth
    >>> checked = check_answers(votes[:, :50], truth[:50], np.arange(50) % 5, classes=2)
    >>> first = review_all(checked)[0]
    >>> first.anchored, bool(first.weight[4] < 0)  # it is read backwards
    (True, True)
    >>> bool((first.decide(votes[:, 50:]) == truth[50:]).mean() > 0.95)
    True
    """

    own: int
    anchored: bool
    recognition: float
    accepted: Bools
    muted: Bools
    weight: Floats
    sharpness: float
    why: str
    panel: Panel
    rule: Rule

    def _beside(self) -> dict[str, list[str]]:
        return {"its rows accepted": yes(self.accepted), "heard": yes(~self.muted)}

    def scores(self, votes: npt.ArrayLike, expert: Singles | None = None) -> Singles:
        """Say how much speaks for each colour.

        Parameters
        ----------
        votes : array-like, shape (participant, input) or (participant, input, colour)
            Votes of the same participants and of the same kind as the checked ones.
        expert : ndarray of float, shape (input, colour), optional
            The votes of the expert, if the rule was learnt with one.

        Returns
        -------
        ndarray of float, shape (input, colour)
            The scores; 0 speaks neither for nor against.
        """
        cast = check_ballots(votes, self.panel.classes)
        if len(cast) != self.panel.participants or cast.ndim != self.panel.checked.votes.ndim:
            kind = "colours" if self.panel.checked.votes.ndim == 2 else "probabilities"
            raise ValueError(
                f"votes must be {kind}, as the checked ones are, of {self.panel.participants} participants: "
                f"got the shape {cast.shape}"
            )
        return self.panel.scores(self.rule, centred(cast, self.panel.classes), expert)

    def probabilities(self, votes: npt.ArrayLike, expert: Singles | None = None) -> Floats:
        """Say how likely each colour is the right one.

        Parameters
        ----------
        votes : array-like, shape (participant, input) or (participant, input, colour)
            Votes of the same participants.
        expert : ndarray of float, shape (input, colour), optional
            The votes of the expert, if the rule was learnt with one.

        Returns
        -------
        ndarray of float, shape (input, colour)
            The probabilities; all alike if there is no anchor.
        """
        scores = self.scores(votes, expert).astype(np.float64)
        return softmax(scores * (self.sharpness if self.anchored else 0.0))

    def probabilities_of_own(self, votes: npt.ArrayLike) -> Floats:
        """Say how likely each colour is on inputs that are like one's own rows.

        Sites that are unlike each other know best what they see themselves. This is a mixture of the rule, of
        the rule of one's own rows alone, and of one's own vote, in the shares that fit one's own rows best,
        by what each says of rows it has not seen. With more than ten participants a publisher's votes on its
        own rows are not known, and it is the rule.

        Parameters
        ----------
        votes : array-like, shape (participant, input) or (participant, input, colour)
            Votes of the same participants.

        Returns
        -------
        ndarray of float, shape (input, colour)
            The probabilities.
        """
        rows, panel = self.panel.rows_of[self.own], self.panel
        if len(rows) < 2 or not panel.blocks[rows, self.own].any():
            return self.probabilities(votes)
        truth = panel.checked.truth[rows]
        sharp = self.sharpness if self.anchored else 0.0
        common = softmax(sharp * panel.without(self.own, self.accepted, self.rule).astype(np.float64))
        alone = panel.alone(self.own)
        keen, mine = _sharpness(alone, panel.checked), np.isin(alone.rows, rows)
        by_itself = softmax(keen * alone.unseen[mine].astype(np.float64))
        voted, sure = smoothed(panel.blocks[rows, self.own].astype(np.float64), truth)
        likely = [each[np.arange(len(rows)), truth] for each in (common, by_itself, voted)]
        share = shares(np.stack(likely, axis=1))
        blocks = centred(check_ballots(votes, panel.classes), panel.classes)
        said = panel.scores(alone, blocks).astype(np.float64)
        return np.asarray(
            share[0] * self.probabilities(votes)
            + share[1] * softmax(keen * said)
            + share[2] * forecast(blocks[:, self.own].astype(np.float64), sure)
        )

    def decide(self, votes: npt.ArrayLike, expert: Singles | None = None) -> Ints:
        """Decide every input.

        Parameters
        ----------
        votes : array-like, shape (participant, input) or (participant, input, colour)
            Votes of the same participants.
        expert : ndarray of float, shape (input, colour), optional
            The votes of the expert, if the rule was learnt with one.

        Returns
        -------
        ndarray of int, shape (input,)
            The colour that most speaks for; -1 for all if there is no anchor, and where nobody has voted.
        """
        scores = self.scores(votes, expert)
        nothing = ~scores.any(axis=1) if self.anchored else np.ones(len(scores), dtype=bool)
        return np.where(nothing, UNCOLOURED, scores.argmax(axis=1))


def review_all(
    checked: CheckedAnswers,
    *,
    judges: Sequence[int] | None = None,
    batch: npt.ArrayLike | None = None,
    expert: Expert | None = None,
    progress: Progress | None = None,
) -> list[PeerReview]:
    """Let participants learn from checked answers, each for itself.

    Parameters
    ----------
    checked : CheckedAnswers
        Votes, claimed truths, and who claims them.
    judges : sequence of int, optional
        Who learns. Default: everybody.
    batch : array-like, shape (participant, input) or (participant, input, colour), optional
        The votes that will be decided. With more than 500 inputs, participants that agree with each other
        there more than on checked rows, as liars do that spare check rows, are heard by each other only.
    expert : callable, optional
        One more voter, such as a model fitted on published rows. It is given who is accepted, (participant,)
        bools, and returns (row, colour): its votes less 1/C on the checked rows, each by a model that has not
        seen the rows of the same publisher.
    progress : callable, optional
        Called with (done, all) whenever a judge is done.

    Returns
    -------
    list of PeerReview
        One for each judge.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust import check_answers, review_all
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(0, 3, 60)
    >>> votes = np.where(rng.random((6, 60)) < 0.8, truth, (truth + 1) % 3)
    >>> reviews = review_all(check_answers(votes, truth, np.arange(60) % 6, classes=3))
    >>> print(reviews[0].why)
    anchored: learnt from 60 rows of 6 publishers; without its own 10 rows it predicts them (z 3...)
    """
    who = range(checked.participants) if judges is None else judges
    for own in who:
        if not 0 <= checks.integer("judge", own) < checked.participants:
            raise ValueError(f"judge must satisfy 0 <= judge < {checked.participants}: got {own}")
    done: list[PeerReview] = []
    with one_thread():
        benches = _benches(checked, batch)
        for own in who:
            deaf = benches[-1]
            done.append((benches[0] if deaf.muted[own] else deaf).review(own, expert))
            if progress is not None:
                progress(len(done), len(who))
    return done


def leads(scores: Singles | Floats) -> Floats:
    """(input,): by how much the best score (input, colour) is ahead of the second."""
    two = np.sort(scores.astype(np.float64), axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def _benches(checked: CheckedAnswers, batch: npt.ArrayLike | None) -> list[_Bench]:
    """All who judge, and where some answer the batch unlike checked rows a bench that does not hear them."""
    known: dict[bytes, _Bench] = checked.learnt
    hearing = known.setdefault(b"", _Bench(checked, np.zeros(checked.participants, dtype=bool)))
    if batch is None or np.shape(batch)[1] <= LEAST_BATCH or not checked.rows:
        return [hearing]
    blocks = centred(check_ballots(batch, checked.classes), checked.classes)
    odd = shifted(hearing.panel.agreement, agreement(blocks))
    if odd is None:
        return [hearing]
    return [hearing, known.setdefault(odd.tobytes(), _Bench(checked, odd))]


class _Bench:
    """Judges of the same checked answers who do not hear the same participants, and their reviews so far."""

    def __init__(self, checked: CheckedAnswers, muted: Bools) -> None:
        self._checked = checked
        self.muted = muted
        self._reviews: dict[tuple[int, bytes], PeerReview] = {}
        self._accepted: dict[int, Bools] = {}

    @cached_property
    def panel(self) -> Panel:
        return Panel(self._checked, self.muted)

    def review(self, own: int, expert: Expert | None) -> PeerReview:
        if int(self.panel.published[own]) + len(self.panel.public) < 2:
            return _without_rows(own, self.panel)
        if own not in self._accepted:
            self._accepted[own] = _accepted(own, self.panel)
        accepted = self._accepted[own]
        said = None if expert is None else expert(accepted)
        key = own, told(said)
        if key not in self._reviews:
            self._reviews[key] = _review(own, self.panel, accepted, said)
        return self._reviews[key]


def _without_rows(own: int, panel: Panel) -> PeerReview:
    nobody, nothing = np.zeros(panel.participants, dtype=bool), np.zeros(panel.participants)
    mine = int(panel.published[own]) + len(panel.public)
    why = f"not anchored: it has {mine} checked rows of its own, and one needs 2 to begin with"
    return PeerReview(own, False, 0.0, nobody, panel.muted, nothing, 1.0, why, panel, panel.alone(own))


def _review(own: int, panel: Panel, accepted: Bools, said: Singles | None) -> PeerReview:
    rule = panel.learnt(accepted, said)
    recognition = _recognition(own, panel, accepted, rule, said)
    taught = _taught(own, panel, accepted, rule)
    return PeerReview(
        own,
        taught and _knows(own, panel, recognition),
        recognition,
        accepted,
        panel.muted,
        panel.weight(rule),
        _sharpness(rule, panel.checked),
        _why(own, panel, accepted, recognition, taught),
        panel,
        rule,
    )


def _why(own: int, panel: Panel, accepted: Bools, recognition: float, taught: bool) -> str:
    if not taught:
        return (
            f"not anchored: the rows of {int(np.delete(accepted, own).sum())} others agree with its own, no "
            "more than by chance"
        )
    rows, publishers = len(panel.rows(accepted)), int((accepted & (panel.published > 0)).sum())
    own_rows = int(panel.published[own])
    known = f"the {len(panel.public)} public rows" if len(panel.public) else f"its own {own_rows} rows"
    if not _knows(own, panel, recognition):
        return f"not anchored: rules that have not seen {known} do not predict them (z {recognition:.1f})"
    deaf = f"; {int(panel.muted.sum())} answer the batch unlike checked rows and are not heard" * bool(
        panel.muted.any()
    )
    plain = "" if panel.full else "; one weight a participant and one a colour, since there are so many"
    source = f"{rows} rows of {publishers} publishers" if publishers else f"{rows} public rows"
    return (
        f"anchored: learnt from {source}; without {known} it predicts them (z {recognition:.1f}){deaf}{plain}"
    )


def _accepted(own: int, panel: Panel) -> Bools:
    """Whose rows go with one's own."""
    allowed = np.ones(panel.participants, dtype=bool)
    for side in panel.sides:
        here = side == side[own]
        accepted, rule = _vetted(own, panel, here)
        if accepted.sum() > 1 and _there(panel, rule, ~here) < _REACHED * _here(panel, rule, accepted):
            allowed &= here
    accepted, rule = _vetted(own, panel, allowed)
    if not allowed.all():  # once, so that they cannot let each other in
        accepted = accepted | (~allowed & (_zs(panel, panel.scores(rule)) > BELIEVED))
    return accepted


def _vetted(own: int, panel: Panel, allowed: Bools) -> tuple[Bools, Rule]:
    rule = panel.alone(own)
    accepted = np.zeros(panel.participants, dtype=bool)
    for _ in range(SWEEPS):
        now = believed(_zs(panel, panel.scores(rule)), panel.published) & allowed
        now[own] = True
        if (now == accepted).all():
            break
        accepted = now
        rule = panel.learnt(accepted)
    return accepted, rule


def _zs(panel: Panel, scores: Singles) -> Floats:
    truth = panel.checked.truth
    return np.array([permutation_z(scores[rows], truth[rows]) for rows in panel.rows_of])


def _taught(own: int, panel: Panel, accepted: Bools, rule: Rule) -> bool:
    """Whether there is more to learn from than one's own rows and what chance accepts."""
    if len(panel.public) > 1:
        return True
    publisher, truth = panel.checked.publisher[rule.rows], panel.checked.truth[rule.rows]
    z = np.full(panel.participants, -np.inf)
    for q in np.flatnonzero(accepted):
        rows = publisher == q
        z[q] = permutation_z(rule.unseen[rows], truth[rows])
    others = np.arange(panel.participants) != own
    return more_than_chance(z[others], accepted[others], panel.published[others])


def _there(panel: Panel, rule: Rule, there: Bools) -> float:
    """What a rule is worth on rows of publishers that it has not learnt from."""
    scores, truth = panel.scores(rule), panel.checked.truth
    rows = [panel.rows_of[q] for q in np.flatnonzero(there)]
    return _worth([(scores[r], truth[r]) for r in rows])


def _here(panel: Panel, rule: Rule, accepted: Bools) -> float:
    """The same of publishers that it has learnt from, by rules that had not."""
    publisher, truth = panel.checked.publisher[rule.rows], panel.checked.truth[rule.rows]
    each = [publisher == q for q in np.flatnonzero(accepted)]
    return _worth([(rule.unseen[rows], truth[rows]) for rows in each])


def _worth(parts: list[tuple[Singles, Ints]]) -> float:
    """z per root of a row."""
    rows = np.array([len(claims) for _, claims in parts], dtype=np.float64)
    z = np.array([permutation_z(scores, claims) for scores, claims in parts])
    return float((z * np.sqrt(rows)).sum() / max(rows.sum(), 1))


def _recognition(own: int, panel: Panel, accepted: Bools, rule: Rule, expert: Singles | None) -> float:
    """How well rules know one's own rows, and public ones, that they have not seen."""
    if not len(panel.public):
        rows = panel.rows_of[own]
        return permutation_z(panel.without(own, accepted, rule, expert), panel.checked.truth[rows])
    publisher = panel.checked.publisher[rule.rows]
    sure = (publisher == own) | (publisher == PUBLIC)
    return permutation_z(rule.unseen[sure], panel.checked.truth[rule.rows[sure]])


def _knows(own: int, panel: Panel, recognition: float) -> bool:
    rows = int(panel.published[own]) + len(panel.public)
    return bool(recognition > attainable(BELIEVED, rows))


def _sharpness(rule: Rule, checked: CheckedAnswers) -> float:
    """What makes scores logarithms of odds, by rows that the scores had not seen."""
    kept = np.where(checked.publisher[rule.rows] == PUBLIC, 1.0, checked.kept)
    return sharpest(rule.unseen.astype(np.float64), checked.truth[rule.rows], kept)
