"""``folkmoot ask --peer-review`` among real processes, two of five of which lie in votes and labels."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from folkmoot.network.service.check_rows import NONE_SHOWN
from folkmoot.network.service.policy import Policy
from folkmoot.runs.processes import Nodes
from support.command import assert_refused, run, run_json
from support.network.real_moot import real_moot
from support.process import assert_control_c_says_interrupted


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Nodes, Path]]:
    folder = tmp_path_factory.mktemp("moot")

    def shows(nodes: Nodes) -> None:
        for place, settings in enumerate(nodes.settings):
            lines = [f"{number},{'odd' if number % 2 else 'even'}" for number in range(place, 350, 7)]
            holdout = folder / f"holdout{place}.csv"
            holdout.write_text("number,label\n" + "\n".join(lines) + "\n")
            policy = Policy(check_rows=12 if place != 5 else 0)
            nodes.settings[place] = replace(settings, holdout=holdout, policy=policy)

    patch = pytest.MonkeyPatch()
    (folder / "rows.csv").write_text("number\n" + "\n".join(str(1000 + i) for i in range(60)) + "\n")
    with real_moot(folder, 6, patch, attacks={3: "malicious", 4: "malicious"}, change=shows) as nodes:
        yield nodes, folder
    patch.undo()


def test_ask_by_peer_review(moot: tuple[Nodes, Path]) -> None:
    nodes, folder = moot
    via = nodes.settings[0].folder
    found = run_json("ask", folder / "rows.csv", "--via", via, "--peer-review", "--deadline", "15s", "--k", 4)
    assert found["inputs"] == 60
    assert found["decisions"] == ["odd" if i % 2 else "even" for i in range(60)]
    assert found["anchored"] is True
    assert found["check_rows"] == {f"node{place:03d}": 12 for place in range(5)}
    assert found["vanished"] == []
    assert found["evidence"] == {}
    assert found["without_rows"] == {"node005": NONE_SHOWN}
    shown = run("motions", "last", "--via", via).stdout
    assert "check rows: 60 (node000 12, node001 12, node002 12, node003 12, node004 12)" in shown
    assert "by this node's own review; anchored: learnt from" in shown
    assert f"no check rows: node005: {NONE_SHOWN}" in shown
    other = run_json("motions", "last", "--via", nodes.settings[2].folder)
    assert other["decisions"] == found["decisions"]
    assert json.dumps(other["check_rows"]) == json.dumps(found["check_rows"])
    truths = folder / "truths.csv"
    truths.write_text("\n".join(["label", *(found["decisions"])]) + "\n")
    run("truth", "last", truths, "--via", via)
    command = ["ask", folder / "rows.csv", "--via", via, "--weights", "learnt", "--deadline", "15s", "--k", 4]
    learnt = run_json(*command)
    assert learnt["decisions"] == found["decisions"]
    assert "learnt from 60 public rows" in learnt["why"]
    assert learnt["check_rows"] is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--trust"], "give peer review or trust, not both"),
        (["--weights", "record"], "give peer review or --weights 'record', not both"),
        (["--regression", "--tol", "1", "--weights", "learnt"], "is for labels, and not for numbers"),
        (["--voting", "probabilities", "--weights", "learnt"], "for labels, and not for probabilities"),
        (["--voting", "probabilities", "--tol", "0.1"], "by peer review the talk is about labels"),
        (["--regression", "--tol", "1"], "gives labels, not numbers"),
        (["--voting", "probabilities"], "gives no probabilities"),
        (["--least-voters", "3"], "--least-voters must not be given with peer review"),
        (["--weights", "mine"], "--weights must be 'equal', 'record' or 'learnt': got 'mine'"),
    ],
)
def test_what_does_not_go_with_it_is_said(moot: tuple[Nodes, Path], options: list[str], words: str) -> None:
    nodes, folder = moot
    via = nodes.settings[0].folder
    assert_refused(words, "ask", folder / "rows.csv", "--via", via, "--peer-review", *options)


def test_control_c_while_check_rows_are_waited_for_is_one_line_and_the_node_goes_on(
    moot: tuple[Nodes, Path],
) -> None:
    nodes, folder = moot
    via = ["--via", nodes.settings[1].folder]
    before = len(run_json("motions", *via)["motions"])
    goes_on = ["the node goes on, and folkmoot motions shows what comes of it"]
    command = ["ask", folder / "rows.csv", *via, "--peer-review", "--deadline", "20s", "--k", 4]
    nodes.signal(2, signal.SIGSTOP)  # it owes check rows
    try:
        assert_control_c_says_interrupted(*command, inside="service/control.py", more=goes_on)
    finally:
        nodes.signal(2, signal.SIGCONT)
    end = time.monotonic() + 60.0
    while len(found := run_json("motions", *via)["motions"]) == before or found[-1]["state"] == "open":
        assert time.monotonic() < end
        time.sleep(0.2)
    assert found[-1]["undecided"] == 0
    assert run_json("motions", *via)["invitations"] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--peer-review", "--trust"], "give --peer-review or --trust, not both"),
        (["--check-rows", "10"], "--check-rows must be 2 or more, and given with --peer-review: got 10"),
        (["--peer-review", "--check-rows", "1"], "--check-rows must be 2 or more"),
        (["--peer-review", "--check-rows", "1001"], "--check-rows must satisfy 0 <= check_rows <= 1000"),
        (
            ["--peer-review", "--regression", "--check-rows", "1001"],
            "--check-rows must satisfy 0 <= check_rows",
        ),
        (
            ["--regression", "--check-rows", "4"],
            "--check-rows must be 2 or more, and given with --peer-review",
        ),
        (["--regression", "--voting", "probabilities"], "--voting must not be given with --regression"),
        (["--voting", "probabilities"], "--voting probabilities must be given with --peer-review"),
        (["--voting", "numbers"], "--voting must be 'labels' or 'probabilities': got 'numbers'"),
    ],
)
def test_a_local_moot_that_cannot_be_is_refused(options: list[str], words: str) -> None:
    assert_refused(words, "local", *options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["probabilities", "numbers"])
def test_a_local_moot_of_each_kind(kind: str) -> None:
    options: dict[str, list[object]] = {
        "probabilities": ["--peer-review", "--voting", "probabilities"],
        "numbers": ["--peer-review", "--regression", "--tol", 20],
    }
    common = ["--nodes", 7, "--byzantine", 1, "--inputs", 40, "--deadline", "60s"]
    found = run_json("local", *common, *options[kind])
    assert found["undecided"] <= 8
    assert found["evidence"] == {}
    if kind == "numbers":
        assert found["apart"] <= 20
        assert found["error"] < 80
        assert found["without_review"] < 80
        assert set(found["check_rows"].values()) == {10}
        return
    assert found["contradictions"] == 0
    assert found["consensus"] > 0.7
    assert found["by_trust"] is not None


@pytest.mark.slow
def test_fourteen_liars_of_twenty_five_beside_trust_and_majority() -> None:
    """Real processes on one machine."""
    found = run_json("local", "--byzantine", 14, "--peer-review", "--inputs", 300, "--deadline", "90s")
    assert found["majority"] < 0.3
    assert found["consensus"] > 0.8
    assert found["by_trust"] > 0.7
    assert found["anchored"] is True
    assert sum(found["check_rows"].values()) > 200
    assert found["evidence"] == {}
