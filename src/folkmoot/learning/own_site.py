"""Answers of an input's own site, helped by the others: unlike sites know their own inputs best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from folkmoot.aggregation import Auto, Known, PeerReview
from folkmoot.aggregation.interface import Aggregation, OwnAggregation, smoothed
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.learning.first_votes import FirstVotes
from folkmoot.learning.participants import Participant
from folkmoot.learning.tables import group_column
from folkmoot.votes import NO_VOTE


def answers_of_sites(
    votes: FirstVotes,
    participants: Sequence[Participant],
    groups: Any,
    rule: Aggregation,
    known: Known,
    labels: Array,
) -> Floats:
    """(input, class): class probabilities, for the participant that owns the input.

    Peer review mixes its final vote, its own rows and its own vote. Another own aggregation gives its final
    vote. A public one gives the probabilities by others' votes, times the likelihood of its own vote by its
    holdout accuracy.
    """
    whose = places_of(groups, [each.name for each in participants], votes.table.shape[1])
    classes = len(labels)
    likely = np.full((len(whose), classes), 1 / classes)
    if isinstance(rule, (PeerReview, Auto)):
        for site in np.unique(whose).tolist():
            own = np.flatnonzero(whose == site)
            likely[own] = rule.likely_of_own(votes.table, known, site)[own]
        return likely
    if isinstance(rule, OwnAggregation):
        judges = np.unique(whose)
        final = rule.final_votes(votes.table, replace(known, judges=judges))
        if final.probabilities is not None:
            return np.asarray(final.probabilities[whose, np.arange(len(whose))])
        voted = final.votes[whose, np.arange(len(whose))]
        there = np.flatnonzero(voted != NO_VOTE)
        likely[there] = np.eye(classes)[voted[there]]
        return likely
    for site in np.unique(whose):
        own = np.flatnonzero(whose == site)
        likely[own] = _beside_others(votes, participants[site], int(site), own, rule, known, labels)
    return likely


def _beside_others(
    votes: FirstVotes,
    participant: Participant,
    site: int,
    own: Ints,
    rule: Aggregation,
    known: Known,
    labels: Array,
) -> Floats:
    classes = len(labels)
    if not participant.held_out:
        raise ValueError(
            f"groups needs a holdout by which {participant.name!r} knows how good it is on its own inputs: "
            "holdout=0.2 in the estimator, or rows in fit for fitted models"
        )
    others = votes.table[:, own].copy()
    mine = others[site].copy()
    others[site] = NO_VOTE if others.dtype.kind == "i" else np.nan
    answers = rule.aggregate(others, known)
    shares = answers.probabilities(classes)
    prior = smoothed(shares, np.delete(votes.cast[:, own], site, axis=0).sum(axis=0))
    if mine.ndim == 2:  # probabilities say it themselves
        likely = prior * np.where(np.isnan(mine), 1.0, np.maximum(mine, 1 / 512))
    else:
        right = participant.accuracy_of_answers(labels)
        voted = np.where(mine == NO_VOTE, 0, mine)
        weight = np.full((len(own), classes), (1 - right) / (classes - 1))
        weight[np.arange(len(own)), voted] = right
        weight[mine == NO_VOTE] = 1.0
        likely = prior * weight
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def numbers_of_sites(
    votes: FirstVotes, names: Sequence[str], groups: Any, rule: Aggregation, known: Known
) -> Floats:
    """(input[, output]): the final number of the participant that owns the input."""
    if not isinstance(rule, OwnAggregation):
        raise ValueError(
            f"groups needs an own aggregation, such as PeerReview(): {type(rule).__name__} gives all the "
            "same number"
        )
    whose = places_of(groups, names, votes.table.shape[1])
    final = rule.final_votes(votes.table, replace(known, judges=np.unique(whose)))
    return np.asarray(final.votes[whose, np.arange(len(whose))])


def places_of(groups: Any, names: Sequence[str], inputs: int) -> Ints:
    """(input,): the participant whose input each is."""
    values = group_column(groups)
    if len(values) != inputs:
        raise ValueError(f"groups must say whose each of the {inputs} inputs is: got {len(values)} entries")
    place = {name: i for i, name in enumerate(names)}
    stranger = next((value for value in values.tolist() if str(value) not in place), None)
    if stranger is not None:
        more = " and so on" if len(names) > 5 else ""
        raise ValueError(
            f"groups must name participants: got {str(stranger)!r}, and they are called "
            f"{', '.join(map(repr, names[:5]))}{more}"
        )
    return np.array([place[str(value)] for value in values.tolist()], dtype=np.int64)
