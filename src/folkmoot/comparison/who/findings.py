"""What is odd about a participant, from its votes, the answer and what is known of its accuracy.

A finding is a reason to look, not a proof. The rules, in the order in which they are tried:

- *always wrong*: the upper 95% bound of its accuracy is below chance, 1/C;
- *constant*: 99% of its votes are one label, while the answers are not;
- *copies NAME*: 97% of its votes are those of an earlier participant (``trust.camps``), and so are 80% of
  those on which one of the two departs from the answer: two good models agree because both are right;
- *like chance*: the interval of its accuracy holds chance, and ends within a third of the way from chance to
  always right;
- *errs with NAMES*: they are one camp of ``trust.camps`` (residual correlation above a tenth) of at most half
  of the participants, and their errors (by the truth, or else by the answer) correlate by a tenth and four
  standard deviations more than those of pairs usually do: all models have hard inputs in common;
- *against the answer*: the same as always wrong where neither truth nor holdout is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from folkmoot.accuracy import wilson_bound
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.trust.camps import CORRELATED, copies, find_camps
from folkmoot.trust.counting import agreement_counts, pack_votes
from folkmoot.votes import UNCOLOURED, Votes

DEVIATIONS: Final = 1.959963984540054  # of a two-sided interval of 95%
_ONE_LABEL: Final = 0.99
_LEAST_VOTES: Final = 20  # below it equal or constant votes say nothing
_LEAST_ODD: Final = 5  # equal departures from the answer, before anybody is called a copy
_SAME_ODD: Final = 0.8
_FAR: Final = 4.0  # standard deviations of what pairs correlate by
_DEVIATIONS_OF_MEDIAN: Final = 1.4826  # from median absolute deviations to standard ones, for normal numbers
_LEAST_INPUTS: Final = 100  # below it nobody can be seen to err with another
_WHOLE: Final = 0.95  # who skips more inputs shares with others what it was asked, not how it errs
_MOST_PAIRED: Final = 3000  # participants of whom every two are compared
_LARGEST: Final = 20_000_000  # votes and colours that camps are looked for in; of more, some inputs
_NAMED: Final = 3  # names in one finding


def interval(right: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Wilson's interval of 95% of a share; nan where nothing was counted."""
    low, high = (wilson_bound(right, total, sign * DEVIATIONS) for sign in (1, -1))
    counted = total > 0
    return np.where(counted, low, np.nan), np.where(counted, high, np.nan)


def find_findings(
    seen: Votes,
    answer: Ints,
    truth: Ints | None,
    right: Floats,
    total: Floats,
    agreed: Floats,
    compared: Floats,
    *,
    classes: int,
    names: Sequence[str],
    labels: Sequence[Any] | Array | None,
) -> list[str]:
    """(participant,): what is odd about each, or nothing.

    ``right`` of ``total`` votes are known to be right, ``agreed`` of ``compared`` were the answer.
    """
    chance = 1 / classes
    high = interval(right, total)[1]
    wrong = (total > 0) & (high < chance)
    one = _constant(seen, answer, classes)
    blind = _like_chance(right, total, chance)
    opposed = (total == 0) & (compared > 0) & (interval(agreed, compared)[1] < chance)
    told = wrong | (one != UNCOLOURED)
    side = np.where(wrong | opposed, -1, 1)
    original, camps = np.arange(len(seen)), np.full(len(seen), UNCOLOURED)
    if len(seen) <= _MOST_PAIRED:
        agreements = agreement_counts(pack_votes(seen, classes))
        original = _copied(seen, answer, agreements)
        camps = _camps(seen, answer if truth is None else truth, agreements, classes, side, told)
    found = []
    for i in range(len(seen)):
        said: list[str] = []
        if wrong[i]:
            said.append(f"always wrong ({_of(right[i], total[i])} right)")
        elif one[i] != UNCOLOURED:
            label = int(one[i]) if labels is None else _plain(labels[int(one[i])])
            said.append(f"constant (always {label!r})")
        elif original[i] != i and not told[original[i]]:
            said.append(f"copies {names[original[i]]}")
        else:
            if blind[i]:
                said.append(f"like chance ({_of(right[i], total[i])} right)")
            if opposed[i]:
                said.append(f"against the answer ({_of(agreed[i], compared[i])} the same)")
            others = [j for j in np.flatnonzero(camps == camps[i]).tolist() if j != i and original[j] == j]
            if camps[i] != UNCOLOURED and others and original[i] == i:
                said.append(f"errs with {_few([names[j] for j in others])}")
        found.append("; ".join(said))
    return found


