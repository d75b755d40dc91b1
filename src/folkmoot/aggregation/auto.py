"""Auto: each participant takes the aggregation that rows left out bear out, and says why.

Shown rows are left out in turn, and every candidate answers them without these. Candidates are the plurality
(a pool, or the median), Dawid-Skene, holdout trust and peer review. The last itself chooses whether to look
near an input and whether to hear an expert.

A participant begins with peer review, or with the plurality if fewer than five rows per label are shown. It
takes another candidate that is right on more of the rows it believes, by more than chance. Its own model may
be right on more of its own rows than that. Then it is told not to join.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np

from folkmoot.aggregation.dawid_skene import DawidSkene
from folkmoot.aggregation.holdout_trust import HoldoutTrust
from folkmoot.aggregation.interface import (
    Aggregation,
    Answers,
    FinalVotes,
    Kind,
    Known,
    OwnAggregation,
    Rows,
)
from folkmoot.aggregation.numbers import NumberPanel
from folkmoot.aggregation.own import ALIKE, Finals, judges_of, kind_of, likely_by, named
from folkmoot.aggregation.panel import PUBLIC
from folkmoot.aggregation.peer_review import PeerReview
from folkmoot.aggregation.pool import Pool
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.votes import NO_VOTE

_FOLDS: Final = 5  # of the rows, left out in turn
_INPUTS: Final = 50  # fewer do not tell holdout trust who agrees with whom
# Participants up to which holdout trust is a candidate. With 100 it takes most of a minute, and leaving it
# out changes the mean accuracy by less than .001.
_SMALL: Final = 20
_LEAST: Final = 20  # rows; with fewer everybody is counted alike
# Standard errors by which another candidate must be better than peer review. To begin with the simplest
# instead loses .01 to .05 on few rows; none, half of one and one are alike; two never leave it (-.02 among
# liars that spare rows).
_SURE: Final = 1.0
# The same for numbers over a constant: with one, a third of moots of noise show something.
_SHOWN: Final = 2.0
# Rows per label from which peer review is the candidate to be beaten. With two or three it knows too little
# of most labels (-.03 to -.05 among detectors of 25 languages, one of six or two of seven lying).
_PER_LABEL: Final = 5
_OWNERS: Final = 5  # from which their spread tells how rows of one owner hang together
_TOGETHER: Final = "together"  # all count alike
_REVIEW: Final = "peer review"
_CONSTANT: Final = "constant"

Losses: TypeAlias = Mapping[str, Floats]
"""(judge, row) by candidate: 0 for a right answer and 1 for a wrong one, or squared errors."""


@dataclass(frozen=True)
class Auto(OwnAggregation):
    """Each participant takes the aggregation that rows left out bear out.

    Parameters
    ----------
    rows : int or "all", default 10
        How many rows an estimator lets each participant show, as for ``PeerReview``.

    Examples
    --------
    Three of seven participants always lie, and ten rows of each tell. Peer review is taken.

    >>> import numpy as np
    >>> from folkmoot.aggregation import Auto, Known, Rows
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 270)
    >>> votes = np.where(rng.random((7, 270)) < 0.8, truth, 1 - truth)
    >>> votes[:3] = 1 - truth
    >>> rows = Rows(votes[:, :70], truth[:70], np.arange(70) % 7)
    >>> final = Auto().final_votes(votes[:, 70:], Known(rows=rows, judges=np.arange(3, 7)))
    >>> bool((final.votes[3:] == truth[70:]).mean() > 0.95)
    True
    """

    rows: int | Literal["all"] = 10

    takes: ClassVar[tuple[Kind, ...]] = ("labels", "probabilities", "numbers")

    def __post_init__(self) -> None:
        PeerReview(rows=self.rows)  # which complains about what is no number of rows

    def final_votes(self, table: Array, known: Known) -> FinalVotes:
        """Let each judge choose an aggregation, and decide by it."""
        choice = self._choose(table, known)
        finals = Finals(table, choice.kind, known)
        judges = judges_of(table, known)
        held: dict[str, FinalVotes] = {}
        for name in set(choice.taken.values()):
            mine = np.array([j for j in judges.tolist() if choice.taken[j] == name])
            held[name] = _by(name, table, replace(known, judges=mine, progress=None), choice)
        for judge in judges.tolist():
            found = held[choice.taken[judge]]
            weight = np.ones(len(table)) if found.weights is None else found.weights[judge]
            likely = None if found.probabilities is None else found.probabilities[judge]
            finals.hold(judge, found.votes[judge], weight, likely)
            if judge in found.fell_back:
                finals.fell_back[judge] = found.fell_back[judge]
        return replace(finals.done(), told=choice.told, alone=tuple(sorted(choice.alone)))

    def likely_of_own(self, table: Array, known: Known, judge: int) -> Floats:
        """(input, class): how likely each class is for inputs of one judge's own kind.

        One that had better not join goes by its own votes there; others mix these in, as with peer review.
        """
        choice = self._choose(table, replace(known, judges=np.array([judge])))
        if judge in choice.alone:
            own = named(table[judge][None], choice.kind)[0]
            classes, sure = Finals(table, choice.kind, known).classes, choice.alone[judge]
            likely = np.full((len(own), classes), (1 - sure) / max(classes - 1, 1))
            likely[np.arange(len(own)), np.maximum(own, 0)] = sure
            likely[own == NO_VOTE] = 1 / classes
            return likely
        return PeerReview().likely_of_own(table, known, judge)

    def _choose(self, table: Array, known: Known) -> _Choice:
        rows = known.rows
        kind = kind_of(table, rows)
        judges = judges_of(table, known).tolist()
        if rows is None or len(rows.owner) < _LEAST:
            many = 0 if rows is None else len(rows.owner)
            told = f"auto counts everybody alike: {many} rows are shown, and it needs {_LEAST} to choose"
            return _Choice(kind, _candidates(kind), dict.fromkeys(judges, _TOGETHER), {}, told)
        candidates = _candidates(kind)
        review: _Reviewed | None = None
        if kind != "numbers" and not (rows.owner == PUBLIC).all():
            review = _Reviewed(table, kind, known, rows)
        losses = dict(_losses(candidates, kind, table, known, rows, review))
        taken: dict[int, str] = {}
        alone: dict[int, float] = {}
        accepted = _accepted(kind, rows, review)
        few = kind != "numbers" and len(rows.truth) < _PER_LABEL * len(np.unique(rows.truth))
        first = _TOGETHER if few else _REVIEW
        for place, judge in enumerate(judges):
            heard = accepted(judge)
            best = _best(
                {name: loss[place, heard] for name, loss in losses.items()}, rows.owner[heard], first
            )
            taken[judge] = best
            mine = np.flatnonzero(rows.owner == judge)
            said = rows.votes[judge, mine]
            own = _loss_of(kind, said if kind == "numbers" else named(said[None], kind)[0], rows.truth[mine])
            if len(mine) > 1 and _better(own, losses[best][place, mine], np.arange(len(mine))):
                alone[judge] = float((1 - own).mean()) if kind != "numbers" else 1.0
        constant = _constant(rows) if kind == "numbers" else None
        told = _in_words(kind, losses, taken, judges)
        return _Choice(kind, candidates, taken, alone, told, constant, review)


class _Reviewed:
    """Peer review of a table: what each judge learns, and what it says of rows that its rule had not seen."""

    def __init__(self, table: Array, kind: Kind, known: Known, rows: Rows) -> None:
        self.rule, self._rows = PeerReview(), rows
        self.asked = self.rule.asked(table, kind, known, rows, Finals(table, kind, known).classes)

    def rows(self, judge: int) -> Ints:
        """The rows whose labels a judge believes."""
        review, _ = self.asked.unseen(judge)
        return review.rows if len(review.rows) else np.flatnonzero(self._rows.owner == judge)

    def losses(self, judge: int, otherwise: Floats) -> Floats:
        """(row,): the losses on the rows that it believes; where it cannot tell those of a plurality."""
        review, said = self.asked.unseen(judge)
        if review.why is not None:
            return otherwise
        loss = otherwise.copy()
        loss[review.rows] = said != self._rows.truth[review.rows]
        return loss

    def silent(self, judge: int) -> Bools | None:
        """(participant,): who is not heard, as they answer inputs otherwise than rows."""
        return None if self.asked.odd is None or self.asked.odd[judge] else self.asked.odd


@dataclass(frozen=True, eq=False)
class _Choice:
    """What judges took, and the accuracy on own rows of those that had better not join."""

    kind: Kind
    candidates: Mapping[str, Aggregation]
    taken: dict[int, str]
    alone: dict[int, float]
    told: str
    constant: Floats | None = field(default=None)
    review: _Reviewed | None = field(default=None)


def _candidates(kind: Kind) -> dict[str, Aggregation]:
    """The simplest first."""
    more: dict[str, Aggregation] = {}
    if kind == "labels":
        more = {"Dawid-Skene": DawidSkene(), "holdout trust": HoldoutTrust()}
    elif kind == "probabilities":
        more = {"pool of logarithms": Pool("log")}
    return {_TOGETHER: ALIKE[kind], **more, _REVIEW: PeerReview()}


def _losses(
    candidates: Mapping[str, Aggregation],
    kind: Kind,
    table: Array,
    known: Known,
    rows: Rows,
    review: _Reviewed | None,
) -> Iterator[tuple[str, Floats]]:
    """Each candidate's losses on rows that it has not seen."""
    judges = judges_of(table, known)
    fold = _folds(rows)
    together: Floats = np.zeros((len(judges), len(rows.owner)))
    if kind == "numbers":
        guess = np.stack([_constant(_some(rows, fold != part)) for part in range(_FOLDS)])[fold]
        yield _CONSTANT, np.tile(_loss_of(kind, guess, rows.truth), (len(judges), 1))
    for name, rule in candidates.items():
        if review is not None and isinstance(rule, PeerReview):
            yield name, np.stack([review.losses(j, together[i]) for i, j in enumerate(judges.tolist())])
            continue
        said: Array = np.zeros((len(judges), *rows.votes.shape[1 : 2 if kind != "numbers" else None]))
        if not isinstance(rule, OwnAggregation):
            both = np.concatenate([rows.votes, table], axis=1)
            by_all = rule.aggregate(both, Known(classes=known.classes)).decision[: len(rows.owner)]
            said[:] = by_all
            odd = None if review is None else review.asked.odd
            if odd is not None:
                few = rule.aggregate(_without(both, odd), Known(classes=known.classes)).decision
                said[~odd[judges]] = few[: len(rows.owner)]
        elif isinstance(rule, HoldoutTrust):
            if table.shape[1] < _INPUTS or len(table) > _SMALL:
                continue
            both = np.concatenate([table, rows.votes], axis=1)
            for half in range(2):
                some = fold % 2 == half
                train = replace(known, rows=_some(rows, ~some), progress=None)
                final = rule.final_votes(both, train).votes[judges, table.shape[1] :]
                said[:, some] = final[:, some]
        else:
            for part in range(_FOLDS):
                out = np.flatnonzero(fold == part)
                if not len(out):
                    continue
                train = replace(
                    known,
                    rows=_some(rows, fold != part),
                    inputs=None if rows.inputs is None else _inputs(rows.inputs, out),
                    progress=None,
                )
                said[:, out] = rule.final_votes(rows.votes[:, out], train).votes[judges]
        loss = _loss_of(kind, said, rows.truth)
        if name == _TOGETHER:
            together = loss
        yield name, loss


