"""A fitted moot on colours: everybody's votes, whom each then trusts, and the talk.

``ConsensusClassifier`` is this with a way to fit participants and to turn what they agree on into labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, get_args

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from folkmoot import checks
from folkmoot.adversaries import Adversary, Knows, NumberAdversary, PerfectlyMalicious, handed_in
from folkmoot.aggregation import TrimmedMean
from folkmoot.arrays import Array, Floats
from folkmoot.comparison.open_inputs import warn_of_open_inputs
from folkmoot.learning.check_rows import check_showing
from folkmoot.learning.labels import as_truth
from folkmoot.learning.probabilities import POOLS, SoftBallot, SoftTalk, chances_of, soft_ballot_of
from folkmoot.old.ballot import Ballot, anchors_of, ballot_of
from folkmoot.old.peer_review import PEER_REVIEW, PROBABILITIES, PeerReviewing
from folkmoot.outcome import Outcome
from folkmoot.protocols import Slush, SnowProtocol, check_protocol
from folkmoot.sampling import Sampling, check_sampling
from folkmoot.simulation.peer_reviewed import Claims, Reviewing
from folkmoot.thresholds import StrongConfidence
from folkmoot.trust import PeerReview, Trust, review_all
from folkmoot.votes import Votes

SELF_ANCHORED: Final = "self-anchored"
TRUSTS: Final = (SELF_ANCHORED, PEER_REVIEW)
VOTING: Final = ("labels", PROBABILITIES)


class DeliberatingEstimator(TransformerMixin, PeerReviewing):
    """Base of ``ConsensusClassifier``: fitted participants that vote on inputs and talk about them."""

    protocol: SnowProtocol[Any] | None
    sampling: Sampling | None
    rounds: int
    pool: Literal["mean", "log"]
    trim: int | None
    liars_publish: Claims

    # ---- what is played ----------------------------------------------------------------------

    @property
    def accuracies_(self) -> Floats:
        """Each participant's holdout accuracy; nan where it has none."""
        check_is_fitted(self, "participants_")
        return np.array([participant.accuracy for participant in self.participants_])

    @property
    def protocol_(self) -> Any:
        """The protocol as it is played: with thresholds from the holdout if so wanted, scaled to few.

        Where none is given it is Slush that asks 10 others, or all, and needs the least majority. Thresholds
        from the holdout are the highest there can be; the batch may lower them (``protocol_for``).
        """
        return self._protocol_by(None)

    def protocol_for(self, X: Any, y: Any = None) -> Any:
        """Tell how these inputs are talked about: ``protocol_`` with the thresholds that the batch bears out.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,), optional
            Their right labels, for adversaries that must know them.

        Returns
        -------
        Slush, Snowflake or Snowball
            The protocol. Only with ``alpha=StrongConfidence()`` does it depend on the inputs.
        """
        ballot = self._ballot(X)
        truth = None if y is None else as_truth(y, self.classes_)
        return self._protocol_on(ballot, self._byzantine(ballot), truth)

    def _protocol_on(self, ballot: Ballot, adversaries: dict[int, Adversary], truth: Votes | None) -> Any:
        """The protocol for a batch: thresholds by the holdouts and by the first votes that all are shown."""
        given = self.protocol
        if not isinstance(given, SnowProtocol) or given.alpha != StrongConfidence():
            return self.protocol_
        self._check_seers(adversaries, truth)
        return self._protocol_by(handed_in(ballot.votes, adversaries, truth, ballot.classes))

    def _protocol_by(self, seen: Votes | None) -> Any:
        check_is_fitted(self, "participants_")
        self._check_parameters()
        n = len(self.participants_)
        given = self.protocol
        protocol: SnowProtocol[Any] = Slush(*checks.default_query(n)) if given is None else given.scaled(n)
        if protocol.alpha == StrongConfidence():
            right, held_out = np.array([(p.right, p.held_out) for p in self.participants_]).T
            protocol = replace(protocol, alpha=StrongConfidence.of_holdout(right, held_out, seen))
        protocol.thresholds(n)  # complains about a list of another length
        if self.sampling is not None:
            self.sampling.check(n, protocol.k)
        return protocol

    def _check_parameters(self) -> None:
        if self.protocol is not None:
            check_protocol(self.protocol)
        if self.trust is not None and not (isinstance(self.trust, str) and self.trust in TRUSTS):
            raise ValueError(f"trust must be {' or '.join(map(repr, TRUSTS))} or None: got {self.trust!r}")
        check_sampling(self.sampling)
        if self.trust is not None and self.sampling is not None:
            raise ValueError(
                f"trust={self.trust!r} already says who is asked: set sampling=None, or trust=None"
            )
        checks.integer("rounds", self.rounds, least=0)
        for name, given, known in (("voting", self.voting, VOTING), ("pool", self.pool, tuple(POOLS))):
            if not isinstance(given, str) or given not in known:
                raise ValueError(f"{name} must be {' or '.join(map(repr, known))}: got {given!r}")
        check_showing(self.check_rows, self.privacy)
        self._check_expert()
        if not isinstance(self.liars_publish, str) or self.liars_publish not in get_args(Claims):
            choices = " or ".join(map(repr, get_args(Claims)))
            raise ValueError(f"liars_publish must be {choices}: got {self.liars_publish!r}")
        if not self._soft:
            return
        TrimmedMean(self.trim)  # complains about what is no number
        for name, value in (("trust", self.trust), ("protocol", self.protocol), ("sampling", self.sampling)):
            if value is not None:
                raise ValueError(
                    f"{name} is for talks about labels: {name} must be None with voting={PROBABILITIES!r}"
                )

    @property
    def _soft(self) -> bool:
        """Whether they agree on probabilities; with peer review these are weighed, and labels agreed on."""
        return self._hands_in_probabilities and not self._reviewed

    # ---- voting and talking ------------------------------------------------------------------

    def votes(self, X: Any) -> Votes:
        """Ask every participant by itself, before any talk.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray of int, shape (participant, input)
            Each one's colour, the place of its label in ``classes_``; -1 for none.

        Warns
        -----
        ParticipantWarning
            If a participant's model fails, which then has no votes.
        """
        return self._ballot(X).votes

    def _ballot(self, X: Any, labels: Array | None = None) -> Ballot:
        """Everybody's votes as places in ``labels`` (or ``classes_``), and what went wrong with whom."""
        X = self._check_again(X)
        known = self.classes_ if labels is None else labels
        ballot = ballot_of(self._ask(X), known, [participant.name for participant in self.participants_])
        if self._reviewed and self._hands_in_probabilities:
            ballot = replace(ballot, chances=self._votes_on(X))
        return ballot if self.expert is None else replace(ballot, X=X)

    def transform(self, X: Any) -> Array:
        """Make the votes columns, as features for another model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray of int or data frame, shape (input, participant)
            The votes; after ``set_output`` a data frame whose columns are named after the participants.
        """
        return self.votes(X).T

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002
        """Name the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Not used; scikit-learn passes it.

        Returns
        -------
        ndarray of str, shape (participant,)
            The participants' names.
        """
        check_is_fitted(self, "participants_")
        return np.array([participant.name for participant in self.participants_], dtype=object)

    def deliberate(self, X: Any, y: Any = None, *, repeats: int = 1, record: bool = False) -> Outcome:
        """Let the participants talk about every row of X.

        The outcome of a row depends on the votes on it and on ``random_state`` alone, whatever else is
        in X; with ``trust`` or ``StrongConfidence()`` also on the other rows, from which trust and thresholds
        are learnt. With ``trust`` only those who anchor count as honest in it. With
        ``voting="probabilities"`` everybody's colour is the class that it finds likeliest in the end, and an
        input is settled when what they find is a thousandth as far apart as at first.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,), optional
            Their right labels, for adversaries that must know them.
        repeats : int, default 1
            How many times to play the talk, each with randomness of its own.
        record : bool, default False
            Whether to keep the history for ``Outcome.plot``, ``Outcome.turns`` and ``Outcome.explain``.

        Returns
        -------
        Outcome
            What the participants hold at the end; colours are places in ``classes_``, and ``answers`` gives
            the labels, None where undecided. It knows the ``names`` of the participants.

        Warns
        -----
        OpenInputsWarning
            If more than a tenth of the inputs stays undecided, or some can never be decided; it says why and
            what to try.
        """
        if self._soft:
            return self._soft_outcome(X, y, repeats, record)
        ballot = self._ballot(X)
        truth = None if y is None else as_truth(y, self.classes_)
        _, outcome = self._talk(ballot, self._byzantine(ballot), truth, repeats=repeats, record=record)
        return self._called(replace(outcome, faults=ballot.faults))

    def _called(self, outcome: Outcome) -> Outcome:
        names = tuple(participant.name for participant in self.participants_)
        return replace(outcome, labels=self.classes_, names=names)

    def _soft_outcome(self, X: Any, y: Any, repeats: int, record: bool) -> Outcome:
        if checks.integer("repeats", repeats, least=1) != 1:
            raise ValueError(
                "repeats must be 1 with voting='probabilities': all ask all others, so that nothing is drawn"
            )
        talk = self._soft_talk(self._soft_ballot(X), None if y is None else as_truth(y, self.classes_))
        return self._called(talk.outcome(self.classes_, record=record))

    def _soft_ballot(self, X: Any) -> SoftBallot:
        X = self._check_again(X)
        self._check_parameters()
        names = [participant.name for participant in self.participants_]
        return soft_ballot_of(self._ask(X, chances_of, self.classes_), self.classes_, names)

    def _soft_talk(
        self, ballot: SoftBallot, truth: Votes | None, labels: Array | None = None, adversaries: Any = None
    ) -> SoftTalk:
        """The agreement on probabilities; ``truth`` may name labels beyond ``classes_``, given ``labels``."""
        given = self.adversaries if adversaries is None else adversaries
        liars = self._liars(given, (Adversary, NumberAdversary), PerfectlyMalicious)
        liars = {i: liar for i, liar in liars.items() if i not in ballot.faults}
        self._check_seers(liars, truth)
        classes = len(self.classes_ if labels is None else labels)
        return ballot.agreed(
            self.pool, self.trim, liars, truth, classes=classes, rounds=self.rounds, seed=self.seed_
        )

    def reviews(self, X: Any, y: Any = None) -> list[PeerReview]:
        """Learn what each participant makes of everybody, by checked answers.

        With ``trust="peer-review"`` this is what it decides by.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs; with more than 500, who answers them unlike checked rows is not heard.
        y : array-like, shape (input,), optional
            Their right labels, for adversaries that must know them.

        Returns
        -------
        list of PeerReview
            The rule of each participant; the list is empty where nobody anchors.

        Raises
        ------
        ValueError
            If ``trust`` is not "peer-review".
        """
        check_is_fitted(self, "participants_")
        if not self._reviewed:
            raise ValueError(f"there are reviews only with peer review: set trust={PEER_REVIEW!r}")
        ballot = self._ballot(X)
        truth = None if y is None else as_truth(y, self.classes_)
        adversaries = self._byzantine(ballot)
        self._check_seers(adversaries, truth)
        listeners = self._reviewed_ballot(ballot, adversaries, truth).listeners
        found = () if listeners is None else listeners.trusts
        return [each for each in found if isinstance(each, PeerReview)]

    def predict_proba_for(self, participant: str | int, X: Any) -> Floats:
        """Estimate how likely each class is for inputs of one participant's own kind.

        Where sites are unlike each other, a participant's own model may know its own inputs better than all
        together do. This mixes both as far as its own shown rows bear it out (docs/peer-review.md).

        Parameters
        ----------
        participant : str or int
            Whose inputs they are, by name or number.
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray of float, shape (input, class)
            The probabilities, in the order of ``classes_``; ``classes_[result.argmax(axis=1)]`` are labels.

        Raises
        ------
        ValueError
            If ``trust`` is not "peer-review", or there is no such participant.
        """
        check_is_fitted(self, "participants_")
        if not self._reviewed:
            raise ValueError(f"predict_proba_for needs peer review: set trust={PEER_REVIEW!r}")
        names = [each.name for each in self.participants_]
        if isinstance(participant, str):
            if participant not in names:
                raise ValueError(f"participant must be one of {', '.join(names[:10])}: got {participant!r}")
            participant = names.index(participant)
        ballot = self._ballot(X)
        review = review_all(self.checked_, judges=[participant])[0]
        return review.probabilities_of_own(ballot.votes if ballot.chances is None else ballot.chances)

    def trusts(self, X: Any, y: Any = None) -> list[Trust]:
        """Learn what each participant thinks of all, by its own holdout and the votes on X.

        With ``trust="self-anchored"`` this is what it decides by.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,), optional
            Their right labels, for adversaries that must know them.

        Returns
        -------
        list of Trust
            The view of each participant; an adversary trusts nobody. The list is empty where trust cannot be
            learnt.

        Warns
        -----
        TrustWarning
            If trust cannot be learnt: fewer than 50 inputs, or nobody anchors.
        """
        ballot = self._ballot(X)
        truth = None if y is None else as_truth(y, self.classes_)
        listeners = self._listened(ballot, self._byzantine(ballot), truth).listeners
        found = () if listeners is None else listeners.trusts
        return [each for each in found if isinstance(each, Trust)]

    def _byzantine(self, ballot: Ballot, adversaries: Any = None) -> dict[int, Adversary]:
        """The adversaries among those who can answer."""
        given = self.adversaries if adversaries is None else adversaries
        adversaries = self._liars(given, Adversary, PerfectlyMalicious)
        return {i: liar for i, liar in adversaries.items() if i not in ballot.faults}

    def _talk(
        self,
        ballot: Ballot,
        adversaries: dict[int, Adversary],
        truth: Votes | None,
        *,
        stacklevel: int = 4,
        **options: Any,
    ) -> tuple[Ballot, Outcome]:
        """The ballot as it was talked about, and what came of it; warnings name the caller's line."""
        ballot, protocol = self._heard(ballot, adversaries, truth)
        outcome = self._play(ballot, protocol, adversaries, truth, **options)
        there = ballot.there
        warn_of_open_inputs(
            ballot.votes[there],
            np.isin(there, list(adversaries)),
            protocol.restricted(there.tolist()),
            outcome,
            self.rounds,
            "uncoloured",
            by_trust=ballot.listeners is not None,
            stacklevel=stacklevel,
        )
        return ballot, outcome

    def _heard(
        self, ballot: Ballot, adversaries: dict[int, Adversary], truth: Votes | None
    ) -> tuple[Ballot, SnowProtocol[Any]]:
        """The ballot once everybody has listened, if they do, and the protocol that first votes ask for."""
        protocol = self._protocol_on(ballot, adversaries, truth)
        self._check_seers(adversaries, truth)
        if self._reviewed:
            ballot = self._reviewed_ballot(ballot, adversaries, truth)
        elif self.trust is not None:
            ballot = self._listened(ballot, adversaries, truth)
        return ballot, protocol

    def _reviewed_ballot(
        self, ballot: Ballot, adversaries: dict[int, Adversary], truth: Votes | None
    ) -> Ballot:
        """What is held once everybody has learnt from checked answers."""
        return ballot.reviewed(self._reviewing(ballot), adversaries, truth)

    def _reviewing(self, ballot: Ballot) -> Reviewing:
        expert = None if self.expert is None else partial(self._expert, ballot.X)
        return Reviewing(self.checked_, ballot.chances, self.liars_publish, expert)

    def _listened(self, ballot: Ballot, adversaries: dict[int, Adversary], truth: Votes | None) -> Ballot:
        self._check_seers(adversaries, truth)
        return ballot.listened(anchors_of(self.participants_, ballot.labels), adversaries, truth)

    def _play(
        self,
        ballot: Ballot,
        protocol: SnowProtocol[Any],
        adversaries: dict[int, Adversary],
        truth: Votes | None,
        **options: Any,
    ) -> Outcome:
        self._check_seers(adversaries, truth)
        options |= {"sampling": self.sampling, "rounds": self.rounds, "seed": self.seed_}
        return ballot.talk(protocol, adversaries, truth, **options)

    def _check_seers(self, adversaries: Mapping[int, Any], truth: Votes | None) -> None:
        seer = next((i for i, liar in adversaries.items() if Knows.TRUTH in liar.knows), None)
        if truth is None and seer is not None:
            raise ValueError(
                f"participant {self.participants_[seer].name!r} is {type(adversaries[seer]).__name__}, which "
                "must know the truth: use score(X, y), report(X, y) or deliberate(X, y)"
            )
