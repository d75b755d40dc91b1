"""``folkmoot ask`` and ``folkmoot node run`` from the shell, with all that can be wrong."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import resource
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from folkmoot import __version__
from folkmoot.cli.network.motions import print_account
from folkmoot.network import Asker, Terms
from folkmoot.network.service.control import MotionProgress
from folkmoot.network.service.door import DOOR
from folkmoot.network.storage.account import Account
from folkmoot.network.storage.storage import DATABASE
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.input_files import read_inputs
from folkmoot.runs.processes import Nodes, prepare
from support.command import assert_refused, run, run_json
from support.network.hostile_peer import Hall, within
from support.network.metrics import metrics, request
from support.network.ports import held_port
from support.network.real_moot import check_consistency, rows_of_closed_motions, until
from support.network.shell_nodes import MODELS, ShellNode, stopped_quietly
from support.process import assert_control_c_says_interrupted, run_process

QUICK = ("--rounds", 10, "--pace", "5ms", "--deadline", "12s")


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Five processes; the model of the last takes two columns."""
    folder = tmp_path_factory.mktemp("moot")
    (folder / "shell_models.py").write_text(MODELS)
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(folder)
    nodes = prepare(folder, ["shell_models:odd"] * 4 + ["shell_models:narrow"], {})
    try:
        for place in range(5):
            nodes.start(place)
        nodes.wait(range(5), 60.0)
        yield nodes
    finally:
        nodes.stop()
        patch.undo()