def _without(table: Array, who: Bools) -> Array:
    """The table without the votes of these."""
    less = table.copy()
    less[who] = np.nan if table.dtype.kind == "f" else NO_VOTE
    return less


def _by(name: str, table: Array, known: Known, choice: _Choice) -> FinalVotes:
    """Final votes by one candidate; public ones give all judges that hear the same participants the same."""
    rule, review = choice.candidates.get(name), choice.review
    finals = Finals(table, choice.kind, known)
    if isinstance(rule, PeerReview) and review is not None:
        review.rule.decide(review.asked, judges_of(table, known), finals)
        return finals.done()
    if isinstance(rule, OwnAggregation):
        return rule.final_votes(table, known)
    everybody = np.ones(len(table))
    answers: dict[bool, Answers] = {}
    for judge in judges_of(table, known).tolist():
        if rule is None and choice.constant is not None:
            finals.hold(judge, np.broadcast_to(choice.constant, table.shape[1:]), everybody)
        elif rule is not None:
            silent = None if review is None else review.silent(judge)
            key = silent is None
            if key not in answers:
                heard = table if silent is None else _without(table, silent)
                answers[key] = rule.aggregate(heard, replace(known, rows=None))
            found = answers[key]
            likely = None if choice.kind == "numbers" else likely_by(rule, found, heard, finals.classes)
            weight = everybody if silent is None else everybody * ~silent
            finals.hold(judge, answers[key].decision, weight, likely)
    return finals.done()


