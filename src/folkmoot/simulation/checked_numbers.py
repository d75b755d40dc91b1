"""Numbers weighed by what each participant has seen of its peers: how it opens an agreement on numbers.

A participant has had its peers answer rows of its own, whose numbers it knows, and so has an error of each.
It opens the talk with their weighted mean. First every number is moved to the nearest that is not among the
``trim`` lowest or highest. So with at most ``trim`` liars all that is averaged lies in the honest range,
whatever the weights: a liar that answered the checks well gains nothing beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from folkmoot.adversaries import NumberAdversary, Observation
from folkmoot.aggregation import LARGEST
from folkmoot.arrays import Floats
from folkmoot.trust.number_review import NumberReview, opened_by, weighted_middle


def open_by_weights(
    values: Floats, weights: Floats, adversaries: Mapping[int, NumberAdversary], trim: int
) -> Floats:
    """(participant, input, output): what the honest open with, by their ``weights`` (participant, peer)."""
    return open_by(values, adversaries, lambda i, heard: weighted_middle(heard, weights[i], trim))


def open_by_reviews(
    values: Floats,
    reviews: Sequence[NumberReview],
    weights: Floats,
    adversaries: Mapping[int, NumberAdversary],
) -> Floats:
    """The same by the rule that each has learnt; by weights for one that does not anchor."""
    return open_by(values, adversaries, lambda i, heard: opened_by(reviews[i], heard, weights[i]))


def open_by(
    values: Floats, adversaries: Mapping[int, NumberAdversary], opening: Callable[[int, Floats], Floats]
) -> Floats:
    """(participant, input, output): what the honest open with, by what each makes of what it is told.

    ``opening`` is given who hears and the numbers heard, of the shape of ``values``, and returns its own
    (input, output). Liars may tell each something else; one that is silent, or says what is no number, is
    counted as the asker's number. Their rows stay as they are.
    """
    opened = values.copy()
    honest = [i for i in range(len(values)) if i not in adversaries]
    low, high = (each[:, None] for each in (values[honest].min(axis=0), values[honest].max(axis=0)))
    die = np.full((1, 1, values.shape[2]), 0.5)
    for i in honest:
        heard = values.copy()
        for liar, adversary in adversaries.items():
            asker, own = values[i][:, None], values[liar][:, None]
            said = adversary.answer_number(Observation(low, high, asker=asker, own=own, die=die))
            told = np.broadcast_to(np.asarray(said, dtype=np.float64), asker.shape)[:, 0]
            heard[liar] = np.where(np.abs(told) <= LARGEST, told, values[i])
        opened[i] = opening(i, heard)
    return opened
