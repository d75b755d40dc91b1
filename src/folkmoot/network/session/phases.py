"""The rules of a session: its phases, what ends each, and what follows. The rest carries them out.

1. VOTING. Fetch the inputs from the asker, chunk by chunk, and let the model vote. What is missing when the
   time for votes is over stays uncoloured.
2. GATHERING. Commit to the first votes; go on when every live peer has committed, as long again after all but
   f have, or at the deadline.
3. REVEALING, if the motion wants trust. Freeze the commitments that are there, and tell all which they are
   (``comparing.py``). Show the first votes to those who had committed, compare commitments with all who
   answer, then listen to the first votes of those not caught with two, and learn whom to trust. A node that
   finds nobody to trust keeps silent.
4. TALKING. In a round ask k random live peers who have committed; the protocol's rule does the rest. Nobody
   is told a vote before it has committed to its own. At every change of opinion the version goes up.
   A threshold of the node's own is settled once: by the votes revealed or, without trust, by its first query.
5. CLOSING. Sign what is held, once, and reveal the first votes; collect the others' closes, relayed
   by anybody. With trust, a node signs what it opened with if the talk changed too much of that.
6. OVER. Say no more than what was said. A session that reaches its end without having signed never signs.

What is saved before it is sent (first votes, commitment, close) is what a restarted session begins with,
and the versions of a new start are above all old ones, so a node never contradicts what it signed.

Each phase but the last is a module of its name: its class begins, ticks until something ends it, and takes
the messages that belong to it, whenever they come.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Protocol, TypeAlias


class Phase(Enum):
    """Where a session stands; it only ever goes forward."""

    VOTING = "voting"
    GATHERING = "gathering"
    REVEALING = "revealing"
    TALKING = "talking"
    CLOSING = "closing"
    OVER = "over"


class Event(Enum):
    """What ends a phase."""

    VOTED = "the first votes are fixed: all of them, or those that came in time"
    CLOSED_BEFORE = "they are fixed, and this node had signed its close before it was started again"
    GATHERED = "every live peer has committed, or the time for it is over"
    JUDGED = "what the first votes tell about the others is known"
    TALKED = "there is no more time to talk, nothing more to ask, or nobody to be asked"
    CLOSED = "every live peer has closed, or a quorum has and the rest was waited for"
    OUT_OF_TIME = "the deadline of the motion has come"


Table: TypeAlias = dict[tuple[Phase, Event], Phase]

WITHOUT_TRUST: Final[Table] = {
    (Phase.VOTING, Event.VOTED): Phase.GATHERING,
    (Phase.VOTING, Event.CLOSED_BEFORE): Phase.CLOSING,
    (Phase.GATHERING, Event.GATHERED): Phase.TALKING,
    (Phase.TALKING, Event.TALKED): Phase.CLOSING,
    (Phase.CLOSING, Event.CLOSED): Phase.OVER,
} | {(phase, Event.OUT_OF_TIME): Phase.OVER for phase in Phase if phase is not Phase.OVER}

WITH_TRUST: Final[Table] = WITHOUT_TRUST | {
    (Phase.GATHERING, Event.GATHERED): Phase.REVEALING,
    (Phase.REVEALING, Event.JUDGED): Phase.TALKING,
}

BEFORE_THE_TALK: Final = (Phase.VOTING, Phase.GATHERING, Phase.REVEALING)


class Part(Protocol):
    """What plays a phase."""

    def begin(self, now: float) -> None:
        """The phase has come."""

    def tick(self, now: float) -> Event | float:
        """Do what is due; returns what has ended the phase, or when there is something to do again."""
