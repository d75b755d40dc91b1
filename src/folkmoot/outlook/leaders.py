"""Leaders: Slush in which a leader shows one more query each round, to all at once.

The paper's outlook (section 6) names protocols "which delegate leaders for each communication round". The
rules here:

1. The leader of each round follows from one salt of each participant (``leader_order``). Everybody leads
   once before anybody leads again, so f attackers who grind their salts lead at most f of the first n rounds.
2. A leader does not choose whom it asks: its k peers follow from the same salts (``leader_sample``). It
   shows all the answers that it got. As a label must be named by alpha of k, leaving answers out
   never helps another label. A malicious leader can stay silent, to all or to some, and that costs one round.
3. A participant goes by its own query. If that has no winner it goes by the leader's (``rounds.led``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256, shake_256
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.outcome import Outcome
from folkmoot.outlook.moot import Ended, OutlookMoot, outcome_of
from folkmoot.outlook.rounds import Leading, Seats, led, simulate
from folkmoot.protocols.sampling import Everyone, Others, Sampling
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.snow import SnowProtocol, winner

_WORD = 16  # bytes of a hash a draw: what is left over of 2^128 favours nobody that could be seen


def leader_order(salts: Sequence[bytes], weights: Sequence[float] | None = None) -> tuple[int, ...]:
    """Find who leads the first rounds, from everybody's salts.

    Each participant comes once; then the order begins again. With weights the next leader is drawn in
    proportion to them among those that are left (Efraimidis and Spirakis, 2006); participants without weight
    come last.
    """
    root = _root(salts)
    drawn = [_word(sha256(root + b"leader" + i.to_bytes(8, "big")).digest()) for i in range(len(salts))]
    if weights is None:
        return tuple(sorted(range(len(salts)), key=lambda i: (drawn[i], i)))
    if len(weights) != len(salts):
        raise ValueError(f"weights must hold one weight per participant ({len(salts)}): got {len(weights)}")
    # -log(1 - u) / w is exponential with rate w, and the least of several is that of i in proportion to w[i].
    late = [-math.log1p(-each / 256**_WORD) for each in drawn]
    return tuple(
        sorted(range(len(salts)), key=lambda i: (weights[i] <= 0, late[i] / (max(weights[i], 0) or 1), i))
    )


def leader_sample(salts: Sequence[bytes], leader: int, k: int, *, itself: bool = False) -> tuple[int, ...]:
    """Find the k peers that a leader asks in its rounds: drawn without repetition from the salts, not by the
    leader.
    """
    peers = [i for i in range(len(salts)) if itself or i != leader]
    if not 1 <= k <= len(peers):
        raise ValueError(f"k must satisfy 1 <= k <= {len(peers)}, the peers that a leader can ask: got k={k}")
    words = shake_256(_root(salts) + b"sample" + leader.to_bytes(8, "big")).digest(_WORD * k)
    for j in range(k):  # the first steps of a shuffle
        pick = j + _word(words[_WORD * j :]) % (len(peers) - j)
        peers[j], peers[pick] = peers[pick], peers[j]
    return tuple(peers[:k])


def _root(salts: Sequence[bytes]) -> bytes:
    """One hash of all salts: each by its own hash, so that no two lists of salts read the same."""
    if not salts:
        raise ValueError("salts must hold one per participant: got none")
    return sha256(b"folkmoot leaders" + b"".join(sha256(salt).digest() for salt in salts)).digest()


def _word(digest: bytes) -> int:
    return int.from_bytes(digest[:_WORD], "big")


@dataclass(frozen=True)
class Leaders(Slush):
    """Slush with a leader each round: who hears no label often enough goes by what the leader heard.

    Leaders come in an order without repetition from the hash of all participants' salts. The leader of a
    round asks k peers that the same hash names, and shows their answers to all. A participant takes the label
    that wins its own query. If none does, it takes the one that alpha of the answers shown name; else it
    keeps its own. A leader that is silent or lies costs one round: it cannot show what nobody said.

    It is for ``deliberate``. All inputs of a batch share the leaders and whom they ask.

    Parameters
    ----------
    k : int
        Peers asked per query, by the leader as well.
    alpha : int, sequence of int, or StrongConfidence
        Equal answers that make a class win, k/2 < alpha <= k: one threshold for all, one for each
        participant, or ``StrongConfidence(p)``.
    weights : sequence of float, optional
        One for each participant: its answer counts so much, and it leads so much sooner.

    Examples
    --------
    Six of ten answers win nothing if seven are needed; the leader's eight do.

    >>> from folkmoot import deliberate
    >>> from folkmoot.outlook import Leaders
    >>> rule = Leaders(k=10, alpha=7)
    >>> rule.follow(0, [4, 6], leader=[2, 8])
    1
    >>> rule.follow(0, [7, 3], leader=[2, 8])
    0
    >>> votes = [[1, 0]] * 8 + [[0, 0]] * 4
    >>> deliberate(votes, rule).decision
    array([1, 0])
    """

    def follow(self, state: int, tally: Sequence[float], leader: Sequence[float]) -> int:
        """Tell the state after a query with this tally, in a round whose leader has the tally ``leader``."""
        if not isinstance(self.alpha, int):
            raise ValueError("follow needs one alpha; with alpha per participant, use winner and react")
        return self.react(state, int(led(winner(tally, self.alpha), winner(leader, self.alpha))))

    def requests(self, honest: int, participants: int) -> int:
        """The requests and messages of a round: also the leader's query, and what it shows to all others."""
        return super().requests(honest, participants) + self.k + participants - 1

    def run(self, votes: npt.ArrayLike, *, sampling: Sampling | None = None, **options: Any) -> Outcome:
        """Deliberate by this protocol: what ``deliberate(votes, protocol, ...)`` calls."""
        moot = OutlookMoot.checked(votes, **options)
        return outcome_of(moot, play(moot, self, sampling))


