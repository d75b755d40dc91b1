"""TALKING with leaders: who heard no label often enough goes by what the leader of the round was told.

The rule is that of ``folkmoot.protocols.leaders``; here is what it needs of a network.

- Who leads a round and whom it asks follow from the salts revealed (``salts.py``). A leader asks them with
  ``Lead`` when it comes to that round, and shows all others what it was told (``Show``).
- A participant signs what it tells the leader of a round for that round, once (``Led``), when it has come to
  it. So a leader cannot put a show together from answers of different times.
- A show is believed if it comes from the leader of the round. Of it count answers that are signed for the
  motion and the round by one of those whom that leader was to ask. The leader need not sign: what it shows is
  signed by others, and what it leaves out is no evidence, since it may not have been told. As a label must
  be named by alpha of k, and each has signed one answer, it cannot show one label to some and another to
  others. Two answers of one version that differ are evidence against whoever signed them.
- A round whose own query has a winner on every input ends with it. Else it waits for the leader as long as
  for any answer. A leader that was waited for in vain is not waited for again.
- The talk begins when all have revealed, or have been waited for; or, unless first votes are learnt from, as
  soon as more than f others ask. Else whoever reveals to some only would keep the rest a round behind.
- Rounds are each node's own, at a steady pace. A node that more than f others have left more than two rounds
  behind, as after a restart or after waiting for silent leaders, numbers its next round as they do, and asks
  as often as any other all the same.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.network.membership.roster import faults
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import BEFORE_THE_TALK, Event, Phase
from folkmoot.network.session.salts import Salts
from folkmoot.network.session.stance import Stance
from folkmoot.network.session.talking import Query, Talking
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.protocols.many import led_winners, winners
from folkmoot.sampling import trust_weights
from folkmoot.trust import heeded
from folkmoot.votes import UNCOLOURED

_BEHIND: Final = 2  # rounds that a node may be behind the others before it skips some
_AHEAD: Final = 2  # rounds before their time that shows are kept
_REMEMBERED: Final = 64  # rounds for which this node knows what it has signed
_REPEATS: Final = 3  # times that a leader is told the same


class LeadTalking(Talking):
    """The rounds of one node in a motion with leaders."""

    def __init__(
        self,
        minutes: Minutes,
        patience: Patience,
        stance: Stance,
        rng: random.Random,
        weights: Sequence[float] | None,
        salts: Salts,
    ) -> None:
        super().__init__(minutes, patience, stance, rng, weights)
        self.counts: Counter[str] = Counter()  # shows, by what became of them
        self.salts = salts
        self.leader: int | None = None  # of this round
        self._won: Query | None = None  # what this round's own query came to
        self._shown: Query | None = None  # what this round's leader shows
        self._shows: dict[tuple[int, int], m.Show] = {}  # by round and sender
        self._silent: set[int] = set()  # leaders that were waited for in vain
        self._asked_as_leader: tuple[int, ...] = ()
        self._told_as_leader: dict[int, m.Shown] | None = (
            None  # what this node was told as the leader of this round
        )
        self._show_by = 0.0
        self._signed: dict[int, tuple[m.Led, int]] = {}  # by round: what a leader was told, and how often
        self._forgotten = -1  # the last round of which that is not known any more
        self._early: dict[int, int] = {}  # by leader: the round for which it asked before its time
        self._others_at = [0] * minutes.seat.n  # rounds in which peers asked us
        self._last_number = 2 * minutes.motion.rounds  # more than any honest node comes to

    # ---- rounds ------------------------------------------------------------------------------

    def begin(self, now: float) -> None:
        """Find out what was revealed to others only; the first round comes as if one had just ended."""
        self.salts.ask_for_lacking(now, self._patience.grace)
        super().begin(now)

    def _schedule_round(self, now: float) -> None:
        """All at one pace, so that they are in the same round."""
        self._next_round = now + self._minutes.motion.pace

    def _begin_round(self, now: float) -> bool:
        self._catch_up()
        if not super()._begin_round(now):
            return False
        self.salts.ask_for_lacking(now, self._patience.grace)
        self._won = self._shown = self._told_as_leader = None
        self.leader = self.salts.leader(self.number)
        self._shows = {at: show for at, show in self._shows.items() if at[0] >= self.number}
        for peer, number in sorted(self._early.items()):
            if number <= self.number:
                del self._early[peer]
                self._tell_leader(peer, number)
        if self.leader == self._minutes.seat.place:
            self._lead(now)
        return True

    def _catch_up(self) -> None:
        others = sorted(self._others_at, reverse=True)
        reached = others[min(faults(len(others)), len(others) - 1)]  # by one that is honest, at least
        if reached > self.number + _BEHIND:
            self.counts["skipped"] += reached - self.number
            self.number = reached

    def tick(self, now: float) -> Event | float:
        """Show what was told, end a round that waited for its leader long enough, and go on."""
        if self._told_as_leader is not None and now >= self._show_by:
            self._show()
        if self._lingers and not self._awaits(now):
            self._end_round(now)
        found = super().tick(now)
        if isinstance(found, Event) or self._told_as_leader is None:
            return found
        return min(found, self._show_by)

    def stop(self) -> None:
        """Wait for nobody any more."""
        super().stop()
        self._lingers = False

    def _end_round(self, now: float) -> None:
        if not self._lingers:
            self._waiting = set()
            self._won = self._own_query()
            self._lingers = True
            self._hurry()
        if self._awaits(now):
            return
        self._lingers = False
        self._shown = self._what_is_shown()
        super()._end_round(now)

    def _hurry(self) -> None:
        """Wait no longer than is usual, now that those who answered were measured."""
        whom = [] if self.leader is None else [self.leader]
        if self._told_as_leader is not None:
            whom = list(self._asked_as_leader)
        seconds = self._punctuality.seconds(whom)
        self._show_by = min(self._show_by, self._asked_at + seconds / 2)
        latest = min(self._round_deadline, self._asked_at + seconds)
        self._lingers_until = latest if self._told_as_leader is None else self._show_by

    def _own_query(self) -> Query | None:
        """What the own query came to; None if every input was won by what is held already."""
        if not self._answers:
            return None
        self._prepare_to_react()
        query = None
        few = len(self._answers) < self._places
        if few or not self._nothing_new() or (self._stance.colours == UNCOLOURED).any():
            query = self._query()
        return query

    def _awaits(self, now: float) -> bool:
        """Whether the round goes on until its leader has shown what it was told."""
        leader, minutes = self.leader, self._minutes
        if leader is None or now >= self._latest(now):
            return False
        if leader == minutes.seat.place:
            return self._told_as_leader is not None
        if (self.number, leader) in self._shows or not self._is_open():
            return False
        if leader in self._silent or leader in minutes.cheats or not minutes.health.live(leader, now):
            return False
        if now < self._lingers_until:
            return True
        self._silent.add(leader)
        self.counts["silent"] += 1
        return False

    def _is_open(self) -> bool:
        """Whether some input had no winner in the own query."""
        if not self._answers:
            return True
        return self._won is not None and bool((self._won.won == UNCOLOURED).any())

    def _heed(self) -> int:
        if self._shown is None:
            return super()._heed() if self._won is not None else self._nothing_changes()
        self._stance.heard_somebody = True
        return self._react()

    def _nothing_changes(self) -> int:
        self._stance.heard_somebody = self._stance.heard_somebody or bool(self._answers)
        return 0

    def _query(self) -> Query:
        if self._won is not None:
            return self._won
        if self._answers:
            return super()._query()
        nothing = np.full_like(self._stance.colours, UNCOLOURED)
        return Query(nothing, self._minutes.motion.k, [])

    def _goes_by(self, won: Colours) -> Colours:
        if self._shown is None:
            return won
        found = led_winners(won, self._shown.won, self._minutes.motion.classes)
        self.counts["followed"] += bool((found != won).any())
        return found

    def _gone_by(self, i: int, query: Query) -> Query:
        return query if self._shown is None or query.won[i] != UNCOLOURED else self._shown

    # ---- being shown something ---------------------------------------------------------------

    def on_show(self, peer: int, message: m.Show) -> bool:
        """A leader shows what it was told; whether this round waits for that."""
        minutes, at = self._minutes, (message.round, peer)
        early = minutes.phase in BEFORE_THE_TALK
        timely = self.number <= message.round <= self.number + _AHEAD
        if not timely or not (early or minutes.phase is Phase.TALKING):
            self.counts["late"] += 1
            return False
        if at in self._shows or len(message.answers) > minutes.motion.k:
            self.counts["refused"] += 1
            return False
        self._shows[at] = message
        return self._lingers and at == (self.number, self.leader)

    def _what_is_shown(self) -> Query | None:
        """What the leader of this round shows, if this node needs it and something of it counts."""
        minutes, leader = self._minutes, self.leader
        show = None if leader is None else self._shows.get((self.number, leader))
        if leader is None or show is None or leader in minutes.cheats or not self._is_open():
            return None
        heard = self._read(show, self.salts.sample(leader))
        self.counts["heard" if heard else "refused"] += 1
        if not heard:
            return None
        answers = list(heard.values())
        counted = self._counted(list(heard), answers)
        told = [
            answer if fine else np.full_like(answer, UNCOLOURED)
            for answer, fine in zip(answers, counted, strict=True)
        ]
        rule = self._stance.rule.scaled(len(self.salts.places))
        assert isinstance(rule.alpha, int)  # noqa: S101 (a session has one threshold, its own)
        won = winners(told, rule.alpha, minutes.motion.classes, asked=rule.k)
        return Query(won, rule.alpha, list(zip(heard, answers, counted, strict=True)))

    def _read(self, show: m.Show, sample: Sequence[int]) -> dict[int, Colours]:
        """The answers in a show that count: of the sample, one each, signed for the motion and the round."""
        found: dict[int, Colours] = {}
        for each in show.answers:
            if each.node in sample and each.node not in found and each.node not in self._minutes.cheats:
                votes = self._checked(each.node, show.round, each)
                if votes is not None:
                    found[each.node] = votes
        return found

    def _checked(self, node: int, number: int, told: m.Shown | m.Led) -> Colours | None:
        """What a participant told a leader for a round; None unless it has signed that."""
        digest = hashlib.sha256(told.votes).digest()
        said = statements.led(self._minutes.name, node, number, told.version, digest)
        if not statements.holds(self._minutes.seat.keys[node], told.bound, said):
            return None
        votes, evidence = self._testimony.compare_answer(node, told)
        if evidence is not None:
            self._minutes.accuse(node, evidence)
        return votes

    def _counted(self, nodes: list[int], answers: list[Colours]) -> list[bool]:
        """Whose answers count for this node: with trust, those of the trusted that are like what it holds."""
        judgement, place = self._minutes.chooses, self._minutes.seat.place
        if judgement is None:
            return [True] * len(nodes)
        trusted = trust_weights(judgement.weights, place) > 0
        near = [True] * len(nodes)
        if judgement.anchored:
            near = heeded(self._stance.colours, np.stack(answers)).tolist()
        return [bool(trusted[p] or p == place) and fine for p, fine in zip(nodes, near, strict=True)]

    # ---- leading -----------------------------------------------------------------------------

    def _lead(self, now: float) -> None:
        """Ask those whom the salts name; half of a round's time is theirs, so that the show is in time."""
        self._asked_as_leader = self.salts.sample(self._minutes.seat.place)
        self._told_as_leader = {}
        self._show_by = now + self._punctuality.seconds(self._asked_as_leader) / 2
        for peer in self._asked_as_leader:
            self._minutes.tell(peer, m.Lead(self._minutes.name, self.number))
        self.queries += len(self._asked_as_leader)

    def on_led(self, peer: int, message: m.Led) -> bool:
        """One of those asked by this leader tells what it holds; whether all have."""
        told = self._told_as_leader
        if told is None or message.round != self.number or peer in told or peer not in self._asked_as_leader:
            return False
        if self._checked(peer, message.round, message) is None:
            return False
        told[peer] = m.Shown(peer, message.version, message.votes, message.signature, message.bound)
        if len(told) < len(self._asked_as_leader):
            return False
        self._show()
        return True

    def _show(self) -> None:
        """Show all others what was told."""
        told, self._told_as_leader = self._told_as_leader, None
        if told:
            show = m.Show(self._minutes.name, self.number, tuple(told[p] for p in sorted(told)))
            self._shows[self.number, self._minutes.seat.place] = show
            self._send(show)
            self.counts["shown"] += 1

    def _send(self, show: m.Show) -> None:
        self._minutes.tell_all(show)

    # ---- being asked -------------------------------------------------------------------------

    def on_ask(self, now: float, peer: int, message: m.Ask) -> m.Message | None:
        """A peer wants to know what we hold, and tells with it how far it is."""
        self._others_at[peer] = max(self._others_at[peer], min(message.round, self._last_number))
        self._minutes.talking.add(peer)
        self._minutes.due = self._minutes.phase is Phase.REVEALING  # the talk may have begun
        return super().on_ask(now, peer, message)

    def on_lead(self, peer: int, message: m.Lead) -> None:
        """The leader of a round wants to know what we hold; it is told when we have come to that round."""
        minutes = self._minutes
        if message.round > self._last_number:
            return
        not_yet = minutes.phase is Phase.TALKING and message.round > self.number
        if minutes.phase in BEFORE_THE_TALK or not_yet:
            self._early[peer] = message.round
        else:
            self._tell_leader(peer, message.round)

    def _tell_leader(self, peer: int, number: int) -> None:
        minutes, place = self._minutes, self._minutes.seat.place
        if not self.may_tell() or peer not in minutes.commits or number <= self._forgotten:
            return
        if self.salts.leader(number) != peer or place not in self.salts.sample(peer):
            return
        led, times = self._signed.get(number, (None, 0))
        if led is None:
            told = self._stance.told_to(peer)
            if told is None:
                return
            digest = hashlib.sha256(told.votes).digest()
            said = statements.led(minutes.name, place, number, told.version, digest)
            led = m.Led(minutes.name, number, *told, minutes.seat.key.sign(said))
        if times < _REPEATS:
            self._signed[number] = led, times + 1
            minutes.tell(peer, led)
        if len(self._signed) > _REMEMBERED:
            self._forgotten = min(self._signed)
            del self._signed[self._forgotten]
