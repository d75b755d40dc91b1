"""A running node: it drives the motions of its moot, with what a transport, a clock and a storage give it.

``Node`` has no sockets, files or processes of its own. A real node and one of a test are made of the same
parts: another ``Transport``, another path of the ``Storage``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from folkmoot.node.log import Journal
from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.holdout import Holdout
from folkmoot.node.service.interface import Archive, Meter, Succession
from folkmoot.node.service.models import Model
from folkmoot.node.service.policy import Policy
from folkmoot.node.storage.retention import DISK
from folkmoot.node.storage.storage import Storage
from folkmoot.node.transports.transport import Transport

DELTA: Final = 0.25  # seconds that a frame takes at the most, while all is well

Hold: TypeAlias = Callable[[Sequence[Roster], Sequence[bytes]], None]


@dataclass(frozen=True, eq=False)
class Own:
    """What a node votes by, and nobody else knows.

    Parameters
    ----------
    model : Model
        Answers inputs (``models.load_model``).
    holdout : Holdout
        Labelled rows that the model has not seen, or its answers to such rows (``holdout.read_holdout``).
    weights : mapping of str to float
        What members' votes weigh where this node asks for weights, by fingerprint, from a weights file; with
        none they follow from the truths that this node was told.
    """

    model: Model
    holdout: Holdout = field(default_factory=Holdout)
    weights: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """What an operator may choose, and a test may replace.

    Parameters
    ----------
    policy : Policy
        Which motions the node takes part in.
    disk : int
        Bytes that what it stores may take.
    delta : float
        Seconds that a frame takes at the most, while all is well. A larger one makes motions with a silent
        member slower, and one that is too small may leave out slow members.
    randbytes : callable
        Gives so many secret random bytes.
    cpu : callable
        Seconds of processor time that the thread has used: what peers cost is counted by it.
    """

    policy: Policy = field(default_factory=Policy)
    disk: int = DISK
    delta: float = DELTA
    randbytes: Callable[[int], bytes] = os.urandom
    cpu: Callable[[], float] = time.thread_time


class Node:
    """A running node: ``interface.Service``, over one ``Archive`` of the same storage.

    Make it, call ``start`` once the transport can send, and ``stop`` before the storage is closed. All calls
    come from one thread, that of the transport's clock; ``put``, ``check`` and ``reload`` are coroutines.

    Parameters
    ----------
    me : Identity
        Name, key and certificate of the node.
    storage : Storage
        What it remembers; it was looked through (``open_storage``), and nobody else writes motions to it.
    transport : Transport[bytes]
        Its peers by the fingerprints of their certificates, a clock, and a thread for the model. The node
        attaches itself. If it has ``connected()``, ``latencies()``, ``skews()`` and ``counts``, as ``Mesh``
        has, ``status`` and ``counts`` tell of them.
    archive : Archive
        Answers what is asked about stored motions, rosters and truths; ``Node`` hands these calls on.
    succession : Succession
        The rosters that the node has gone through. ``Node.start`` calls its ``start``, and hands it frames of
        the kinds ``messages.ROSTERS``, and who was reached; somebody else calls ``look_again``.
    load : callable
        Loads model, holdout and weights: at once, and again on ``reload``. A ValueError or OSError that it
        raises comes out of the constructor, and of ``reload`` as a ValueError, and then the old ones stay.
    hold : callable or None
        Tells the transport with members of which rosters it speaks, the newest first, and the digests of all
        rosters that the node has gone through, the newest first (``Mesh.hold``). Called at the start and when
        the roster in force is another.
    settings : Settings or None
        None is ``Settings()``.
    meter : Meter or None
        Is told of motions that are over, and of answers of the model.
    journal : Journal or None
        Its log; None is one that tells errors alone.
    """

    def __init__(
        self,
        me: Identity,
        storage: Storage,
        transport: Transport[bytes],
        archive: Archive,
        succession: Succession,
        load: Callable[[], Own],
        *,
        hold: Hold | None = None,
        settings: Settings | None = None,
        meter: Meter | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._me, self._storage, self._transport = me, storage, transport
        self._archive, self._succession, self._load = archive, succession, load
        self._own = load()
        self._hold, self._meter = hold, meter
        self._settings = settings or Settings()
        self._log = (journal or Journal("error")).bound(node=me.name)
