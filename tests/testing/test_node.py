"""A node that lies: what it is made of, and as a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from folkmoot.adversaries import FarAway, Stalling
from folkmoot.network.service.operation import is_running
from folkmoot.node.membership import identity
from folkmoot.node.membership.roster import Roster
from folkmoot.testing.node import LyingContributor, attack_called, main, number_attack_called
from support.network.moot_in_memory import Moot
from support.network.real_moot import until


def test_what_no_node_can_play_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"one that a node can play, malicious, .*: got 'copycat'"):
        attack_called("copycat")
    assert isinstance(number_attack_called("malicious"), FarAway)
    assert isinstance(number_attack_called("stalling"), Stalling)


def test_labels_of_check_rows_are_wrong_and_numbers_mirrored() -> None:
    node = Moot(np.zeros((3, 1), dtype=np.int8), 1).nodes[0]
    assert node is not None
    shows = LyingContributor(node.seat, node.storage, None, 0, np.random.default_rng(0))  # type: ignore[arg-type]
    assert shows._claims(["a", "b", "c"], ["a", "b", "c"]).tolist() == [1, 2, 0]
    assert shows._claims(["1", "2", "6"], []).tolist() == [[5], [4], [0]]


def test_it_runs_until_it_is_stopped(tmp_path: Path) -> None:
    me = identity.create(tmp_path / "north", name="north", listen="127.0.0.1:0", addresses=["127.0.0.1:2"])
    other = identity.create(tmp_path / "east", name="east", listen="127.0.0.1:1")
    Roster([me.member(), other.member()]).write(tmp_path / "roster.toml")
    command = [sys.executable, "-m", "folkmoot.testing.node", tmp_path / "north", "--attack", "equivocating"]
    typed = [*command, "--roster", tmp_path / "roster.toml", "--model", "operator:itemgetter"]
    with subprocess.Popen([*map(str, typed)], stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: (tmp_path / "north" / "door.json").exists(), "its door is open", 60.0)
            assert is_running(tmp_path / "north")
        finally:
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=60)
    assert process.returncode == 0
    assert '"stopped"' in log


def test_what_is_wrong_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), "--attack", "malicious"])
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert line.startswith("python -m folkmoot.testing.node: ")
    assert line.count("\n") == 1