def _like_chance(right: Floats, total: Floats, chance: float) -> Bools:
    low, high = interval(right, total)
    return (total > 0) & (low <= chance) & (chance <= high) & (high <= (1 + 2 * chance) / 3)


def _constant(seen: Votes, answer: Ints, classes: int) -> Ints:
    """(participant,): the one label that each says; -1 where it says several, or all inputs have it."""
    counts = np.stack([(seen == colour).sum(axis=1) for colour in range(classes)], axis=1)
    cast = counts.sum(axis=1)
    most = counts.argmax(axis=1)
    always = (cast >= _LEAST_VOTES) & (counts.max(axis=1) >= _ONE_LABEL * cast)
    answers = np.bincount(answer[answer != UNCOLOURED], minlength=classes)
    common = answers >= _ONE_LABEL * max(1, answers.sum())  # who says what is nearly always right is not odd
    return np.where(always & ~common[most], most, UNCOLOURED)


def _copied(seen: Votes, answer: Ints, agreements: Ints) -> Ints:
    """(participant,): whom each copies, itself if nobody; the rule of ``trust.camps``, beyond being right."""
    original = copies(agreements)
    for i in np.flatnonzero(original != np.arange(len(seen))).tolist():
        first, own = seen[original[i]], seen[i]
        odd = (own != UNCOLOURED) & (first != UNCOLOURED) & (answer != UNCOLOURED)
        odd &= (own != answer) | (first != answer)
        same = (own[odd] == first[odd]).sum()
        if agreements[i, i] < _LEAST_VOTES or same < max(_LEAST_ODD, _SAME_ODD * odd.sum()):
            original[i] = i
    return original


def _camps(seen: Votes, right: Ints, agreements: Ints, classes: int, side: Ints, told: Bools) -> Ints:
    """(participant,): the number of its camp, -1 for who is alone or cannot be judged."""
    inputs = seen.shape[1]
    found = np.full(len(seen), UNCOLOURED)
    judged = np.flatnonzero((np.diag(agreements) >= _WHOLE * inputs) & ~told)
    if inputs < _LEAST_INPUTS or len(judged) < 2:
        return found
    every = -(-len(judged) * classes * inputs // _LARGEST)
    votes = seen[judged][:, ::every]
    equal = agreements[np.ix_(judged, judged)] if every == 1 else agreement_counts(pack_votes(votes, classes))
    one_hot = (votes[:, None] == np.arange(classes)[:, None]).astype(np.float32)
    score = np.maximum(np.einsum("j,jci->ci", side[judged].astype(np.float64), one_hot), 0.0)
    # A third row, of a colour that nobody votes for, has two colours kept apart as more of them are: where
    # inputs of both are compared, all who are right seem to err together.
    score = np.concatenate([score, np.zeros((int(classes == 2), score.shape[1]))])
    camps = find_camps(one_hot, equal, score, side[judged]).label
    size = np.bincount(camps)[camps]
    several = (size > 1) & (2 * size <= len(judged))  # what most have in common is how hard inputs are
    several &= np.isin(camps, _standing_out(votes, right[::every], camps))
    found[judged[several]] = camps[several]
    return found


def _standing_out(votes: Votes, right: Ints, camps: Ints) -> Ints:
    """The numbers of the camps that err together more than pairs of participants usually do.

    All models err on hard inputs, so pairs correlate; by how much, and how far that differs from pair to
    pair, the other pairs tell.
    """
    known = right != UNCOLOURED
    odd = ((votes != right) & (votes != UNCOLOURED))[:, known].astype(np.float64)
    some = odd.any(axis=1) & ~odd.all(axis=1)
    both = np.full((len(votes), len(votes)), np.nan)
    both[np.ix_(some, some)] = np.corrcoef(odd[some]) if some.sum() > 1 else np.nan
    pairs = np.triu(np.ones_like(both, dtype=np.bool_), 1) & ~np.isnan(both)
    if not pairs.any():
        return camps[:0]
    usual = np.median(both[pairs])
    spread = _DEVIATIONS_OF_MEDIAN * np.median(np.abs(both[pairs] - usual))
    least = usual + max(CORRELATED, _FAR * spread)
    within = {camp: both[pairs & np.outer(camps == camp, camps == camp)] for camp in np.unique(camps)}
    return np.array([camp for camp, each in within.items() if each.size and each.mean() > least])


def _of(part: float, whole: float) -> str:
    return f"{part:.0f} of {whole:.0f}"


def _few(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
