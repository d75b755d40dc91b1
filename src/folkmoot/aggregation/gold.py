"""Gold tasks: inputs whose right class is known to all, for every aggregation that learns.

With a dozen gold tasks and a hundred workers no single rule is right everywhere (docs/crowds.md). So the two
models of ``workers`` are mixed. With enough gold the ridge of peer review on gold alone joins them, which
finds the few that are right where most err together. The models are learnt once from all workers and, where
some repeat each other, once with one voice for those.

Each rule answers gold out of fold. Votes that depend on each other make a rule too sure of itself. So its
log-odds are multiplied by a factor, under which the other gold tasks are likeliest. The answers to the batch
are then mixed in proportion to the likelihood of gold by the out-of-fold answers. Gold is public, so the mix
is the same for all judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from scipy.special import softmax

from folkmoot.aggregation.interface import Known, Rows
from folkmoot.aggregation.own import Codes, Finals, judges_of
from folkmoot.aggregation.panel import PUBLIC, Panel, centred
from folkmoot.aggregation.telling_apart import copies
from folkmoot.aggregation.workers import MODELS, Crowd, Model
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.outcome import laplace_accuracy, log_odds
from folkmoot.votes import NO_VOTE, Votes

# Gold tasks from which models start a second time at what skills on gold make of the votes. Without, a crowd
# is believed of which most are always wrong (-.87). With fewer tasks an odd one would turn all around.
_SKILLS: Final = 5
# Answers to gold per worker from which the ridge is heard, and how far beforehand. With fewer, as in sparse
# crowds, luck on a dozen tasks makes it all (-.2 in one crowd of 48).
_RIDGE_GOLD: Final = 8
# With .01 eleven gold tasks seldom find the few that see through deceptive tasks (-.02). With .3 the ridge
# follows luck where all workers are alike (-.007).
_RIDGE: Final = 0.1
_FOLDS: Final = 5  # of gold, left out in turn: fewer teach less, more cost time
# No rule is believed beyond 1 - this on a single task: without, one task decides between rules; with .1 too
# few tasks tell a rule that follows one story (-.11).
_DOUBT: Final = 0.02
# What log-odds may be multiplied by, and which factor is likely beforehand: a normal distribution of its log.
_FACTORS: Final = np.geomspace(0.1, 1.5, 12)
_FACTOR: Final = 0.5


def gold_known(votes: Votes, gold: Ints, classes: int | None = None) -> Known:
    """Make known what gold tasks tell: the truth of these inputs, and public rows with the votes on them.

    Parameters
    ----------
    votes : ndarray of int, shape (participant, input)
        The votes, -1 for none.
    gold : ndarray of int, shape (input,)
        The right classes of gold tasks, -1 elsewhere.
    classes : int, optional
        The number of classes.

    Returns
    -------
    Known
        For ``aggregate``, ``deliberate`` and ``compare``.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.aggregation import gold_known
    >>> known = gold_known(np.array([[0, 1, 1], [0, 0, 1]]), np.array([0, 1, -1]))
    >>> known.rows.truth, known.rows.votes[1] == known.rows.truth
    (array([0, 1]), array([ True, False]))
    """
    there = np.flatnonzero(gold != NO_VOTE)
    rows = Rows(votes=votes[:, there], truth=gold[there], owner=np.full(len(there), PUBLIC))
    return Known(truth=gold, classes=classes, rows=rows)


def review_gold(on_gold: Votes, truth: Ints, batch: Votes, classes: int) -> tuple[Floats, Floats]:
    """Learn from votes on gold tasks, their truth and votes on a batch what is right there.

    Returns (input, class): how likely each class is; and (participant,): log-odds of the accuracy of each, if
    all that is right.
    """
    votes, told = np.concatenate([on_gold, batch], axis=1), np.arange(len(truth))
    unseen, on_batch, beforehand = zip(*_answers(votes, truth, classes), strict=True)
    believable = (1 - _DOUBT) * np.stack(unseen)[:, told, truth] + _DOUBT / classes
    share = softmax(np.asarray(beforehand) + np.log(believable).sum(axis=1))
    chances = np.tensordot(share, np.stack(on_batch), axes=1)
    accuracy = _accuracy(votes, np.concatenate([np.eye(classes)[truth], chances]))
    return chances, log_odds(accuracy, classes)


def _answers(votes: Votes, truth: Ints, classes: int) -> Iterator[tuple[Floats, Floats, float]]:
    """Each rule's answers to unseen gold and to the batch, and log of how far it is believed at first."""
    rows, voices = len(truth), _merged(votes)
    for heard in [votes] if len(voices) == len(votes) else [votes, voices]:
        crowd = Crowd.of(heard, classes)
        for model in MODELS:
            yield *_learnt(crowd, model, truth), 0.0
    if (votes[:, :rows] != NO_VOTE).sum() >= _RIDGE_GOLD * len(votes):
        panel = Panel(centred(votes[:, :rows], classes), truth, np.full(rows, PUBLIC), 1.0)
        rule = panel.of_public()
        keen = panel.sharpness(rule)
        said = panel.scores(rule, centred(votes[:, rows:], classes))
        alone = softmax(keen * panel.unseen(rule), axis=1), softmax(keen * said, axis=1)
        yield *alone, float(np.log(_RIDGE))