def play(moot: OutlookMoot, rule: SnowProtocol[Any], sampling: Sampling | None = None) -> list[Ended]:
    """All repetitions of a Snow protocol, with leaders or without."""
    law = Others() if sampling is None else sampling
    if not isinstance(law, Others | Everyone):
        raise ValueError(
            f"{type(rule).__name__} shows one query of all to all, so sampling must be Others() or "
            f"Everyone(): got {type(law).__name__}"
        )
    n, itself = len(moot.votes), isinstance(law, Everyone)
    law.check(n, rule.k)
    if rule.weights is not None and len(rule.weights) != n:
        raise ValueError(f"weights must hold one weight per participant ({n}): got {len(rule.weights)}")
    rule.thresholds(n)
    if moot.shared and not moot.whole:
        raise ValueError(
            "batch='shared' cannot be played where some did not vote on all inputs: give "
            "missing='present', which lets them ask and adopt a class"
        )
    found = []
    for repetition in range(moot.repeats):
        leads = partial(lay_out, moot, repetition, itself) if isinstance(rule, Leaders) else None
        found.append(simulate(moot, rule, repetition, itself, leads))
        if moot.progress:
            moot.progress(repetition + 1, moot.repeats)
    return found


def lay_out(
    moot: OutlookMoot, repetition: int, itself: bool, seats: Seats, rule: SnowProtocol[Any]
) -> Leading:
    """Leaders and their peers, by seat. Participants have salts, or seats if some are absent."""
    n = seats.who.shape[1]
    numbers = seats.who[0] if moot.whole else np.arange(n)
    weights = rule.weights if rule.weights is None or moot.whole else [rule.weights[i] for i in seats.who[0]]
    salts = simulated_salts(moot.seed, repetition, n)
    asked = np.array([leader_sample(salts, i, rule.k, itself=itself) for i in numbers.tolist()])
    seat = np.argsort(numbers)
    return Leading(seat[np.array(leader_order(salts, weights))], seat[asked])


def simulated_salts(seed: int, repetition: int, participants: int) -> list[bytes]:
    """The salts of a repetition: a different one for each participant."""
    return [f"{seed} {repetition} {i}".encode() for i in range(participants)]
