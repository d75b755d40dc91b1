"""Gold tasks: inputs whose right class is known to all, for every aggregation that learns.

With a dozen gold tasks and a hundred workers no single rule is right everywhere (docs/peer-review-crowds.md):

    one coin       learns one accuracy per worker from gold and the batch together, gold being certain
    Dawid-Skene    the same with a confusion matrix per worker. Both follow workers that err together
    ridge          the rule of peer review on gold alone; it needs more gold than the others

Each answers gold out of fold, once for all workers and, where some repeat each other, once with one voice for
those. Their answers to the batch are mixed in proportion to the likelihood of gold by the out-of-fold
answers. Gold is public, so the mix is the same for all judges. And gold is certain: where there is little of
it, the mix is still a better answer than the plurality (+.05 with eleven hard tasks).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import softmax

from folkmoot.accuracy import laplace_accuracy, log_odds
from folkmoot.aggregation.dawid_skene import DawidSkene
from folkmoot.aggregation.interface import Known, Rows
from folkmoot.aggregation.panel import PUBLIC, Panel, centred
from folkmoot.aggregation.telling_apart import copies
from folkmoot.arrays import Floats, Ints
from folkmoot.votes import UNCOLOURED, Votes

LEAST_GOLD: Final = 5  # tasks; of fewer, chance explains any answers
_FOLDS: Final = 10  # of gold, left out in turn: fewer teach less, more cost time
# By which Dawid-Skene's log-odds are multiplied: it is much too sure of itself wherever workers err together,
# and believed as it is, one story of most workers wins (-.10). Less loses what it knows in sparse crowds.
_FLAT: Final = 0.3
# No rule is believed beyond 1 - this on a single task: without, one task decides between rules; with .1 too
# few tasks tell a rule that follows one story (-.11).
_DOUBT: Final = 0.02
# How far the ridge is believed beforehand: more, and it speaks before it has enough gold (-.02).
_RIDGE: Final = 0.01
_RULES: Final = {
    "one coin": DawidSkene(one_coin=True, iterations=60, tolerance=1e-3, unvoted=True),
    "Dawid-Skene": DawidSkene(one_coin=False, iterations=60, tolerance=1e-3, unvoted=True),
}


def gold_known(votes: Votes, gold: Ints, classes: int | None = None) -> Known:
    """What gold tasks tell: the truth of these inputs, and public rows with the votes on them.

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
    >>> from folkmoot.aggregation.gold import gold_known
    >>> known = gold_known(np.array([[0, 1, 1], [0, 0, 1]]), np.array([0, 1, -1]))
    >>> known.rows.truth, known.rows.votes[1] == known.rows.truth
    (array([0, 1]), array([ True, False]))
    """
    there = np.flatnonzero(gold != UNCOLOURED)
    rows = Rows(votes=votes[:, there], truth=gold[there], owner=np.full(len(there), PUBLIC))
    return Known(truth=gold, classes=classes, rows=rows)


@dataclass(frozen=True, eq=False)
class GoldReview:
    """What gold and everybody's votes tell of a batch."""

    chances: Floats  # (input, class)
    unseen: Floats  # (gold, class): by rules that had not seen the task
    shares: dict[str, float]  # how far each rule is believed; together 1
    weight: Floats  # (participant,): log-odds of its accuracy, if all that is right


def review_gold(on_gold: Votes, truth: Ints, batch: Votes, classes: int) -> GoldReview:
    """Learn from votes on gold tasks, their truth and votes on a batch what is right there."""
    votes = np.concatenate([on_gold, batch], axis=1)
    names, unseen, on_batch, beforehand = zip(*_rules(votes, truth, classes), strict=True)
    believable = (1 - _DOUBT) * np.stack(unseen) + _DOUBT / classes
    likelihood = np.log(believable[:, np.arange(len(truth)), truth])
    evidence = np.log(beforehand) + likelihood.sum(axis=1)
    share = softmax(evidence)
    # A gold task is answered by the shares that all the others give.
    without = softmax((evidence[:, None] - likelihood).T, axis=1)
    known = np.einsum("gm,mgc->gc", without, believable)
    chances = np.tensordot(share, np.stack(on_batch), axes=1)
    shares: dict[str, float] = {}
    for name, each in zip(names, share.tolist(), strict=True):
        shares[name] = shares.get(name, 0.0) + each
    accuracy = _accuracy(votes, np.concatenate([np.eye(classes)[truth], chances]))
    return GoldReview(chances, known, shares, log_odds(accuracy, classes))


def _rules(votes: Votes, truth: Ints, classes: int) -> Iterator[tuple[str, Floats, Floats, float]]:
    """Each rule's name, its answers to unseen gold and to the batch, and how far it is believed at first."""
    rows = len(truth)
    fold = np.arange(rows) % _FOLDS
    first = np.sort(np.unique(copies(votes), return_index=True)[1])
    for heard in [votes] if len(first) == len(votes) else [votes, votes[first]]:
        for name in _RULES:
            unseen = np.zeros((rows, classes))
            for part in np.unique(fold):
                out = fold == part
                told = np.where(out, UNCOLOURED, truth)
                unseen[out] = _learnt(name, heard, told, classes)[:rows][out]
            yield name, unseen, _learnt(name, heard, truth, classes)[rows:], 1.0
    panel = Panel(centred(votes[:, :rows], classes), truth, np.full(rows, PUBLIC), 1.0)
    rule = panel.of_public()
    keen = panel.sharpness(rule)
    said = panel.scores(rule, centred(votes[:, rows:], classes))
    yield "ridge", softmax(keen * panel.unseen(rule), axis=1), softmax(keen * said, axis=1), _RIDGE


def _learnt(name: str, votes: Votes, gold: Ints, classes: int) -> Floats:
    """(input, class): what a rule makes of votes whose first inputs are gold, as far as that is known."""
    truth = np.full(votes.shape[1], UNCOLOURED)
    truth[: len(gold)] = gold
    belief = _RULES[name].aggregate(votes, Known(truth=truth, classes=classes)).probabilities(classes)
    belief = np.where(belief.any(axis=1, keepdims=True), belief, 1 / classes)
    if name == "one coin":
        return belief
    return np.asarray(softmax(_FLAT * np.log(np.maximum(belief, 1e-12)), axis=1))


def _accuracy(votes: Votes, chances: Floats) -> Floats:
    """(participant,): its accuracy if ``chances`` (input, class) are right."""
    right = np.stack([(votes == label) @ chances[:, label] for label in range(chances.shape[1])])
    return laplace_accuracy(right.sum(axis=0), (votes != UNCOLOURED).sum(axis=1), chances.shape[1])