def _accepted(kind: Kind, rows: Rows, review: _Reviewed | None) -> Callable[[int], Ints]:
    """The rows by which a judge chooses: public ones, and those of owners whom its peer review accepts."""
    if review is not None:
        return review.rows
    if kind == "numbers":
        return NumberPanel.of(rows).rows_accepted
    return lambda _: np.arange(len(rows.owner))


def _best(losses: Losses, owner: Ints, first: str) -> str:
    """The first, if no other is better by more than chance; of numbers the constant, if nothing is."""
    others = [name for name in losses if name not in (first, _CONSTANT)]
    rival = min(others, key=lambda name: float(losses[name].mean()))
    best = rival if _better(losses[rival], losses[first], owner) else first
    if _CONSTANT in losses and not _better(losses[best], losses[_CONSTANT], owner, _SHOWN):
        return _CONSTANT
    return best


def _better(loss: Floats, than: Floats, owner: Ints, sure: float = _SURE) -> bool:
    """Whether losses are smaller by more than chance; rows of one owner hang together."""
    gain = than - loss
    if not len(gain) or gain.mean() <= 0:
        return False
    by_owner = np.bincount(np.unique(owner, return_inverse=True)[1], weights=gain)
    spread = float(gain.std() * np.sqrt(len(gain)))
    if len(by_owner) >= _OWNERS:
        spread = max(spread, float(by_owner.std() * np.sqrt(len(by_owner))))
    # One row alone decides nothing.
    return bool(gain.sum() > max(sure * spread, 1.5 * float(np.abs(gain).max())))


