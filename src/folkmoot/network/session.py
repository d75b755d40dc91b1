"""One node's part in one motion: a state machine without sockets, clocks, threads or files.

Everything that decides what a node says about a motion is here. Whoever drives it calls ``receive``,
``predicted`` and ``tick`` with the time, and afterwards, in this order: stores ``saves``, then sends ``out``,
then hands ``work`` to the model, and wakes it at ``wake``. The rules:

1. VOTING. Fetch the inputs from the asker, chunk by chunk, and let the model vote. What is missing when the
   time for votes is over stays uncoloured.
2. GATHERING. Commit to the first votes; go on when every live peer has committed, or at the deadline.
3. REVEALING, if the motion wants trust. Show the first votes to all who have committed, listen to theirs, and
   learn whom to trust. Who finds nobody to trust keeps silent.
4. TALKING. In a round ask k random live peers who have committed; the protocol's rule does the rest. Nobody
   is told a vote before it has committed to its own. At every change of opinion the version goes up.
5. CLOSING. Sign what is held, once, and reveal the first votes; collect the others' closes, relayed
   by anybody. With trust, a node signs what it opened with if the talk changed too much of that.
6. OVER. Say no more than what was said. A session that reaches its end without having signed never signs.

What is saved before it is sent (first votes, commitment, close) is what a restarted session begins with,
and the versions of a new start are above all old ones, so a node never contradicts what it signed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from folkmoot.arrays import Colours
from folkmoot.network import messages as m
from folkmoot.network import statements
from folkmoot.network.fetching import Fetching
from folkmoot.network.health import Health
from folkmoot.network.judgement import Judgement, LocalThreshold
from folkmoot.network.liar import Liar
from folkmoot.network.motion import Motion, motion_name
from folkmoot.network.packing import pack, unpack
from folkmoot.network.roster import quorum
from folkmoot.network.statements import Evidence
from folkmoot.network.testimony import Testimony
from folkmoot.network.verdict import Verdict, verdict
from folkmoot.protocols.many import Opinions, winners
from folkmoot.sampling import draw, trust_weights
from folkmoot.trust import heeded, kept
from folkmoot.votes import UNCOLOURED

COMMIT_SHARE: Final = 0.35  # of the time until the deadline, for votes and commitments
REVEAL_SHARE: Final = 0.5  # for revealing, where there is trust
TALK_SHARE: Final = 0.85  # then the talk ends, whatever has been reached
_INCARNATION: Final = 1 << 24  # versions of one start of the node
GRACE: Final = 0.5  # seconds in which those who seem to be gone may still commit
RELAYED_BYTES: Final = 1 << 19  # of closes, in reply to one Want


class Phase(Enum):
    """Where a session stands; it only ever goes forward."""

    VOTING = "voting"
    GATHERING = "gathering"
    REVEALING = "revealing"
    TALKING = "talking"
    CLOSING = "closing"
    OVER = "over"


@dataclass(frozen=True)
class Seat:
    """Who a node is among the participants of its moot."""

    place: int
    key: Ed25519PrivateKey
    keys: Sequence[Ed25519PublicKey]  # of all, by place
    fingerprints: Sequence[bytes]
    incarnation: int = 1  # higher at every start of this node

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.keys)


@dataclass(frozen=True)
class Voted:
    """To be stored: the own first votes and the commitment to them."""

    commit: m.Commit
    salt: bytes
    first: bytes
    reason: str


@dataclass(frozen=True)
class Ended:
    """To be stored: the motion is over for this node."""

    rounds: int
    queries: int


Save: TypeAlias = Voted | m.Commit | m.Close | Evidence | Ended


@dataclass
class Memory:
    """What a restarted session finds of its former self."""

    voted: Voted | None = None
    commits: dict[int, m.Commit] = field(default_factory=dict)
    closes: dict[int, m.Close] = field(default_factory=dict)
    cheats: set[int] = field(default_factory=set)


class Session:
    """One motion, as one node sees it."""

    def __init__(
        self,
        header: bytes,
        motion: Motion,
        seat: Seat,
        health: Health,
        rng: random.Random,
        *,
        now: float,
        end: float,
        alpha: int | LocalThreshold,
        weights: Sequence[float] | None = None,
        liar: Liar | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.name = motion_name(header)
        self.motion, self.seat, self.health = motion, seat, health
        self.phase = Phase.VOTING
        self.end = end
        self.patience = min(3.0, max(0.25, motion.seconds / 15))
        self.commit_by = end - (1.0 - COMMIT_SHARE) * motion.seconds
        self.reveal_by = end - (1.0 - REVEAL_SHARE) * motion.seconds
        self.talk_by = end - (1.0 - TALK_SHARE) * motion.seconds
        self.wake = now
        self.out: list[tuple[int, m.Message]] = []
        self.saves: list[Save] = []
        self.work: list[tuple[int, bytes | None]] = []  # chunks to vote on; the asker's own are not sent
        self.study: Colours | None = None  # first votes of all, to be listened to
        self.judgement: Judgement | None = None
        self.rounds = self.queries = 0
        known = memory or Memory()
        self.commits, self.closes, self.cheats = dict(known.commits), dict(known.closes), set(known.cheats)
        self.late: set[int] = set()
        self._liar, self._weights = liar, weights
        # Salts come from the caller's source, which is a secret one in earnest. Whom to ask need only be
        # unknown to others, and is drawn a thousand times as often.
        self._secrets, self._rng = rng, random.Random(rng.getrandbits(256))
        # A threshold of the own hangs on what peers hold: on their first votes, or the first that are asked.
        self._local = alpha if isinstance(alpha, LocalThreshold) else None
        self._unmoved: set[int] = set()  # peers who still hold their first votes
        self._rule = motion.rule(alpha.alpha() if isinstance(alpha, LocalThreshold) else alpha)
        self._salt, self._first, self._reason = b"", b"", ""
        self._fetching = Fetching(motion)
        self._revealed: dict[int, Colours] = {}
        self._listening = False
        self._mute: set[int] = set()  # peers who found nobody to trust: there is nothing to hear from them
        self._testimony = Testimony(self.name, seat.keys, motion.inputs, motion.classes)
        self._committed = False  # has everybody been sent our commitment?
        self._tries = [0] * seat.n
        self._next_try = now
        self._opinions: Opinions | None = None
        self._colours = self._fetching.votes
        self._version = seat.incarnation * _INCARNATION
        self._signed: tuple[int, bytes, bytes] | None = None  # version, packed votes, signature
        self._waiting: set[int] = set()
        self._asked: list[int] = []
        self._answers: dict[int, Colours] = {}
        self._round_deadline = now
        self._heard_somebody = False
        self._next_round = now
        self._asked_by = [0] * seat.n
        self._closing_since = self._gathering_since = now
        self._marks: dict[int, bytes] = {}
        if known.voted is not None:
            self._restore(now, known.voted)
        self.tick(now)

    # ---- what a driver calls -----------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Do what is due, and say when to be woken next."""
        if self.phase is not Phase.OVER and now >= self.end:
            self._finish()
        if self.phase is Phase.VOTING:
            self._tick_voting(now)
        if self.phase is Phase.GATHERING:
            self._tick_gathering(now)
        if self.phase is Phase.REVEALING:
            self._tick_revealing(now)
        if self.phase is Phase.TALKING:
            self._tick_talking(now)
        if self.phase is Phase.CLOSING:
            self._tick_closing(now)

    def prolong(self, now: float, end: float) -> None:
        """There is more time than was said at first."""
        if self.phase is not Phase.OVER:
            more, self.end = end - self.end, end
            self.commit_by += more
            self.reveal_by += more
            self.talk_by += more
            self.tick(now)

    def predicted(self, now: float, index: int, votes: Colours, reason: str = "") -> None:
        """The model's votes on a chunk; a reason if it could not vote on all of it."""
        if self.phase is not Phase.VOTING:
            return
        self._fetching.voted(index, votes)
        self._reason = self._reason or reason[:300]
        self.tick(now)

    def receive(self, now: float, peer: int, message: m.AnyMessage) -> None:
        """What a peer says about this motion."""
        match message:
            case m.Answer():
                self._on_answer(now, peer, message)
            case m.Ask():
                self._on_ask(peer, message)
            case m.Commit():
                self._on_commit(now, peer, message)
            case m.Pending():
                self._tries[peer] = 0
            case m.Reveal():
                self._on_reveal(now, peer, message)
            case m.Unready():
                if message.round == self.rounds and peer in self._waiting:
                    self._waiting.discard(peer)
                    self._end_round_if_all_answered(now)
            case m.Close():
                self._on_close(now, message)
            case m.Want():
                self._on_want(peer, message)
            case m.Chunk():
                self._on_chunk(now, peer, message)

    def verdict(self) -> Verdict:
        """What the closes that this node holds come to."""
        weights = None if self.judgement is None else self.judgement.weights
        return verdict(self.motion, self.seat.n, self.closes, self.cheats, self.seat.place, weights)

    # ---- voting ------------------------------------------------------------------------------

    def _tick_voting(self, now: float) -> None:
        fetching = self._fetching
        if fetching.complete or now >= self.commit_by:
            if not fetching.complete and not self._reason:
                self._reason = "the inputs or the model's votes on them did not come in time"
            self._vote(now)
            return
        for index in fetching.more():
            if self.motion.asker == self.seat.place:
                self.work.append((index, None))
            else:
                fetching.due[index] = now
        for index, when in fetching.due.items():
            if now >= when:
                self.out.append((self.motion.asker, m.Fetch(self.name, index)))
                fetching.due[index] = now + self.patience
        self.wake = min([self.commit_by, *fetching.due.values()])

    def _on_chunk(self, now: float, peer: int, message: m.Chunk) -> None:
        if self.phase is Phase.VOTING and peer == self.motion.asker and self._fetching.arrived(message.index):
            self.work.append((message.index, message.data))
            self._tick_voting(now)

    def _vote(self, now: float) -> None:
        """Fix the first votes and commit to them."""
        votes = self._fetching.votes
        if self._liar is not None:
            votes = self._liar.first(votes, self.motion.classes)
        salt = self._secrets.randbytes(32)
        first = pack(votes, self.motion.classes)
        own = self.seat.fingerprints[self.seat.place]
        commitment = statements.commitment_to(self.name, own, salt, first)
        signature = self.seat.key.sign(statements.committed(self.name, self.seat.place, commitment))
        commit = m.Commit(self.name, self.seat.place, commitment, signature, want=True)
        voted = Voted(commit, salt, first, self._reason)
        self.saves.append(voted)
        self._restore(now, voted)

    def _restore(self, now: float, voted: Voted) -> None:
        """Go on from stored first votes: to the others' commitments, or to theirs and the own close."""
        self.commits[self.seat.place] = voted.commit
        self._salt, self._first, self._reason = voted.salt, voted.first, voted.reason
        first = unpack(voted.first, self.motion.inputs, self.motion.classes)
        self._opinions = Opinions(self._rule, self.motion.classes, first)
        self._colours = self._opinions.colours
        own = self.closes.get(self.seat.place)
        if own is not None:
            self._colours = unpack(own.decisions, self.motion.inputs, self.motion.classes)
            self.phase, self._closing_since = Phase.CLOSING, now
            self._tell_all(own)
        else:
            self.phase, self._gathering_since = Phase.GATHERING, now
        self._next_try = now

    # ---- gathering commitments ---------------------------------------------------------------

    def _tick_gathering(self, now: float) -> None:
        missing = [p for p in self._others() if p not in self.commits and self.health.live(p, now)]
        if now >= self._next_try:
            # The first time to all; then again to those who owe us theirs.
            for peer in list(missing) if self._committed else self._others():
                if self._tries[peer] >= 2:
                    self.health.failed(peer, now, self.patience)
                    missing.remove(peer)
                    continue
                self._tries[peer] += 1
                self.out.append((peer, self._commit(want=peer not in self.commits)))
            self._next_try, self._committed = now + self.patience, True
        # Who is on the bench may be about to come back, as when all have just been started.
        grace = self._gathering_since + min(GRACE, self.patience)
        if (not missing and (len(self.commits) == self.seat.n or now >= grace)) or now >= self.commit_by:
            if self.motion.trust and self._liar is None:
                self.phase, self._next_try = Phase.REVEALING, now
                self._tries = [0] * self.seat.n
                self._revealed[self.seat.place] = self._colours
            else:
                self.phase = Phase.TALKING
                self._schedule_round(now)
            return
        self.wake = min(self._next_try if missing else grace, self.commit_by)

    def _commit(self, *, want: bool) -> m.Commit:
        own = self.commits[self.seat.place]
        return m.Commit(own.motion, own.node, own.commitment, own.signature, want)

    def _on_commit(self, now: float, peer: int, message: m.Commit) -> None:
        if message.node != peer:
            return
        known = self.commits.get(peer)
        if known is None or known.commitment != message.commitment:
            said = statements.committed(self.name, peer, message.commitment)
            if not statements.holds(self.seat.keys[peer], message.signature, said):
                return
            if known is not None:
                self._accuse(peer, statements.TwoCommits(known, message))
                return
            self.commits[peer] = message
            if self.phase in (Phase.VOTING, Phase.GATHERING):
                self.saves.append(message)
            else:  # it may have heard others first: it may talk, and is not remembered as having voted
                self.late.add(peer)
            if peer in self.closes:
                self._compare_with_commitment(peer)
        if message.want:
            ready = self.seat.place in self.commits
            self.out.append((peer, self._commit(want=False) if ready else m.Pending(self.name)))
        self.tick(now)

    # ---- revealing first votes, and learning whom to trust --------------------------------------

    def _tick_revealing(self, now: float) -> None:
        if self._listening:
            self.wake = self.talk_by
            if now >= self.talk_by:
                self.judged(now, None)
            return
        owed = [p for p in self._live_peers(now) if p not in self._revealed and p not in self.late]
        if now >= self._next_try:
            first_time = not any(self._tries)
            for peer in self._live_peers(now) if first_time else list(owed):
                if self._tries[peer] >= 2:
                    self.health.failed(peer, now, self.patience)
                    owed.remove(peer)
                    continue
                self._tries[peer] += 1
                self.out.append((peer, self._reveal(want=peer not in self._revealed)))
            self._next_try = now + self.patience
        if owed and now < self.reveal_by:
            self.wake = min(self._next_try, self.reveal_by)
            return
        self._listening = True
        self.study = np.full((self.seat.n, self.motion.inputs), UNCOLOURED, dtype=np.int8)
        for place, votes in self._revealed.items():
            if place not in self.cheats:
                self.study[place] = votes
        self._set_threshold([votes for place, votes in enumerate(self.study) if place != self.seat.place])
        self.wake = self.talk_by

    def _reveal(self, *, want: bool) -> m.Reveal:
        return m.Reveal(self.name, self._salt, self._first, want)

    def _on_reveal(self, now: float, peer: int, message: m.Reveal) -> None:
        commit = self.commits.get(peer)
        if commit is None or not self.motion.trust:
            return
        fingerprint = self.seat.fingerprints[peer]
        proper = (
            statements.commitment_to(self.name, fingerprint, message.salt, message.first) == commit.commitment
        )
        if proper and peer not in self._revealed and peer not in self.late and not self._listening:
            try:
                self._revealed[peer] = unpack(message.first, self.motion.inputs, self.motion.classes)
            except ValueError:
                return
        if message.want:
            # Only who has all commitments it will wait for shows its votes.
            early = self.phase in (Phase.VOTING, Phase.GATHERING)
            self.out.append((peer, m.Pending(self.name) if early else self._reveal(want=False)))
        self.tick(now)

    def judged(self, now: float, judgement: Judgement | None) -> None:
        """What was made of the first votes; None if nothing could be."""
        if self.phase is not Phase.REVEALING:
            return
        if judgement is None:
            nothing = np.full(self.motion.inputs, UNCOLOURED, dtype=np.int8)
            judgement = Judgement(np.zeros(self.seat.n), nothing, False, "there was no time to listen")
        self.judgement = judgement
        self._opinions = Opinions(self._rule, self.motion.classes, judgement.start)
        self._colours, self._signed = self._opinions.colours, None
        self._version += 1
        self.phase = Phase.TALKING
        self._schedule_round(now)
        self.tick(now)

    # ---- the talk ----------------------------------------------------------------------------

    def _schedule_round(self, now: float) -> None:
        """Poisson clocks: whoever asks next is drawn uniformly, which makes the moot the chain of theory."""
        pace = self.motion.pace
        self._next_round = now + (self._rng.expovariate(1.0 / pace) if pace > 0 else 0.0)

    def _tick_talking(self, now: float) -> None:
        assert self._opinions is not None  # noqa: S101 (nobody talks before it has voted)
        if now >= self.talk_by or self.rounds >= self.motion.rounds or not self._opinions.asking:
            self._close(now)
            return
        if self._trusts_nobody():  # it has nobody to ask and nothing to say
            self._close(now)
            return
        if self._liar is not None:  # it is asked and does not ask; it leaves when others do
            if len(self.closes) > self.seat.n // 4:
                self._close(now)
            else:
                self.wake = self.talk_by
            return
        if self._waiting:
            if now < self._round_deadline:
                self.wake = min(self._round_deadline, self.talk_by)
                return
            self._end_round(now)
            self.tick(now)
            return
        if now >= self._next_round and not self._begin_round(now):
            self._next_round = now + self.patience / 4  # nobody is live: look again soon
        waits = self._round_deadline if self._waiting else self._next_round
        self.wake = min(waits, self.talk_by)

    def _begin_round(self, now: float) -> bool:
        self._asked = self._peers_of_a_query(now)
        if not self._asked:
            return False
        self._waiting = set(self._asked)
        self._answers.clear()
        self._round_deadline = now + self.patience
        query = m.Ask(self.name, self.rounds, self._testimony.something(self._rng))
        self.out.extend((peer, query) for peer in self._asked)
        self.queries += len(self._asked)
        return True

    def _peers_of_a_query(self, now: float) -> list[int]:
        """k of the live peers, all alike; or, with trust, in proportion to it."""
        live = self._live_peers(now)
        if self.judgement is None:
            if len(live) + 1 < quorum(self.seat.n):
                return []  # too few to decide anything, and nobody should change its mind for so few
            return self._rng.sample(live, min(self._rule.k, len(live)))
        weights = np.zeros(self.seat.n)
        trusted = trust_weights(self.judgement.weights, self.seat.place)
        heard = [peer for peer in live if peer not in self._mute]
        weights[heard] = trusted[heard]
        return draw(weights, self._rule.k, self._rng.random)

    def _trusts_nobody(self) -> bool:
        return self.judgement is not None and not (self.judgement.weights > 0).any()

    def _on_answer(self, now: float, peer: int, message: m.Answer) -> None:
        if self.phase is not Phase.TALKING or message.round != self.rounds or peer not in self._waiting:
            return
        colours, evidence = self._testimony.take(peer, message)
        if evidence is not None:
            self._accuse(peer, evidence)
        self._waiting.discard(peer)
        if colours is not None:
            self._answers[peer] = colours
            if message.version % _INCARNATION == 0:
                self._unmoved.add(peer)
            if self.judgement is not None and (colours == UNCOLOURED).all():
                self._mute.add(peer)
        self._end_round_if_all_answered(now)

    def _end_round_if_all_answered(self, now: float) -> None:
        if not self._waiting:
            self._end_round(now)
            self.tick(now)

    def _end_round(self, now: float) -> None:
        for peer in self._waiting:
            self.health.failed(peer, now, self.patience)
        self._waiting = set()
        self.rounds += 1
        self._schedule_round(now)
        if not self._answers or self._opinions is None:
            return
        self._heard_somebody = True
        self._set_threshold(
            [held for peer, held in self._answers.items() if peer in self._unmoved]
            or list(self._answers.values())
        )
        if self._nothing_new():
            return
        rule = self._rule.scaled(len(self._asked) + 1)
        order = [*self._answers, *(p for p in self._asked if p not in self._answers)]
        weights = None if self._weights is None else [self._weights[p] for p in order]
        assert isinstance(rule.alpha, int)  # noqa: S101 (a session has one threshold, its own)
        answers = list(self._answers.values())
        if self.judgement is not None and self.judgement.anchored:
            # Honest first votes earn trust; who then says something else altogether is not heeded.
            near = heeded(self._colours, np.stack(answers))
            answers = [
                answer if fine else np.full_like(answer, UNCOLOURED)
                for answer, fine in zip(answers, near, strict=True)
            ]
        self._opinions.react(
            winners(answers, rule.alpha, self.motion.classes, asked=len(self._asked), weights=weights)
        )
        colours = self._opinions.colours
        if not np.array_equal(colours, self._colours):
            self._colours = colours
            self._version += 1
            self._signed = None

    def _set_threshold(self, peers: Sequence[Colours]) -> None:
        """Fix a local threshold, once, by the own first votes and those of some peers."""
        if self._local is not None:
            first = unpack(self._first, self.motion.inputs, self.motion.classes)
            self._rule = self.motion.rule(self._local.alpha(first, peers))
            self._local = None

    def _nothing_new(self) -> bool:
        """Everybody said to the byte what we hold, and the protocol keeps no count: nothing can change.

        Most rounds are like this, once a moot has agreed; it spares them the counting.
        """
        if self._signed is None or self._rule.decides:
            return False
        ours = self._signed[1]
        return all(self._testimony.packed(peer) == ours for peer in self._answers)

    def _on_ask(self, peer: int, message: m.Ask) -> None:
        self._asked_by[peer] += 1
        if self._asked_by[peer] > 2 * self.motion.rounds + 64:  # nobody has reason to ask so often
            return
        if message.heard is not None:
            evidence = self._testimony.compare(message.heard)
            if evidence is not None:
                self._accuse(message.heard.node, evidence)
        early = self.motion.trust and self._liar is None and self.phase in (Phase.GATHERING, Phase.REVEALING)
        if self._opinions is None or early or peer not in self.commits:
            self.out.append((peer, m.Unready(self.name, message.round)))
            return
        told = self._answer_to(peer)
        if told is not None:
            version, votes, signature = told
            self.out.append((peer, m.Answer(self.name, message.round, version, votes, signature)))

    def _answer_to(self, peer: int) -> tuple[int, bytes, bytes] | None:
        """What this peer is told, signed; the same for all, unless this node is a liar."""
        colours = self._colours
        if self._liar is not None:
            lie = self._liar.answer(peer, self._fetching.votes, self.motion.classes)
            if lie is None:
                return None
            colours, self._signed = lie, None
            self._version += self._liar.fickle
        if self._signed is None:
            votes = pack(colours, self.motion.classes)
            digest = hashlib.sha256(votes).digest()
            said = statements.state(self.name, self.seat.place, self._version, digest)
            self._signed = (self._version, votes, self.seat.key.sign(said))
        return self._signed

    # ---- closing -----------------------------------------------------------------------------

    def _close(self, now: float) -> None:
        assert self._opinions is not None  # noqa: S101
        decisions = self._opinions.decisions
        if self.judgement is not None and self.judgement.anchored:
            opened = self.judgement.start
            if kept([opened], [self._colours])[0]:  # the talk changed too much of what it decided by itself
                decisions = opened
        if not self._heard_somebody and not (self.judgement is not None and self.judgement.anchored):
            # A first vote that nobody was asked about is no decision; what was learnt from all votes is.
            decisions = np.full_like(decisions, UNCOLOURED)
        if self._liar is not None:
            lie = self._liar.answer(self.motion.asker, self._fetching.votes, self.motion.classes)
            if lie is None:  # silent to the end
                self.phase, self._closing_since = Phase.CLOSING, now
                return
            decisions = lie
        packed = pack(decisions, self.motion.classes)
        bare = m.Close(self.name, self.seat.place, packed, self._salt, self._first, self._reason, bytes(64))
        signature = self.seat.key.sign(statements.closing(bare))
        close = m.Close(self.name, self.seat.place, packed, self._salt, self._first, self._reason, signature)
        self.closes[self.seat.place] = close
        self._colours, self._signed = decisions, None
        self._version += 1
        self.saves.append(close)
        self._tell_all(close)
        self.phase, self._closing_since = Phase.CLOSING, now
        self._next_try = now + self.patience
        self._tries = [0] * self.seat.n
        self._tick_closing(now)

    def _tick_closing(self, now: float) -> None:
        owed = [p for p in self._live_peers(now) if p not in self.closes]
        waited = now - self._closing_since
        # Who says that it is still talking is waited for, but not for ever: it may be a liar.
        enough = self.motion.trust or len(self.closes) >= quorum(self.seat.n)
        if not owed or (waited > 3 * self.patience and enough):
            self._compare_closes(now)
            self._finish()
            return
        if now >= self._next_try:
            for peer in list(owed):  # who neither closes nor says that it is still talking is benched
                self._tries[peer] += 1
                if self._tries[peer] > 2:
                    self.health.failed(peer, now, self.patience)
                    owed.remove(peer)
            live = self._live_peers(now)
            others = self._rng.sample(live, min(2, len(live)))  # they may have closes of those who are gone
            self._want(sorted({*owed, *others}))
            self._next_try = now + self.patience
            if not owed:
                self._finish()
                return
        self.wake = min(self._next_try, self.end)

    def _compare_closes(self, now: float) -> None:
        """A last look at what two others hold: who signed two closes cannot give the same one to
        everybody.
        """
        live = self._live_peers(now)
        self._want(self._rng.sample(live, min(2, len(live))))

    def _want(self, peers: Sequence[int]) -> None:
        marks = [self._mark(place) for place in range(self.seat.n)]
        want = m.Want(self.name, b"".join(marks))
        self.out.extend((peer, want) for peer in peers)

    def _mark(self, place: int) -> bytes:
        """Eight bytes that tell one close of a participant from another, and from none."""
        if place not in self.closes:
            return bytes(8)
        if place not in self._marks:
            said = statements.closing(self.closes[place])
            self._marks[place] = hashlib.sha256(said).digest()[:8]
        return self._marks[place]

    def _on_want(self, peer: int, message: m.Want) -> None:
        if self.phase in (Phase.VOTING, Phase.GATHERING, Phase.REVEALING, Phase.TALKING):
            self.out.append((peer, m.Pending(self.name)))
        have = message.have
        lacking = [place for place in self.closes if have[8 * place : 8 * place + 8] != self._mark(place)]
        self._rng.shuffle(lacking)  # who asks again gets others
        room = RELAYED_BYTES
        for place in lacking:
            room -= len(self.closes[place].decisions) + len(self.closes[place].first) + 200
            if room < 0:
                break
            self.out.append((peer, self.closes[place]))

    def _on_close(self, now: float, message: m.Close) -> None:
        node = message.node
        if node >= self.seat.n or node == self.seat.place or message == self.closes.get(node):
            return
        if not statements.holds(self.seat.keys[node], message.signature, statements.closing(message)):
            return
        known = self.closes.get(node)
        if known is not None:
            self._accuse(node, statements.TwoCloses(known, message))
            return
        try:
            for votes in (message.decisions, message.first):
                unpack(votes, self.motion.inputs, self.motion.classes)
        except ValueError:
            return
        self.closes[node] = message
        self.saves.append(message)
        if node in self.commits:
            self._compare_with_commitment(node)
        self.tick(now)

    def _compare_with_commitment(self, node: int) -> None:
        commit, close = self.commits[node], self.closes[node]
        fingerprint = self.seat.fingerprints[node]
        if statements.commitment_to(self.name, fingerprint, close.salt, close.first) != commit.commitment:
            self._accuse(node, statements.BrokenCommitment(commit, close, fingerprint))

    def _finish(self) -> None:
        self.phase = Phase.OVER
        self.wake = float("inf")
        self._waiting = set()
        self.saves.append(Ended(self.rounds, self.queries))

    # ---- what several need -------------------------------------------------------------------

    def _accuse(self, node: int, evidence: Evidence) -> None:
        if node not in self.cheats and node != self.seat.place:  # once is enough
            self.cheats.add(node)
            self.saves.append(evidence)

    def _live_peers(self, now: float) -> list[int]:
        """Who has committed, answers, and has not been caught; in order, so that a seed draws the same
        peers.
        """
        return [
            place
            for place in range(self.seat.n)
            if place in self.commits
            and place != self.seat.place
            and place not in self.cheats
            and self.health.live(place, now)
        ]

    def _others(self) -> list[int]:
        return [place for place in range(self.seat.n) if place != self.seat.place]

    def _tell_all(self, message: m.Message) -> None:
        self.out.extend((peer, message) for peer in self._others())
