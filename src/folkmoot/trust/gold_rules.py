"""Crowds with gold: several rules learnt from a few public answers and the batch, mixed by how well they did.

With a dozen gold tasks and a hundred workers no single rule is right everywhere (docs/peer-review-crowds.md):

    gold log-odds      weighs by accuracy on gold. Few votes on gold say little of each worker.
    one coin           learns one accuracy a worker from gold and the batch together, gold clamped.
    Dawid-Skene        the same with a confusion matrix a worker. Both follow whoever errs together.
    ridge              the rule of peer review on gold alone; it needs more gold than the others.

Each answers gold out of fold, its log-odds as they are or flattened (times 0.3), once for all workers and,
where some repeat each other, once with one voice for those. Their answers to the batch are mixed in
proportion to the likelihood of gold by the out-of-fold answers. Gold is public, so the mix is the same for
everybody. And gold is certain: where there is little of it, the mix is still a better answer than the
majority, so it is left out only if gold tasks are known no better than in a random order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot.accuracy import laplace_accuracy, log_odds, softmax
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.trust.camps import copies
from folkmoot.trust.checked import PUBLIC, CheckedAnswers, centred
from folkmoot.trust.counting import agreement_counts, pack_votes
from folkmoot.trust.expectation import estimate, one_hot
from folkmoot.trust.panel import Panel
from folkmoot.trust.shown import ShownView
from folkmoot.trust.shown import shares as in_cells
from folkmoot.trust.vetting import permutation_z
from folkmoot.votes import UNCOLOURED, Votes, check_votes

LEAST_GOLD: Final = 5  # tasks; of fewer, chance explains any answers
_FOLDS: Final = 10  # of gold, left out in turn
# What log-odds are multiplied by. Dawid-Skene is much too sure of itself wherever workers err together.
_FACTORS: Final = {"gold log-odds": (1.0, 0.3), "one coin": (1.0, 0.3), "Dawid-Skene": (0.3,)}
_DOUBT: Final = 0.02  # no rule is believed beyond 1 - this on a single task
_RIDGE: Final = 6.0  # what scores of a ridge are multiplied by to be log-odds
# How far rules are believed beforehand: a ridge needs much gold, so it comes late.
_BEFOREHAND: Final = {"gold log-odds": 1.0, "one coin": 1.0, "Dawid-Skene": 1.5, "ridge": 0.01}
_ITERATIONS: Final = 60
_TOLERANCE: Final = 1e-3


@dataclass(frozen=True, eq=False)
class GoldReview(ShownView):
    """What gold and everybody's votes tell of a batch: the same for all participants, since gold is public.

    Parameters
    ----------
    own : int
        The participant that goes by it; -1 for anybody.
    anchored : bool
        Whether rules that had not seen gold tasks know them. If not, nothing is decided.
    recognition : float
        How much better than by chance these know them, in standard deviations.
    accuracy : ndarray of float, shape (participant,)
        Laplace's estimate of the share of each one's votes on gold and batch that are right.
    weight : ndarray of float, shape (participant,)
        The log-odds of it.
    chances : ndarray of float, shape (input, colour)
        How likely each colour is the right one, for each input of the batch.
    unseen : ndarray of float, shape (gold, colour)
        The same of gold tasks, by rules that had not seen them.
    shares : dict of str to float
        How far each rule is believed; together 1.
    heard : ndarray of bool, shape (input,)
        Which inputs of the batch somebody voted on.
    why : str
        One sentence: on what it rests, or why it decides nothing.

    See Also
    --------
    review_gold : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust import check_answers, review_gold
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 220)
    >>> votes = np.where(rng.random((15, 220)) < 0.7, truth, 1 - truth)
    >>> votes[:9] = 1 - truth  # most always lie
    >>> found = review_gold(check_answers(votes[:, :20], truth[:20], classes=2), votes[:, 20:])
    >>> found.anchored, bool(found.weight[0] < 0)
    (True, True)
    >>> print((found.decide() == truth[20:]).mean())
    1.0
    """

    own: int
    anchored: bool
    recognition: float
    accuracy: Floats
    weight: Floats
    chances: Floats
    unseen: Floats
    shares: dict[str, float]
    heard: Bools
    why: str

    def _beside(self) -> dict[str, list[str]]:
        return {"accuracy": in_cells(self.accuracy)}

    def decide(self) -> Ints:
        """Decide the batch.

        Returns
        -------
        ndarray of int, shape (input,)
            The likeliest colours; -1 for all if there is no anchor, and where nobody has voted.
        """
        decided = self.heard & self.anchored
        return np.where(decided, self.chances.argmax(axis=1), UNCOLOURED)


def review_gold(gold: CheckedAnswers, batch: npt.ArrayLike) -> GoldReview:
    """Learn from gold tasks and everybody's votes on a batch what is right there.

    Parameters
    ----------
    gold : CheckedAnswers
        Votes on gold tasks and their public answers; at least 5, of at least two colours.
    batch : array-like of int, shape (participant, input)
        Everybody's votes on what is to be decided, -1 for none.

    Returns
    -------
    GoldReview
        What is likely right, and how far each rule is believed.

    Raises
    ------
    ValueError
        If gold is too little, of one colour, not public, or of other participants than the batch.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust import check_answers, review_gold
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(0, 2, 100)
    >>> votes = np.where(rng.random((9, 100)) < 0.75, truth, 1 - truth)
    >>> found = review_gold(check_answers(votes[:, :12], truth[:12], classes=2), votes[:, 12:])
    >>> sorted(found.shares)
    ['Dawid-Skene', 'gold log-odds', 'one coin', 'ridge']
    """
    cast = check_votes(batch, gold.classes)
    _check(gold, cast)
    votes = np.concatenate([gold.votes.astype(np.int64), cast], axis=1)
    answers = [*_rules(votes, gold.truth, gold.classes), _ridge(gold, cast)]
    names, beforehand, on_batch, on_gold = _flattened(answers)
    believable = (1 - _DOUBT) * on_gold + _DOUBT / gold.classes
    likelihood = np.log(believable[:, np.arange(gold.rows), gold.truth])
    evidence = beforehand + likelihood.sum(axis=1)
    share = softmax(evidence)
    # A gold task is answered by the shares that all the others give.
    without = softmax((evidence[:, None] - likelihood).T)
    unseen = np.einsum("gm,mgc->gc", without, believable)
    chances = np.tensordot(share, on_batch, axes=1)
    recognition = float(permutation_z(unseen.astype(np.float32), gold.truth))
    anchored = recognition > 0
    shares: dict[str, float] = {}
    for name, each in zip(names, share.tolist(), strict=True):
        shares[name] = shares.get(name, 0.0) + each
    accuracy = _accuracy(votes, np.concatenate([np.eye(gold.classes)[gold.truth], chances]))
    return GoldReview(
        own=PUBLIC,
        anchored=anchored,
        recognition=recognition,
        accuracy=accuracy,
        weight=log_odds(accuracy, gold.classes),
        chances=chances,
        unseen=unseen,
        shares=shares,
        heard=np.asarray((cast != UNCOLOURED).any(axis=0)),
        why=_why(anchored, recognition, gold.rows, shares),
    )


class _Answers(NamedTuple):
    """What a rule says, as logarithms of odds."""

    name: str
    batch: Floats  # (input, colour)
    gold: Floats  # (gold, colour), by rules that had not seen the task
    factors: tuple[float, ...]


def _check(gold: CheckedAnswers, cast: Votes) -> None:
    if gold.votes.ndim != 2 or len(cast) != gold.participants:
        raise ValueError(
            f"gold must hold colours that the {len(cast)} participants of the batch named: got the shape "
            f"{gold.votes.shape}"
        )
    if (gold.publisher != PUBLIC).any():
        raise ValueError("gold must be public: leave publisher= out, or give -1 for every row")
    if gold.rows < LEAST_GOLD:
        raise ValueError(f"gold must be at least {LEAST_GOLD} tasks: got {gold.rows}")
    if len(np.unique(gold.truth)) < 2:
        raise ValueError(
            "gold must be of at least two classes: got one, where right answers look like common ones"
        )


def _rules(votes: Votes, truth: Ints, classes: int) -> Iterator[_Answers]:
    """The three rules of all participants; and of all voices, if some repeat others."""
    original = np.unique(copies(agreement_counts(pack_votes(votes, classes))))
    for heard in [votes] if len(original) == len(votes) else [votes, votes[original]]:
        full = _answers(heard, truth, np.arange(len(truth)), classes)
        fold = np.arange(len(truth)) % _FOLDS
        unseen = [np.zeros((len(truth), classes)) for _ in full]
        for part in np.unique(fold):
            out = fold == part
            rest = _answers(heard, truth, np.flatnonzero(~out), classes)
            for each, said in zip(unseen, rest.values(), strict=True):
                each[out] = said[: len(truth)][out]
        for (name, said), each in zip(full.items(), unseen, strict=True):
            yield _Answers(name, said[len(truth) :], each, _FACTORS[name])


def _answers(votes: Votes, truth: Ints, known: Ints, classes: int) -> dict[str, Floats]:
    """(input, colour) by each rule, learnt from the first inputs as far as they are ``known``."""
    named = one_hot(votes, classes)
    certain = np.eye(classes)[truth[known]]
    right = (votes[:, known] == truth[known]).sum(axis=1)
    total = (votes[:, known] != UNCOLOURED).sum(axis=1)
    weight = log_odds(laplace_accuracy(right, total, classes), classes)
    scores = np.asarray(named.T @ np.kron(weight[:, None], np.eye(classes)))
    belief = softmax(scores)
    belief[known] = certain
    clamped = np.zeros(votes.shape[1], dtype=np.bool_)
    clamped[known] = True
    found = {
        name: estimate(
            named, belief, known=clamped, one_coin=coin, iterations=_ITERATIONS, tolerance=_TOLERANCE
        )
        for name, coin in {"one coin": True, "Dawid-Skene": False}.items()
    }
    learnt = {name: np.log(np.maximum(each.belief, 1e-12)) for name, each in found.items()}
    return {"gold log-odds": scores, **learnt}


def _ridge(gold: CheckedAnswers, cast: Votes) -> _Answers:
    panel = Panel(gold)
    rule = panel.alone(0)
    unseen = np.zeros((gold.rows, gold.classes))
    unseen[rule.rows] = rule.unseen  # where there is very much gold, some of it says enough
    said = panel.scores(rule, centred(cast, gold.classes)).astype(np.float64)
    return _Answers("ridge", said, unseen, (_RIDGE,))


def _flattened(answers: list[_Answers]) -> tuple[list[str], Floats, Floats, Floats]:
    """Names, beliefs beforehand, and probabilities (rule, input, colour) on batch and gold."""
    each = [(rule, factor) for rule in answers for factor in rule.factors]
    batch, gold = (np.stack([softmax(f * part) for part, f in parts]) for parts in (
        [(rule.batch, f) for rule, f in each], [(rule.gold, f) for rule, f in each],
    ))  # fmt: skip
    return (
        [rule.name for rule, _ in each],
        np.array([np.log(_BEFOREHAND[rule.name] / len(rule.factors)) for rule, _ in each]),
        batch,
        gold,
    )


def _accuracy(votes: Votes, chances: Floats) -> Floats:
    """(participant,): its accuracy if ``chances`` (input, colour) are right."""
    classes = chances.shape[1]
    right = np.stack([(votes == colour) @ chances[:, colour] for colour in range(classes)]).sum(axis=0)
    total = (votes != UNCOLOURED).sum(axis=1)
    return laplace_accuracy(right, total, classes)


def _why(anchored: bool, recognition: float, rows: int, shares: dict[str, float]) -> str:
    if not anchored:
        return f"not anchored: rules that have not seen a gold task do not predict it (z {recognition:.1f})"
    most = sorted(shares, key=lambda name: -shares[name])
    told = ", ".join(f"{shares[name]:.0%} {name}" for name in most if shares[name] >= 0.005)
    return (
        f"anchored: rules that have not seen a gold task predict it (z {recognition:.1f} on {rows}): {told}"
    )
