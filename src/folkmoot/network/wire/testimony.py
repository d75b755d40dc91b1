"""What peers have told one node in a motion, each answer signed; and who told others something else."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from folkmoot.arrays import Array
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.forms import Form
from folkmoot.network.wire.statements import TwoStates

_KEPT: Final = 64  # signed states of each peer, to compare with what others heard


class Testimony:
    """The signed answers of all peers in one motion."""

    def __init__(self, motion: bytes, keys: Sequence[Ed25519PublicKey], form: Form) -> None:
        self._motion, self._keys, self._form = motion, keys, form
        self._last: dict[int, tuple[int, bytes, bytes, Array]] = {}  # version, votes, signature, unpacked
        self._states: dict[int, dict[int, m.Heard]] = {}

    def take(self, peer: int, answer: m.Answer) -> tuple[Array | None, TwoStates | None]:
        """The votes in an answer if it is signed and well-formed; and evidence, if it contradicts an
        earlier one.

        Most answers come again unchanged, and are not checked again.
        """
        last = self._last.get(peer)
        if last is not None:
            version, votes, signature, colours = last
            if version == answer.version and signature == answer.signature and votes == answer.votes:
                return colours, None
        found, evidence = self._compare_answer(peer, answer)
        if found is not None:
            self._last[peer] = (answer.version, answer.votes, answer.signature, found)
        return found, evidence

    def _compare_answer(self, peer: int, answer: m.Answer) -> tuple[Array | None, TwoStates | None]:
        heard = m.Heard(peer, answer.version, hashlib.sha256(answer.votes).digest(), answer.signature)
        known = self._states.get(peer, {}).get(answer.version)
        if known != heard and not self._signed(heard):
            return None, None
        try:
            colours = self._form.unpack(answer.votes)
        except ValueError:
            return None, None
        states = self._states.setdefault(peer, {})
        if known is not None and known.digest != heard.digest:
            return colours, TwoStates(self._motion, known, heard)
        states[answer.version] = heard
        if len(states) > _KEPT:
            del states[min(states)]
        return colours, None

    def packed(self, peer: int) -> bytes:
        """The votes in the last answer of a peer, as they came."""
        return self._last[peer][1]

    def all_told(self, peers: Iterable[int], votes: bytes) -> bool:
        """Whether the last answers of all these peers were these packed votes, to the byte."""
        last = self._last
        for peer in peers:  # noqa: SIM110 (asked of every answer: a generator costs more than the look)
            if last[peer][1] != votes:
                return False
        return True

    def something(self, rng: random.Random) -> m.Heard | None:
        """One state heard, to pass on: somebody may have heard another."""
        if not self._last:
            return None
        peer = rng.choice(list(self._last))
        return self._states[peer].get(self._last[peer][0])

    def compare(self, heard: m.Heard) -> TwoStates | None:
        """Evidence, if a third node has told somebody else what it did not tell me."""
        states = self._states.get(heard.node)
        known = None if states is None else states.get(heard.version)
        if known is None or known.digest == heard.digest or not self._signed(heard):
            return None
        return TwoStates(self._motion, known, heard)

    def _signed(self, heard: m.Heard) -> bool:
        said = statements.state(self._motion, heard.node, heard.version, heard.digest)
        return statements.holds(self._keys[heard.node], heard.signature, said)
