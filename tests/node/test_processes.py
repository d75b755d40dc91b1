"""Five real processes over TLS, of which one lies and one dies between its precommit and the answer."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from folkmoot.local.processes import Member, Nodes, prepare
from folkmoot.node.certificate import verify
from folkmoot.node.client import NodeAwayError, NodeRefusal
from folkmoot.node.session.frames import Told, read
from folkmoot.node.session.statement import NIL, Kind
from folkmoot.node.wire.messages import SESSION, kind_of
from folkmoot.testing.malicious import MaliciousMember, TwoFaced

SECONDS = 60.0  # of patience, on any machine
MODELS = """
import numpy

def member(place):
    def predict(X):
        rows = X[:, 0].astype(int)
        return numpy.where((rows + (rows % 5 == place)) % 2, "odd", "even")  # one input in five is wrong
    predict.labels = ["even", "odd"]
    return predict

member0, member1, member2, member3, member4 = map(member, range(5))
"""


class Dying(MaliciousMember):
    """Is killed as soon as its first precommit to a set of reveals is on its way to one peer."""

    def twisted(self, peer: bytes, told: Told) -> Told | None:  # noqa: ARG002
        """As it should be."""
        return told

    def send(self, peer: bytes, frame: bytes) -> None:
        """Send it, and die."""
        super().send(peer, frame)
        if self.precommits(frame):
            os.kill(os.getpid(), signal.SIGKILL)

    def precommits(self, frame: bytes) -> bool:
        """Whether its own precommit to a set of reveals is in a frame."""
        message = read(frame) if kind_of(frame) in SESSION else None
        said = message.said if isinstance(message, Told) else ()
        return any(
            self.is_own(each, Kind.PRECOMMIT) and each.stage == 1 and each.value != NIL for each in said
        )


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    """Number 3 dies, number 4 is two-faced."""
    (tmp_path / "five_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    members = [Member(f"five_models:member{place}") for place in range(5)]
    members[3], members[4] = replace(members[3], lies=Dying), replace(members[4], lies=TwoFaced)
    found = prepare(tmp_path, members)
    try:
        found.start_all(SECONDS)
        yield found
    finally:
        found.stop()


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not there():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_all_honest_agree_and_who_was_killed_ends_with_them(nodes: Nodes) -> None:
    rows = np.arange(20.0)[:, None]
    name = nodes.client(0).put(rows, labels=["even", "odd"], seconds=SECONDS)
    died = nodes.processes[3]
    assert died is not None
    until(lambda: not died.is_alive())
    assert died.exitcode == -signal.SIGKILL
    nodes.members[3] = replace(nodes.members[3], lies=None)
    nodes.start(3)
    honest = range(4)
    until(lambda: all(_decided(nodes, place, name) for place in honest))
    answers = [nodes.client(place).answer(name) for place in honest]
    # Three honest votes at least, of which at most one is wrong: more than a liar and a wrong one together.
    assert answers[0].decisions == ["even", "odd"] * 10
    certificates = [nodes.client(place).certificate(name) for place in honest]
    for answer, certificate in zip(answers, certificates, strict=True):
        assert answer.decisions == answers[0].decisions
        shown = verify(certificate, nodes.roster)
        assert (shown.motion.hex(), shown.answer) == (name, verify(certificates[0], nodes.roster).answer)
        assert [poll.votes for poll in shown.polls] == [
            poll.votes for poll in verify(certificates[0], nodes.roster).polls
        ]


def _decided(nodes: Nodes, place: int, name: str) -> bool:
    try:
        return bool(nodes.client(place).motion(name)["state"] == "decided")
    except (NodeAwayError, NodeRefusal):  # it was started a moment ago
        return False
