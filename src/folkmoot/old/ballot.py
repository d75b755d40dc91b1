"""The votes of a moot on some inputs: what trust rests on, the talk, and how likely classes and answers are.

A participant that cannot predict is not waited for: the others talk among themselves, with the protocol
scaled to their number, and in the ``Outcome`` it stands as a participant without a colour that is not honest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from folkmoot.adversaries import Adversary, handed_in
from folkmoot.arrays import Array, Floats, Ints, Singles
from folkmoot.baselines import vote_shares
from folkmoot.learning.labels import as_colours
from folkmoot.learning.participants import Participant, tell
from folkmoot.outcome import Outcome
from folkmoot.protocols import Slush, SnowProtocol
from folkmoot.sampling import Others, Sampling
from folkmoot.simulation.among import deliberate_among
from folkmoot.simulation.peer_reviewed import Reviewing, ballots_handed_in, known_truth
from folkmoot.simulation.self_anchored import Listeners, listen_first
from folkmoot.trust import Anchor, PeerReview, Trust, class_probabilities
from folkmoot.trust.review import ExpertVoter
from folkmoot.votes import UNCOLOURED, Votes, vote_keys


@dataclass(frozen=True, eq=False)
class Ballot:
    """Votes (participant, input) as places in ``labels``; ``faults`` says who failed, and how.

    With ``listeners`` the votes are what these hold once they have listened to the ``first`` ones.
    """

    votes: Votes
    labels: Array
    faults: dict[int, str]
    listeners: Listeners[Trust | PeerReview] | None = None
    first: Votes | None = None
    chances: Singles | None = None
    """(participant, input, class): with peer review of probabilities, what each hands in."""
    X: Any = None
    """The inputs, where an expert answers them, too."""
    expert: ExpertVoter | None = None
    """With peer review: one more voter, if there is one."""

    @property
    def classes(self) -> int:
        """The number of labels."""
        return len(self.labels)

    @cached_property
    def there(self) -> Ints:
        """Who could vote."""
        return np.setdiff1d(np.arange(len(self.votes)), list(self.faults))

    @cached_property
    def keys(self) -> Ints:
        """What seeds the randomness of each input: the votes on it."""
        return vote_keys(self.votes)

    def listened(
        self, anchors: Sequence[Anchor | None], adversaries: dict[int, Adversary], truth: Votes | None
    ) -> Ballot:
        """What is held once everybody has listened; the ballot as it is where trust cannot be learnt."""
        listeners = listen_first(
            self.votes, anchors, adversaries=adversaries, truth=truth, classes=self.classes
        )
        return self if listeners is None else self.held_by(listeners)

    def reviewed(self, by: Reviewing, adversaries: dict[int, Adversary], truth: Votes | None) -> Ballot:
        """What is held once everybody has learnt from checked answers; as it is where nobody anchors."""
        listeners = by.first(self.votes, adversaries, truth)
        return self if listeners is None else self.held_by(listeners, by.voter(adversaries))

    def held_by(self, listeners: Listeners[Trust | PeerReview], expert: ExpertVoter | None = None) -> Ballot:
        """What these hold, with the first votes kept beside it."""
        return replace(self, votes=listeners.held, listeners=listeners, first=self.votes, expert=expert)

    def talk(
        self,
        protocol: SnowProtocol[Any],
        adversaries: dict[int, Adversary],
        truth: Votes | None,
        *,
        sampling: Sampling | None = None,
        **options: Any,
    ) -> Outcome:
        """The deliberation of those who are there, or of those who anchor if they have listened."""
        options |= {"truth": truth, "classes": self.classes, "keys": self.keys}
        if self.listeners is not None:
            return self.listeners.talk(protocol, adversaries, **options)
        return deliberate_among(
            self.there.tolist(),
            self.votes,
            protocol,
            adversaries=adversaries,
            sampling=sampling,
            missing="uncoloured",
            **options,
        )

    def probabilities(self, adversaries: dict[int, Adversary], truth: Votes | None) -> Floats:
        """(input, colour): how likely each colour is to be right, by all first votes as they are handed in.

        With listeners it is what those who anchor make of these votes, on average.
        """
        seen = handed_in(self.votes if self.first is None else self.first, adversaries, truth, self.classes)
        if self.listeners is None:
            return vote_shares(seen, self.classes)
        anchored = np.flatnonzero(self.listeners.anchored)
        views = [self._view(self.listeners.trusts[i], seen, adversaries, truth) for i in anchored]
        return np.asarray(sum(views) / len(anchored))

    def _view(
        self, opinion: Trust | PeerReview, seen: Votes, adversaries: dict[int, Adversary], truth: Votes | None
    ) -> Floats:
        """(input, colour): how likely one participant finds each colour."""
        if not isinstance(opinion, PeerReview):
            return class_probabilities(seen, opinion)
        classes = opinion.panel.classes
        ballots = self.chances if self.chances is not None else self.first if self.first is not None else seen
        handed = ballots_handed_in(ballots, adversaries, known_truth(truth, classes), classes)
        said = None if self.expert is None else self.expert.on_inputs(opinion.accepted)
        return opinion.probabilities(handed, said)

    def answers(self, outcome: Outcome, likely: Floats) -> Ints:
        """What the talk decided; where it decided nothing, the first of the likeliest colours."""
        decided = outcome.decision
        return np.where(decided == UNCOLOURED, likely.argmax(axis=-1), decided)


def ballot_of(answers: Sequence[Array | str], labels: Array, names: Sequence[str]) -> Ballot:
    """Everybody's answers, or what went wrong, as votes; warnings name who has none and who has odd ones."""
    inputs = next(len(each) for each in answers if not isinstance(each, str))
    votes = np.full((len(answers), inputs), UNCOLOURED, dtype=np.int64)
    faults: dict[int, str] = {}
    strange: list[str] = []
    for i, each in enumerate(answers):
        if isinstance(each, str):
            faults[i] = each
            continue
        if each.ndim != 1:
            faults[i] = f"predict returned the shape {each.shape}"
            continue
        try:
            votes[i] = as_colours(each, labels)
        except TypeError:
            faults[i] = "predict returned something that cannot be a label"
            continue
        if (votes[i] == UNCOLOURED).any():
            strange.append(names[i])
    tell(
        [f"{names[i]} ({fault})" for i, fault in faults.items()],
        "predict failed; faulty, so the others go on without",
    )
    tell(strange, "some answers are none of the classes and count as no vote")
    return Ballot(votes, labels, faults)