def save(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def numbers(path: Path, count: int, columns: int = 1) -> Path:
    """0, 1, 2... in the first column."""
    array = np.zeros((count, columns))
    array[:, 0] = np.arange(count)
    return save(path, array)


def ask(moot: Nodes, path: Path, *options: object) -> Any:
    return run_json("ask", path, "--via", moot.settings[0].folder, *QUICK, *options)


# ---- what is asked ---------------------------------------------------------------------------


def test_a_node_whose_model_takes_other_columns_refuses_and_says_so(moot: Nodes, tmp_path: Path) -> None:
    told = ask(moot, numbers(tmp_path / "x.npy", 10))
    assert told["decisions"] == ["even", "odd"] * 5
    assert told["refused"] == {"node004": "the inputs do not have the columns that its model takes"}
    assert (told["silent"], told["abstained"]) == (["node004"], {})
    shown = run("motions", "last", "--via", moot.settings[0].folder)
    assert "refused: node004: the inputs do not have the columns" in shown.stdout


def test_more_first_votes_may_be_asked_for(moot: Nodes, tmp_path: Path) -> None:
    path = numbers(tmp_path / "x.npy", 4)  # one of the five has no vote on it
    told = ask(moot, path, "--least-voters", 4)
    assert (told["decisions"], told["least_voters"]) == (["even", "odd"] * 2, 4)
    assert told["why_undecided"] == [None] * 4
    told = ask(moot, path, "--least-voters", 5)
    assert told["decisions"] == [None] * 4
    assert told["why_undecided"] == ["only 4 of 5 voted so at first, and 5 must"] * 4
    decided = run("ask", path, "--via", moot.settings[0].folder, *QUICK, "--require-decided")
    assert (decided.returncode, decided.stderr) == (0, "")
    undecided = ("ask", path, "--via", moot.settings[0].folder, *QUICK, "--least-voters", 5)
    assert run(*undecided).returncode == 0
    strict = run(*undecided, "--require-decided")  # it is shown, and nothing is complained about
    assert (strict.returncode, strict.stderr) == (1, "")
    assert "0 of 4 inputs decided" in strict.stdout
    shown = run("motions", "last", "--via", moot.settings[0].folder).stdout
    assert "undecided: 4 (only 4 of 5 voted so at first, and 5 must)" in shown
    command = ["ask", path, "--via", moot.settings[0].folder]
    for number in (0, 6, -1):
        asked = f"least_voters must satisfy 1 <= least_voters <= 5, from one more than may lie to all participants: got least_voters={number}"  # noqa: E501
        assert_refused(asked, *command, f"--least-voters={number}")
    assert_refused("least_voters must not be given with trust", *command, "--least-voters", 2, "--trust")


def test_missing_values_are_undecided_and_the_rest_is_decided(moot: Nodes, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("number\n0\n1\n\nnan\n3\ninf\n5\n")
    result = run("ask", tmp_path / "x.csv", "--via", moot.settings[0].folder, *QUICK, "--json")
    assert result.returncode == 0
    assert "warning: 2 of 6 inputs" in result.stderr
    told = json.loads(result.stdout)
    assert told["decisions"] == ["even", "odd", None, "odd", None, "odd"]
    assert "cannot answer the 2 inputs with missing" in told["abstained"]["node000"]
    everything = save(tmp_path / "nan.npy", np.full((3, 1), np.nan))
    assert ask_quietly(moot, everything)["decisions"] == [None, None, None]


def ask_quietly(moot: Nodes, path: Path) -> Any:
    result = run("ask", path, "--via", moot.settings[0].folder, *QUICK, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_inputs_that_are_none(moot: Nodes, tmp_path: Path) -> None:
    bad = {
        "thin.npy": (np.zeros((3, 0)), "at least one input"),
        "flat.npy": (np.zeros(3), "must hold rows and columns"),
        "words.npy": (np.array([["a"]]), "must hold numbers"),
        "complex.npy": (np.zeros((2, 2), complex), "must hold numbers"),
    }
    for name, (array, why) in bad.items():
        with pytest.raises(ValueError, match=why):
            read_inputs(save(tmp_path / name, array))
    texts = {
        "header.csv": ("a,b\n", "has a header and no rows"),
        "none.csv": ("", "is empty"),
        "comma.csv": ("a;b\n1,5;1.234,5\n", "line 2: expected a number, got '1.234,5', with thousands"),
        "ragged.csv": ("1,2\n3\n", "line 2: expected 2 cells"),
        "text.csv": ("1,2\n3,x\n", "line 2: expected a number"),
        "pickle.npy": ("\x00\x04K\x01.", "is not an array of numbers"),
        "x.npz": ("1\n", "must be one array in a .npy file, or a table"),
    }
    for name, (text, why) in texts.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=why):
            read_inputs(tmp_path / name)
    via = ["--via", moot.settings[0].folder]
    assert_refused("at least one input", "ask", save(tmp_path / "empty.npy", np.zeros((0, 3))), *via)
    wide = save(tmp_path / "wide.npy", np.zeros((1, 70_000)))
    assert_refused("an input must be smaller than", "ask", wide, *via)
    assert_refused("No such file", "ask", tmp_path / "nowhere.npy", *via)


def test_inputs_in_tables_of_every_format(tmp_path: Path) -> None:
    rows = np.array([[1.5, -2.0], [np.nan, 1e-7]])
    (tmp_path / "x.csv").write_text("a,b\n1.5,-2\n,1e-7\n")
    (tmp_path / "bare.csv").write_text("1.5,-2\n,1e-7\n")
    (tmp_path / "excel.csv").write_text("\ufeffa;b\r\n1,5;-2\r\n;1e-7\r\n", encoding="utf-8")
    (tmp_path / "x.tsv").write_text("1,5\t-2\n\t0,0000001\n")
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress((tmp_path / "x.csv").read_bytes()))
    pd.DataFrame(rows, columns=["a", "b"]).to_parquet(tmp_path / "x.parquet")
    for path in sorted(tmp_path.iterdir()):
        np.testing.assert_array_equal(read_inputs(path).array, rows)


def test_options_that_make_no_motion(moot: Nodes, tmp_path: Path) -> None:
    one = ["ask", numbers(tmp_path / "x.npy", 4), "--via", moot.settings[0].folder]
    assert_refused("k must satisfy 1 <= k <= 4", *one, "--k", 5)
    assert_refused("alpha must satisfy k/2 < alpha <= k", *one, "--k", 4, "--alpha", 2)
    assert_refused("--deadline must be a time such as 30s", *one, "--deadline", "soon")
    assert_refused("must differ from each other", *one, "--labels", "a,a")
    many = ",".join(f"l{i}" for i in range(100))
    assert_refused("labels^3 beta <= 400,000", *one, "--protocol", "snowball", "--labels", many)
    assert_refused("there is no", *one, "--out", tmp_path / "nowhere" / "x.csv")


def test_a_hundred_thousand_inputs_in_one_motion(moot: Nodes, tmp_path: Path) -> None:
    path, out = numbers(tmp_path / "x.npy", 100_000, columns=8), tmp_path / "out.csv"  # 25 chunks, 6.4 MB
    told = ask(moot, path, "--deadline", "60s", "--out", out)
    assert told["decisions"] == ["even", "odd"] * 50_000
    assert out.read_text().count("\n") == 100_001


def test_a_client_that_leaves_takes_nothing_with_it(moot: Nodes, tmp_path: Path) -> None:
    """The inputs are fetched for two seconds; the client is gone in the first."""
    array = np.zeros((14_000, 9))
    array[:, 0] = np.arange(14_000)
    name = ""

    class GoneError(Exception):
        pass

    def leave(state: MotionProgress) -> None:
        nonlocal name
        name = state.motion
        raise GoneError

    with pytest.raises(GoneError):
        Asker(moot.settings[0].folder).ask(array, Terms(seconds=25.0, rounds=10, pace=0.005), leave)
    told: dict[str, Any] = {"state": "open"}
    end = time.monotonic() + 60.0
    while told["state"] == "open":
        assert time.monotonic() < end
        time.sleep(0.5)
        told = run_json("motions", name, "--via", moot.settings[0].folder)
    assert told["decisions"] == ["even", "odd"] * 7000
    assert told["refused"].keys() == {"node004"}
    assert ask(moot, numbers(tmp_path / "x.npy", 4))["undecided"] == 0


def test_control_c_while_asking_is_one_line(moot: Nodes, tmp_path: Path) -> None:
    path = numbers(tmp_path / "x.npy", 10)
    slow = ["--rounds", 200, "--pace", "50ms", "--deadline", "20s"]
    via = ["--via", moot.settings[1].folder]
    before = len(run_json("motions", *via)["motions"])
    goes_on = ["the node goes on, and folkmoot motions shows what comes of it"]
    command = ["ask", path, *via, *slow]
    assert_control_c_says_interrupted(*command, inside="service/control.py", more=goes_on)
    assert len(run_json("motions", *via)["motions"]) == before + 1  # the node is still there


def test_nobody_answers_there(moot: Nodes, tmp_path: Path) -> None:
    path = numbers(tmp_path / "x.npy", 4)
    run("node", "init", tmp_path / "n", "--name", "n")
    assert_refused("is not running: start it with folkmoot node run", "ask", path, "--via", tmp_path / "n")
    assert_refused("must be a node's folder or HOST:PORT", "ask", path, "--via", tmp_path / "nowhere")
    with held_port() as port:
        address = f"127.0.0.1:{port}"
        assert_refused(f"no node answers at {address}", "ask", path, "--via", address)
        (tmp_path / "n" / DOOR).write_text(json.dumps({"address": address, "token": "", "pid": 1}))
        assert_refused("is it running?", "ask", path, "--via", tmp_path / "n")  # as after a crash
    (tmp_path / "n" / DOOR).write_text("{")
    assert_refused("door.json", "ask", path, "--via", tmp_path / "n")
    assert_refused("has no motions yet", "motions", "--via", tmp_path / "n")
    assert_refused("must be a node's folder", "motions", "--via", tmp_path)
    door = json.loads((moot.settings[0].folder / DOOR).read_text())
    (tmp_path / "n" / DOOR).write_text(json.dumps(door | {"token": "0" * 48}))
    assert_refused("the token is wrong", "ask", path, "--via", tmp_path / "n")
    (tmp_path / "n" / DOOR).write_text(json.dumps(door | {"address": f"unix:{tmp_path}/none"}))
    assert_refused("is it running?", "ask", path, "--via", tmp_path / "n")


def test_what_others_wrote_is_not_obeyed_by_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(
        motion="00" * 32, state="closed", asker="a", created=0.0, inputs=2,
        labels=["[bold]x[/bold]", "\x1b[2J"],
        protocol="slush", k=2, alpha=2, rounds=1, decisions=["[bold]x[/bold]", "\x1b[2J"],
        agreement=[1.0, 1.0], first_votes=[{}, {"\x1b[2J": 1}],
        majority=[None, "\x1b[2J"], undecided=0, why_undecided=[None, None], participants=3, quorum=2,
        least_voters=1, took_part=["a"], silent=[], late=[],
        abstained={"b": "[/red] \x1b]0;owned\x07 \u202e"}, evidence={}, trust=None,
        anchored=None, why="", rounds_played=1, queries=2,
        bytes_sent=1, bytes_received=1, seconds=1.0,
    )  # fmt: skip
    print_account(account)
    shown = capsys.readouterr().out
    assert "[bold]x[/bold]" in shown
    assert "[/red]" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


# ---- running a node --------------------------------------------------------------------------


@pytest.fixture
def network(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder with three nodes, none of them running, and their roster."""
    (tmp_path / "shell_models.py").write_text(MODELS)
    nodes = prepare(tmp_path, ["shell_models:odd"] * 3, {})
    yield nodes.settings[0].folder, tmp_path / "roster.toml"
    nodes.stop()


def test_nodes_that_cannot_be_started(network: tuple[Path, Path]) -> None:
    folder, roster = network
    command = ["node", "run", folder, "--roster", roster, "--model", "folkmoot.checks:number"]
    assert_refused("--control must be on this machine", *command, "--control", "0.0.0.0:7001")
    assert_refused("--metrics must be on this machine", *command, "--metrics", "192.0.2.1:7001")
    assert_refused("log level must be one of", *command, "--log-level", "loud")
    assert_refused("there is no nothing", *command[:-1], "nothing:at_all")
    text = roster.read_text()
    first, second = re.findall(r'fingerprint = "(\w+)"', text)[:2]
    lines = [line for line in text.splitlines() if first in line]
    roster.write_text(text.replace("]\n", lines[0] + "\n]\n"))
    assert_refused("names must differ: got 'node000' twice", *command)
    roster.write_text(text.replace("]\n", lines[0].replace('"node000"', '"node009"') + "\n]\n"))
    assert_refused("name must be that in the certificate (CN=node000): got 'node009'", *command)
    roster.write_text(text.replace(f'"{second}"', f'"{first}"'))
    assert_refused("fingerprint must be that of the certificate", *command)
    roster.write_text("\n".join(line for line in text.splitlines() if first not in line))
    assert_refused("does not have this node: type folkmoot roster add", *command)
    roster.write_text("participants = 7")
    assert_refused("participants must be a list", *command)
    roster.write_text(text)
    (folder / DATABASE).write_bytes(b"this is no database, whatever it is called" * 100)
    assert_refused("is not a database of folkmoot", *command)


def test_a_port_in_use(network: tuple[Path, Path]) -> None:
    folder, roster = network
    command = ["node", "run", folder, "--roster", roster, "--model", "folkmoot.checks:number"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for option in ("--listen", "--control", "--metrics"):
            result = run(*command, "--log-level", "error", option, address)
            assert result.returncode == 2
            assert result.stderr == (
                f"folkmoot: {address} is in use by another program: stop it, or give another address with "
                f"{option}\n"
            )
        assert not (folder / DOOR).exists()


def test_a_node_that_runs(network: tuple[Path, Path], tmp_path: Path) -> None:
    """Twice in one folder; what it counts; and Ctrl-C is how it is stopped."""
    folder, roster = network
    with (
        held_port() as port,
        ShellNode(
            folder, roster, "--metrics", f"127.0.0.1:{port}", model="shell_models:odd", cwd=tmp_path
        ) as node,
    ):
        address = node.wait_for("listening")["address"]
        assert_refused(
            "is running already",
            "node",
            "run",
            folder,
            "--roster",
            roster,
            "--model",
            "folkmoot.checks:number",
        )
        host, number = address.split(":")
        for _ in range(3):
            with socket.create_connection((host, int(number)), timeout=10.0) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                while stranger.recv(1000):
                    pass
        samples = metrics(port)
        assert samples['folkmoot_refused_total{why="handshake_refused"}'] == 3
        peers = [f'{{peer="{participant.name}"}}' for participant in Roster.read(roster)]
        connected = [samples.get(f"folkmoot_peer_connected{peer}") for peer in peers]
        assert sorted(connected, key=str) == [
            0.0,
            0.0,
            None,
        ]  # nobody else runs; a node is no peer of its own
        assert all(samples[f"folkmoot_peer_abstentions_total{peer}"] == 0 for peer in peers)
        assert samples[f'folkmoot_info{{version="{__version__}"}}'] == 1
        assert samples["folkmoot_motion_seconds_total"] == 0
        assert samples["folkmoot_participants"] == 3
        assert samples["folkmoot_motions_open"] == 0
        assert request(port, "GET /metrics?x=1 HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 200 OK")
        for other in ("GET / HTTP/1.1\r\n\r\n", "POST /metrics HTTP/1.1\r\n\r\n", "x\r\n\r\n"):
            assert request(port, other).startswith("HTTP/1.1 404 Not Found")
        assert (folder / DOOR).stat().st_mode & 0o777 == 0o600
        stopped_quietly(node)
        assert not (folder / DOOR).exists()
    with ShellNode(folder, roster, model="shell_models:odd", cwd=tmp_path) as node:
        node.wait_for("listening")
        stopped_quietly(node, signal.SIGTERM)


def test_a_full_disk_stops_a_node_in_one_line_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shell_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    nodes = prepare(tmp_path, ["shell_models:odd"] * 4, {})
    path, victim = numbers(tmp_path / "x.npy", 3000), nodes.settings[3].folder
    try:
        for place in range(3):
            nodes.start(place)
        with ShellNode(victim, tmp_path / "roster.toml", model="shell_models:odd", cwd=tmp_path) as node:
            nodes.wait(range(3), 60.0)
            node.wait_for("listening")
            assert ask(nodes, path)["undecided"] == 0
            until(lambda: len(rows_of_closed_motions(nodes, 3)) > 4, "it has stored the motion")
            before = rows_of_closed_motions(nodes, 3)
            written = (victim / f"{DATABASE}-wal").stat().st_size
            resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (written + 1, written + 1))
            assert ask(nodes, path)["undecided"] == 0  # the others go on
            code, lines = node.leaves()
            assert code == 2, lines
            plain = [line for line in lines if not line.startswith("{")]
            assert len(plain) == 1
            assert plain[0].startswith("folkmoot: the database in ")
            assert "make room and start the node again; nothing that was stored is lost" in plain[0]
            assert not any('"unexpected"' in line for line in lines)
        assert before <= rows_of_closed_motions(nodes, 3)
        nodes.start(3)  # there is room again
        nodes.wait(range(4), 60.0)
        told = ask(nodes, path)
        assert len(told["took_part"]) == 4
        assert told["undecided"] == 0
        assert before <= rows_of_closed_motions(nodes, 3)
    finally:
        nodes.stop()
    assert len(check_consistency(nodes)) == 3


def test_a_clock_an_hour_ahead_is_told_and_does_no_harm(tmp_path: Path) -> None:
    def ahead() -> float:
        return time.time() + 3600.0

    async def play() -> None:
        async with Hall(tmp_path, clocks={1: ahead}) as hall:
            assert 3590 < hall.meshes[0].skews()[hall.fingerprint(1)] < 3610
            await hall.ask(0)
            await hall.ask(1)
        async with Hall(tmp_path / "two", clocks=dict.fromkeys(range(5), ahead)) as hall:
            folder, roster = hall.folder / "p5", hall.folder / "roster.toml"
            result = await asyncio.to_thread(
                run_process, "node", "check", folder, "--roster", roster, "--json"
            )
            assert result.returncode == 2
            lines = {line["what"]: line for line in json.loads(result.stdout)["checks"]}
            assert not lines["clock"]["fine"]
            assert "this clock is 3600 s behind the peers'" in lines["clock"]["note"]
            assert lines["peers"]["fine"]

    (tmp_path / "two").mkdir()
    within(play())