def _loss_of(kind: Kind, said: Array, truth: Array) -> Floats:
    """Losses of answers (..., row) to rows."""
    if kind == "numbers":
        missed = (np.asarray(said, dtype=np.float64) - truth) ** 2
        flat = missed.reshape(*missed.shape[: missed.ndim - truth.ndim + 1], -1).mean(axis=-1)
        return np.asarray(np.where(np.isnan(flat), np.nanmax(flat, initial=0.0), flat))
    return np.asarray(said != truth, dtype=np.float64)


def _constant(rows: Rows) -> Floats:
    """The median of the means of the owners' numbers."""
    truth = np.asarray(rows.truth, dtype=np.float64)
    return np.asarray(
        np.median([truth[rows.owner == owner].mean(axis=0) for owner in np.unique(rows.owner)], axis=0)
    )


def _folds(rows: Rows) -> Ints:
    """(row,): the part in which it is left out, spread over owners and, within these, over labels.

    Numbers are not spread: with its share of large ones in each part, the mean of the others is too small.
    """
    many = len(rows.owner)
    order = np.random.default_rng(0).permutation(many)
    within = rows.truth[order] if rows.truth.dtype.kind in "iu" else np.arange(many)
    fold = np.empty(many, dtype=np.int64)
    fold[order[np.lexsort((within, rows.owner[order]))]] = np.arange(many) % _FOLDS
    return fold


def _some(rows: Rows, kept: Array) -> Rows:
    at = np.flatnonzero(kept)
    inputs = None if rows.inputs is None else _inputs(rows.inputs, at)
    return replace(rows, votes=rows.votes[:, at], truth=rows.truth[at], owner=rows.owner[at], inputs=inputs)


def _inputs(inputs: object, at: Ints) -> object:
    from sklearn.utils import _safe_indexing  # heavy, and public aggregations do without

    return _safe_indexing(inputs, at, axis=0)


def _in_words(kind: Kind, losses: Losses, taken: dict[int, str], judges: list[int]) -> str:
    """One line: what most took, and the figures of all."""
    (most, many), *_ = Counter(taken.values()).most_common(1)
    plain = {"labels": "plurality", "probabilities": "mean of probabilities", "numbers": "median"}[kind]
    show = {_TOGETHER: plain}

    def figure(loss: Floats) -> str:
        mean = float(loss.mean())
        return f"{np.sqrt(mean):.3g}" if kind == "numbers" else f"{1 - mean:.2f}"

    figures = ", ".join(f"{show.get(name, name)} {figure(loss)}" for name, loss in losses.items())
    what = "error" if kind == "numbers" else "right"
    whom = "" if many == len(judges) else f" ({many} of {len(judges)} participants)"
    rows = next(iter(losses.values())).shape[1]
    line = f"auto took {show.get(most, most)}{whom}; {what} on {rows} rows left out: {figures}"
    if kind == "numbers" and most == _CONSTANT:
        line += "; the moot shows nothing over a constant"
    return line