def anchors_of(participants: Sequence[Participant], labels: Array) -> list[Anchor | None]:
    """What the trust of each rests on (docs/trust.md): its holdout, with its answers as places in ``labels``.

    None for a participant that has held nothing out.
    """
    return [_anchor(participant, labels) if participant.held_out else None for participant in participants]


def _anchor(participant: Participant, labels: Array) -> Anchor:
    times = [count for _, _, count in participant.confusion]
    true, said = (_colours([row[i] for row in participant.confusion], labels) for i in (0, 1))
    return Anchor.of_holdout(np.repeat(said, times), np.repeat(true, times), len(labels))


def _colours(values: list[Any], labels: Array) -> Ints:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return as_colours(array, labels)


def shares(outcome: Outcome) -> Floats:
    """(input, colour): how often most of the honest hold which, over repetitions; level colours share."""
    best = outcome.counts == outcome.counts.max(axis=-1, keepdims=True)
    return np.asarray((best / best.sum(axis=-1, keepdims=True)).mean(axis=0))


def has_closed_form(
    protocol: SnowProtocol[Any], sampling: Sampling | None, ballot: Ballot
) -> TypeGuard[Slush]:
    """Whether the law of the answers to these votes is that of ``SlushChain``, if nobody lies.

    Two classes, Slush, one alpha, all others asked alike, and everybody has voted.
    """
    return (
        type(protocol) is Slush
        and isinstance(protocol.alpha, int)
        and protocol.weights is None
        and isinstance(sampling, Others | None)
        and ballot.listeners is None
        and ballot.classes == 2
        and not ballot.faults
        and bool((ballot.votes != UNCOLOURED).all())
    )


def absorption(protocol: Slush, votes: Votes) -> Floats:
    """The chances that all end up red or blue, from the number of blue first votes."""
    from folkmoot.theory import SlushChain

    chain = SlushChain(len(votes), protocol.k, protocol.thresholds(1)[0], sampling=Others())
    count = votes.sum(axis=0)
    chances = np.exp(np.stack([chain.log_red[count], chain.log_blue[count]], axis=1))
    # Where neither colour can win a query nobody ever moves: the first votes are the answer.
    stuck = chances.sum(axis=1) == 0
    split = np.sign(2 * count[stuck] - len(votes)) / 2
    chances[stuck] = np.stack([0.5 - split, 0.5 + split], axis=1)
    return np.asarray(chances)
