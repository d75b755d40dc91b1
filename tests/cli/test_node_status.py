"""``folkmoot node status`` and the metrics of each peer, on a moot of real processes, one away."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from folkmoot import __version__
from folkmoot.network import Account, Asker, Terms
from folkmoot.network.service.door import write_door
from folkmoot.node.membership.identity import create
from support.command import assert_refused, run, run_json
from support.network.real_moot import real_moot, until
from support.process import assert_control_c_says_interrupted

PEERS = ["node001", "node002", "node003"]


def test_a_running_node_shows_its_peers_and_what_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with real_moot(tmp_path, 4, monkeypatch) as nodes:
        folder = nodes.settings[0].folder
        told = run_json("node", "status", folder)
        assert (told["node"], told["version"], told["participants"]) == ("node000", __version__, 4)
        assert (told["moot"], told["quorum"], told["motions"]) == (nodes.roster.digest, 3, [])
        assert (told["own_motions"], told["all_motions"]) == ([0, 4], [0, 16])
        assert 0 < told["disk"][0] < told["disk"][1] == 4 << 30
        assert [peer["name"] for peer in told["peers"]] == PEERS
        assert all(peer["connected"] and not peer["benched"] for peer in told["peers"])
        assert all(0 < peer["latency"] < 5 for peer in told["peers"])  # over loopback, on a busy machine

        wide = Asker(folder).ask(np.zeros((3, 2)), Terms(seconds=5.0, rounds=3))  # no model takes two columns
        assert (list(wide.abstained), list(wide.refused)) == (["node000"], PEERS)
        other = Terms(seconds=5.0, rounds=3, labels=["even", "neither"])  # what they say is not among these
        none = Asker(folder).ask(np.full((3, 1), 5.0), other)
        assert (set(none.abstained), none.refused) == ({"node000", *PEERS}, {})
        told = run_json("node", "status", folder)
        assert [peer["abstained"] for peer in told["peers"]] == [1, 1, 1]
        assert all(peer["frames"] > 0 for peer in told["peers"])

        nodes.kill(3)
        until(lambda: not run_json("node", "status", folder)["peers"][2]["connected"], "it is away")
        nodes.signal(2, signal.SIGSTOP)  # so that the motion stays under way
        assert_control_c_says_interrupted(
            "node", "status", nodes.settings[2].folder, inside="service/control.py"
        )
        accounts: list[Account] = []
        terms = Terms(seconds=8.0, rounds=400, pace=0.05)
        asking = threading.Thread(
            target=lambda: accounts.append(Asker(folder).ask(np.arange(10)[:, None], terms))
        )
        asking.start()
        until(lambda: bool(run_json("node", "status", folder)["motions"]), "it is under way")
        (motion,) = run_json("node", "status", folder)["motions"]
        assert (motion["asker"], motion["inputs"], motion["rounds"]) == ("node000", 10, 400)
        assert motion["phase"] in ("voting", "gathering", "talking", "closing")
        assert 0 < motion["remaining"] <= 8
        text = run("node", "status", folder)
        assert text.returncode == 0
        assert motion["motion"][:12] in text.stdout
        assert "away" in text.stdout
        assert "motions under way: 1 of 16, of its own 1 of 4" in text.stdout
        nodes.signal(2, signal.SIGCONT)
        asking.join(60.0)
        assert accounts[0].motion == motion["motion"]
        until(lambda: not run_json("node", "status", folder)["motions"], "it is over")
        after = {peer["name"]: peer for peer in run_json("node", "status", folder)["peers"]}
        assert after["node001"]["frames"] > 0
        nodes.kill(0)
        assert_refused("is not running: start it with", "node", "status", folder)


def test_without_a_running_node_it_says_so_in_one_line(tmp_path: Path) -> None:
    assert_refused(f"there is no node in {tmp_path / 'none'}", "node", "status", tmp_path / "none")
    assert_refused(f"there is no node in {tmp_path}", "node", "status", tmp_path)
    folder = tmp_path / "north"
    create(folder, name="north")
    assert_refused(f"the node in {folder} is not running: start it with", "node", "status", folder, "--json")
    write_door(folder, f"unix:{folder / 'door.sock'}", "0" * 48)  # it was killed
    assert_refused("no node answers at unix:", "node", "status", folder)
    (folder / "door.json").write_text("{")
    assert_refused("door.json is damaged", "node", "status", folder)
