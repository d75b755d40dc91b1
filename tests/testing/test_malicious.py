"""Members that break the rules, on the network in memory: the honest decide alike, and accuse nobody else."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from folkmoot.node.certificate import verify
from folkmoot.node.rosters.history import RosterHistory
from folkmoot.node.service.archive import NodeArchive
from folkmoot.node.service.context import Settings
from folkmoot.node.service.node import Node
from folkmoot.testing.malicious import MALICIOUS, MaliciousMember
from support.node.moot import Moot, model

LABELS = ("no", "yes")
ROWS = np.arange(10.0)[:, None]


def voter(*, right: bool) -> Any:
    """Odd rows are yes; a liar says the contrary."""
    return model(lambda rows: [LABELS[(int(row[0]) + (not right)) % 2] for row in rows], LABELS)


class WithAMaliciousMember(Moot):
    """Four nodes, of which the last one lies."""

    def __init__(self, kind: type[MaliciousMember]) -> None:
        self.kind = kind
        secrets = Settings(randbytes=random.Random(5).randbytes)  # the same run each time
        super().__init__([voter(right=i < 3) for i in range(4)], settings=secrets)

    def start(self, i: int) -> Node:
        """As the others, on a transport that twists what it sends."""
        if i < 3:
            return super().start(i)
        me, storage = self.identities[i], self.storages[i]
        archive = NodeArchive(storage, RosterHistory(storage, self.roster), me)
        twisted = self.kind(self.network.world(self.peers[i]), me, self.roster)
        node = Node(
            me, storage, twisted, archive, self.rosters[i], lambda: self.owns[i], settings=self.settings[i]
        )
        self.nodes[i] = node
        node.start()
        return node


@pytest.mark.parametrize("name", MALICIOUS)
def test_one_of_four_may_lie(name: str) -> None:
    moot = WithAMaliciousMember(MALICIOUS[name])
    account, *_ = moot.play(moot.put(0, ROWS, labels=LABELS), but=[3])
    assert account.decisions == [LABELS[row % 2] for row in range(len(ROWS))]
    assert set(account.evidence) <= {moot.roster[3].name}
    for storage in moot.storages[:3]:
        stored = storage.motion(bytes.fromhex(account.motion))
        assert stored.certificate is not None
        assert verify(stored.certificate, moot.roster).answer == stored.answer


def test_who_says_two_things_leaves_evidence_and_who_is_silent_none() -> None:
    told = {}
    for name in ("two-faced", "silent", "withholding"):
        moot = WithAMaliciousMember(MALICIOUS[name])
        account, *_ = moot.play(moot.put(0, ROWS, labels=LABELS), but=[3])
        moot.run(5.0)
        accused = {who for i in range(3) for who in moot.account(i, bytes.fromhex(account.motion)).evidence}
        told[name] = [account.silent, account.withheld, [*accused]]
    liar = moot.roster[3].name
    assert told["two-faced"][2] == [liar]
    assert told["silent"] == [[liar], [], []]
    assert told["withholding"] == [[], [liar], []]


def test_a_node_in_production_has_no_way_to_lie() -> None:
    code = "import sys, folkmoot.node.service.operation, folkmoot.cli.node.node; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert "folkmoot.node.service.node" in ran.stdout
    assert "folkmoot.testing" not in ran.stdout
