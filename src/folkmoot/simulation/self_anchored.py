"""Listen first, then talk: the deliberation of participants that learn whom to trust (docs/trust.md).

Once all first votes are known, each participant that can anchor decides by its own trust. It takes that
decision into the talk and asks there in proportion to its trust. Who cannot anchor knows nobody to ask:
asking just anybody would hand it to whoever is most numerous. So it stays uncoloured, is not asked, and
does not count in the agreement. The same goes for one that has an anchor but gives nobody a weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries import Adversary, handed_in
from folkmoot.arrays import Bools, Floats
from folkmoot.outcome import Outcome
from folkmoot.protocols import SnowProtocol
from folkmoot.sampling import Trusting
from folkmoot.simulation.among import deliberate_among
from folkmoot.simulation.run import SnowRun
from folkmoot.trust import (
    LEAST_INPUTS,
    LEAST_LIKENESS,
    MOST_CHANGED,
    Anchor,
    Gold,
    Trust,
    TrustWarning,
    held_after,
    listen_all,
    margins,
    opening,
    sampling_weights,
)
from folkmoot.trust.conduct import Opinion
from folkmoot.votes import UNCOLOURED, Votes, check_votes

OpinionT = TypeVar("OpinionT", bound=Opinion, covariant=True)


@dataclass(frozen=True, eq=False)
class Listeners(Generic[OpinionT]):
    """Participants that have heard everybody's first votes on a batch, and decide them each for itself.

    ``listen_first`` makes them of trust by listening, ``peer_reviewed.review_first`` of peer review.
    """

    trusts: tuple[OpinionT, ...]
    """What each thinks of all; that of an adversary is empty."""
    anchored: Bools
    """(participant,): who decides by an opinion that rests on its own holdout, or on checked answers.

    These are the ones that talk."""
    speaking: Bools
    """(participant,): who can be asked: those, and adversaries that handed in a vote."""
    held: Votes
    """(participant, input): the decisions of those who anchor, -1 for others; adversaries' own votes."""
    sure: Floats
    """(participant, input): how clear the decisions of those who anchor are; 0 for others."""
    first: Votes
    """(participant, input): the first votes that all have heard."""
    by: Literal["trust", "peer review"]
    """How they have learnt whom to believe."""

    def talk(
        self,
        protocol: SnowProtocol[Any],
        adversaries: Mapping[int, Adversary] | None = None,
        *,
        most_changed: float = MOST_CHANGED,
        **options: Any,
    ) -> Outcome:
        """The deliberation of those who anchor, about ``held``.

        In the outcome only those who anchor count as honest. ``options`` are those of ``deliberate``; a query
        carries the whole batch, as in a network, so that answers can be compared with what is held: those
        that are too different do not count, and of its decisions a participant lets the talk change no more
        than ``most_changed`` (``trust.conduct``). The history of a recorded talk is of the talk itself.
        """
        adversaries = dict(adversaries or {})
        followed = [liar.follows for liar in adversaries.values() if liar.follows is not None]
        there = self.speaking.copy()
        there[followed] = True
        if there.sum() < 2:  # one voice alone: it needs somebody to be silent beside it
            there[np.flatnonzero(~there)[:1]] = True
        outcome = deliberate_among(
            np.flatnonzero(there).tolist(),
            self.held,
            protocol,
            adversaries=adversaries,
            sampling=Trusting(sampling_weights(self.trusts, self.speaking)),
            missing="uncoloured",  # who anchors has decided every input; the others hold nothing and say so
            **({"batch": "shared", "least_likeness": LEAST_LIKENESS} | options),
        )
        ended = self._with_own(replace(outcome, honest=outcome.honest & self.anchored), most_changed)
        restored = (ended.decisions != outcome.decisions) & ended.honest[:, None]
        run = outcome.run
        if isinstance(run, SnowRun):
            run = replace(run, cast=self.first, by_trust=True)
        return replace(
            ended,
            run=run,
            opened=self.held,
            trust=np.stack([opinion.weight for opinion in self.trusts]),
            trust_by=self.by,
            restored=restored,
        )

    def _with_own(self, outcome: Outcome, most: float) -> Outcome:
        """The outcome in which those who anchor have their own decisions again, all but a few."""
        held = outcome.decisions.copy()
        for i in np.flatnonzero(outcome.honest):
            held[..., i, :] = held_after(self.held[i], held[..., i, :], self.sure[i], most=most)
        back = (held != outcome.decisions).any(axis=-2)
        if not back.any():
            return outcome
        again = replace(outcome, decisions=held)
        alike = again.counts.max(axis=-1) == again.honest.sum()
        return replace(again, settled=outcome.settled & (alike | ~back))


def listen_first(
    votes: npt.ArrayLike,
    anchors: Sequence[Anchor | None],
    *,
    gold: Gold | None = None,
    adversaries: Mapping[int, Adversary] | None = None,
    truth: npt.ArrayLike | None = None,
    classes: int,
) -> Listeners[Trust] | None:
    """Let everybody listen to the first votes on a batch, those of the adversaries as they hand them in.

    None, with a ``TrustWarning``, if trust cannot be learnt: the batch is too small, or nobody anchors.
    """
    cast = check_votes(votes, classes)
    adversaries = adversaries or {}
    if len(anchors) != len(cast):
        raise ValueError(f"anchors must hold one per participant ({len(cast)}): got {len(anchors)}")
    if cast.shape[1] < LEAST_INPUTS:
        _warn(
            f"trust needs at least {LEAST_INPUTS} inputs in a batch: got {cast.shape[1]}; "
            "everybody is trusted alike"
        )
        return None
    seen = handed_in(cast, adversaries, truth, classes)
    lying = np.isin(np.arange(len(cast)), list(adversaries))
    voted = (seen != UNCOLOURED).sum(axis=1)
    told = gold
    if gold is not None:  # who lies cannot tell gold from other inputs
        lies = handed_in(gold.votes, adversaries, gold.truth, classes, missing="absent")
        told = gold._replace(votes=lies)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)  # of single participants; told together below
        trusts = listen_all(
            seen,
            [anchor if voted[i] and not lying[i] else None for i, anchor in enumerate(anchors)],
            classes=classes,
            gold=told,
        )
    held = np.stack([opening(seen, trust) for trust in trusts])
    anchored = (held != UNCOLOURED).any(axis=1)  # a participant that decides nothing is not a decider
    sure = np.stack(
        [margins(seen, trust) if anchored[i] else np.zeros(cast.shape[1]) for i, trust in enumerate(trusts)]
    )
    held[lying] = cast[lying]
    hasty = int(((voted > 0) & (voted < LEAST_INPUTS) & ~lying).sum())
    if not anchored.any():
        first = int(lying.argmin())
        _warn(
            "nobody can anchor its trust, so everybody is trusted alike; the first participant says: "
            f"{trusts[first].why}"
        )
        return None
    if hasty:
        _warn(
            f"{hasty} participants voted on fewer than {LEAST_INPUTS} of the inputs, too few to learn trust "
            "from: they do not anchor"
        )
    return Listeners(tuple(trusts), anchored, anchored | (lying & (voted > 0)), held, sure, seen, "trust")


def _warn(what: str) -> None:
    warnings.warn(what, TrustWarning, stacklevel=3)