def _merged(votes: Votes) -> Votes:
    """(voice, task): the votes of workers; copies are one, who voted wherever one of them did."""
    group = copies(votes)
    merged = np.full((group.max() + 1, votes.shape[1]), NO_VOTE)
    for voice, own in zip(group[::-1].tolist(), votes[::-1], strict=True):
        merged[voice] = np.where(own == NO_VOTE, merged[voice], own)
    return merged


def _known(crowd: Crowd, model: Model, truth: Ints, there: Bools) -> tuple[Ints, list[Floats]]:
    """The truth of all tasks as far as gold tells it, -1 elsewhere; and what a model starts with."""
    known, shares = np.full(crowd.shape[1], NO_VOTE), crowd.shares()
    known[: len(truth)][there] = truth[there]
    if there.sum() < _SKILLS:
        return known, [shares]
    certain = np.zeros_like(shares)
    certain[: len(truth)][there] = np.eye(crowd.shape[2])[truth[there]]
    return known, [shares, np.asarray(softmax(crowd.logs(model(crowd.counts(certain))), axis=1))]


def _learnt(crowd: Crowd, model: Model, truth: Ints) -> tuple[Floats, Floats]:
    """(gold, class) and (input, class): how likely a model finds each class; gold by models without it."""
    rows = np.arange(len(truth))
    fold = rows % _FOLDS
    logs = np.zeros((len(truth), crowd.shape[2]))
    for part in np.unique(fold):
        unseen = rows[fold == part]
        logs[unseen] = crowd.learnt(model, *_known(crowd, model, truth, fold != part))[unseen]
    each = np.stack([np.log(softmax(f * logs, axis=1)[rows, truth] + 1e-9) for f in _FACTORS])
    total = each.sum(axis=1) - np.log(_FACTORS / _FACTOR) ** 2 / 2
    without = _FACTORS[(total[:, None] - each).argmax(axis=0)]  # of each gold task, by the others
    on_batch = crowd.learnt(model, *_known(crowd, model, truth, rows >= 0))[len(truth) :]
    best = _FACTORS[int(total.argmax())]
    return np.asarray(softmax(without[:, None] * logs, axis=1)), np.asarray(softmax(best * on_batch, axis=1))


def _accuracy(votes: Votes, chances: Floats) -> Floats:
    """(participant,): its accuracy if ``chances`` (input, class) are right."""
    right = np.stack([(votes == label) @ chances[:, label] for label in range(chances.shape[1])])
    return laplace_accuracy(right.sum(axis=0), (votes != NO_VOTE).sum(axis=1), chances.shape[1])


def decide_by_gold(table: Array, known: Known, rows: Rows, finals: Finals) -> None:
    """Public rows alone: what follows from them is the same for all judges."""
    codes = Codes(table, rows.votes, rows.truth)
    batch = codes.of(table)
    chances, weight = review_gold(codes.of(rows.votes), codes.of(rows.truth), batch, codes.count)
    votes = np.where((batch >= 0).any(axis=0), chances.argmax(axis=1), NO_VOTE)
    likely = codes.spread(chances, finals.classes)
    for judge in judges_of(table, known).tolist():
        finals.hold(judge, codes.back(votes), weight, likely)
