"""Holdout trust: each participant learns whom to believe from its held-out rows (docs/trust.md).

A judge knows how often its own model is right. So agreement with its votes tells how good others are, and
copies or participants that err together count as few. It needs no row of anybody else.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from threadpoolctl import threadpool_limits

from folkmoot.aggregation.gold import decide_by_gold
from folkmoot.aggregation.holdout import Holdout
from folkmoot.aggregation.interface import FinalVotes, Kind, Known, OwnAggregation, Rows
from folkmoot.aggregation.listening import Heard, ahead, alike, likely, listen, unlike_inputs
from folkmoot.aggregation.numbers import weighted_middle, weights_by_errors
from folkmoot.aggregation.own import Codes, Finals, judges_of, kind_of
from folkmoot.aggregation.panel import PUBLIC
from folkmoot.aggregation.refinement import tally
from folkmoot.aggregation.unlike_rows import unlike_rows
from folkmoot.arrays import Array, Bools, Floats
from folkmoot.votes import NO_VOTE

_NOTHING_HELD: Final = "it holds no rows back, so it cannot know whether its model is any good"


@dataclass(frozen=True)
class HoldoutTrust(OwnAggregation):
    """Each participant weighs everybody's votes by how well they fit its own, and what its holdout says.

    A judge may use the rows of ``Known.rows`` that it owns, and public ones (owner -1). Of its rows it needs
    its own votes alone. If all rows are public, all judges know the same, and decide as with ``PeerReview``.
    A judge that shares few inputs with most others takes the plurality. One whose rows are unlike the inputs,
    of other classes or of another region, counts all alike, copies once, but for those that contradict it.
    For numbers, votes of others on its rows are used, too, where it has asked for them.

    Examples
    --------
    Nine participants are right on 80%, six are always wrong. Each held 40 rows back.

    >>> import numpy as np
    >>> from folkmoot.aggregation import HoldoutTrust, Known, Rows
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 900)
    >>> votes = np.where(rng.random((15, 900)) < 0.8, truth, 1 - truth)
    >>> votes[9:] = 1 - truth
    >>> owner = np.arange(600) % 15
    >>> rows = Rows(np.where(owner == np.arange(15)[:, None], votes[:, :600], -1), truth[:600], owner)
    >>> final = HoldoutTrust().final_votes(votes[:, 600:], Known(rows=rows, judges=np.arange(9)))
    >>> bool((final.votes[:9] == truth[600:]).mean() > 0.97)
    True
    """

    takes: ClassVar[tuple[Kind, ...]] = ("labels", "numbers")

    def final_votes(self, table: Array, known: Known) -> FinalVotes:
        """Let each judge listen to all votes, and decide."""
        kind = kind_of(table, known.rows)
        finals = Finals(table, kind, known)
        judges = judges_of(table, known)
        rows = known.rows
        held = np.zeros(len(table), dtype=np.bool_)
        if rows is not None and kind == "labels" and len(rows.owner) and (rows.owner == PUBLIC).all():
            decide_by_gold(table, known, rows, finals)  # all know what any judge knows
            return finals.done()
        if rows is not None:
            held = np.array([_own(rows, judge).any() for judge in range(len(table))])
        for judge in judges[~held[judges]].tolist():
            finals.fall_back(judge, _NOTHING_HELD)
        able = judges[held[judges]]
        if rows is not None and len(able):
            if kind == "numbers":
                _numbers(table, rows, able.tolist(), finals)
            else:
                with threadpool_limits(1):  # the matrices are small: threads would only wait for each other
                    _labels(table, rows, able.tolist(), finals)
        return finals.done()


def _own(rows: Rows, judge: int) -> Bools:
    """(row,): those that a judge may use, and has voted on."""
    said = rows.votes[judge]
    there = said != NO_VOTE
    if said.dtype.kind == "f":
        there = ~np.isnan(said.reshape(len(said), -1)).any(axis=1)
    return np.asarray(there & ((rows.owner == judge) | (rows.owner == PUBLIC)))


def _labels(table: Array, rows: Rows, judges: list[int], finals: Finals) -> None:
    codes = Codes(table, rows.votes, rows.truth)
    cast, on_rows, truth = codes.of(table), codes.of(rows.votes), codes.of(rows.truth)
    heard = Heard(cast, codes.count)
    for judge in judges:
        mine = _own(rows, judge)
        holdout = Holdout.of(on_rows[judge, mine], truth[mine], codes.count)
        others = tally(cast, heard.voices_beside(judge), codes.count)
        why = unlike_rows(judge, cast, others, holdout)
        weight = listen(judge, heard, holdout) if why is None else alike(judge, heard)
        if isinstance(weight, str):
            finals.fall_back(judge, weight)
            continue
        if why is None and (why := unlike_inputs(judge, heard, holdout, weight)) is not None:
            weight = alike(judge, heard)
        score = tally(cast, weight, codes.count)
        chances = codes.spread(likely(judge, heard, holdout, weight, score), finals.classes)
        finals.hold(judge, codes.back(ahead(score, weight)), weight, chances)
        if why is not None:
            finals.fell_back[judge] = f"{why}: all count alike, copies once, but for those that contradict it"


def _numbers(table: Array, rows: Rows, judges: list[int], finals: Finals) -> None:
    """The mean weighted by squared errors, of numbers moved into the range that a third cannot widen."""
    values = table.reshape(*table.shape[:2], -1)
    on_rows = rows.votes.reshape(*rows.votes.shape[:2], -1)
    truth = np.asarray(rows.truth).reshape(len(rows.truth), -1)
    for judge in judges:
        mine = _own(rows, judge)
        squares = _squares(values, on_rows[:, mine], truth[mine], judge)
        weights = weights_by_errors(squares, int(mine.sum()))
        filled = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
        number = weighted_middle(filled, weights, (len(table) - 1) // 3)
        finals.hold(judge, number.reshape(table.shape[1:]), weights / weights.sum())


def _squares(values: Floats, on_rows: Floats, truth: Floats, judge: int) -> Floats:
    """(participant,): mean squared errors.

    They are seen where others have answered the judge's rows. Elsewhere they follow from the distance to its
    own numbers: of two that err independently the mean squared difference is the sum of both errors.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of those who have answered nothing
        seen = np.nanmean((on_rows - truth) ** 2, axis=(1, 2))
        apart = np.nanmean((values - values[judge]) ** 2, axis=(1, 2))
    others = np.delete(np.isfinite(seen), judge)
    if others.any():
        return np.asarray(seen)
    own = float(seen[judge])
    inferred = np.maximum(apart - own, own / 4)
    inferred[judge] = own
    return np.asarray(inferred)
