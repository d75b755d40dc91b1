"""``folkmoot ask --protocol federated`` and ``verify --quorum-set``, with all that can be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from folkmoot.client import Client
from folkmoot.federated import QuorumSet
from folkmoot.network.service.node_file import read_node_file
from folkmoot.network.storage.certificate import write_certificate
from folkmoot.runs.local_page import ANY
from folkmoot.runs.processes import Nodes
from support.command import assert_refused, run, run_json
from support.network.federated_moot import FederatedMoot
from support.network.real_moot import real_moot


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Four processes; the last has no quorum set, and the first is watched."""

    def choose(nodes: Nodes) -> None:
        names = [member.name for member in nodes.roster]
        fingerprint = nodes.roster[2].fingerprint
        for place in range(3):
            chosen = QuorumSet(3, [*names[:2], fingerprint if place == 1 else names[2], names[3]])
            nodes.settings[place] = replace(nodes.settings[place], quorum_set=chosen)

    patch = pytest.MonkeyPatch()
    try:
        with real_moot(tmp_path_factory.mktemp("moot"), 4, patch, {0: ANY}, change=choose) as nodes:
            yield nodes
    finally:
        patch.undo()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(path, np.arange(12.0)[:, None])
    return path


def test_a_moot_of_processes_decides_by_quorum_sets(moot: Nodes, rows: Path, tmp_path: Path) -> None:
    own = moot.settings[0].folder
    told = run_json("ask", rows, "--via", own, "--protocol", "federated", "--deadline", "20s", "--json")
    assert told["decisions"] == ["even", "odd"] * 6
    assert told["protocol"] == "federated"
    assert told["took_part"] == ["node000", "node001", "node002"]
    assert told["refused"] == {
        "node003": "this node has no quorum set, so it cannot decide in a federated motion"
    }
    assert told["quorum_sets"]["node001"] == told["quorum_sets"]["node000"], "names, not fingerprints"
    assert set(told["ballots"]) == {"decided"}
    assert told["signers"] == [3] * 12
    over_http = Client.of(own).answer(told["motion"])
    assert over_http.decisions == told["decisions"]
    for key in ("ballots", "signers", "quorum_sets", "protocol", "why_undecided"):
        assert over_http.details[key] == told[key], key
    shown = run("motions", "last", "--via", moot.settings[1].folder).stdout
    assert "a quorum that satisfies the quorum set of this node has accepted the label" in shown
    assert "refused: node003: this node has no quorum set" in shown
    assert "statements and came to counter" in shown
    why = run("motions", "last", "--via", own, "--why", 3).stdout
    assert "a quorum of 3 that satisfies the quorum set of this node has accepted it" in why
    paper = tmp_path / "motion.certificate"
    result = run("motions", "last", "--via", own, "--certificate", paper)
    assert f"folkmoot verify {paper} --roster ROSTER.toml --quorum-set MINE" in result.stderr
    assert run("motions", "last", "--via", own, "--play", tmp_path / "motion.html").returncode == 0
    (own / "mine.json").write_text(json.dumps({"threshold": 2, "validators": ["node001", "node002"]}))
    roster = moot.settings[0].roster
    held = run_json("verify", paper, "--roster", roster, "--quorum-set", own / "mine.json", "--json")
    assert held["holds"] is True
    assert held["decisions"] == told["decisions"]


def test_a_node_without_a_quorum_set_cannot_ask(moot: Nodes, rows: Path) -> None:
    assert_refused(
        "this node has no quorum set, so it cannot decide in a federated motion: write [quorum_set] with "
        "threshold and members into its node.toml, and start it again",
        "ask", rows, "--via", moot.settings[3].folder, "--protocol", "federated",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--k", "3"], "--k must not be given with protocol 'federated': quorum sets decide"),
        (["--alpha", "local"], "--alpha must not be given with protocol 'federated': quorum sets decide"),
        (["--beta", "3"], "--beta must not be given with protocol 'federated'"),
        (["--rounds", "3"], "--rounds must not be given with protocol 'federated'"),
        (["--least-voters", "3"], "--least-voters must not be given with protocol 'federated'"),
        (["--voting", "probabilities"], "--protocol must not be given for probabilities"),
        (
            ["--peer-review"],
            "peer review must not be given with protocol 'federated': there each node's own quorum",
        ),
        (["--weights", "learnt"], "--weights must be 'equal' or 'record' with protocol 'federated'"),
    ],
)
def test_options_of_other_protocols_are_refused(options: list[str], message: str, rows: Path) -> None:
    assert_refused(message, "ask", rows, "--protocol", "federated", *options)


# ---- certificates --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate of a motion of five, of whom any four decide, and its roster."""
    folder = tmp_path_factory.mktemp("paper")
    hall = FederatedMoot(np.tile(np.array([0, 1, -1], np.int8), (5, 1)), 1, adversaries=None)
    hall.at(0.0, lambda: hall.crash(4))
    hall.put(0, seconds=20.0)
    hall.network.run(60.0)
    (stored,) = hall.storages[0].motions()
    held = hall.storages[0].held(stored.name)
    (folder / "cert").write_bytes(write_certificate(stored, held))
    hall.roster.write(folder / "roster.toml")
    return folder


def verify(paper: Path, mine: str, name: str = "mine.toml") -> tuple[str, ...]:
    (paper / name).write_text(mine)
    return (
        "verify",
        str(paper / "cert"),
        "--roster",
        str(paper / "roster.toml"),
        "--quorum-set",
        str(paper / name),
    )


def test_a_certificate_holds_for_whoever_needs_those_who_signed_it(paper: Path) -> None:
    for mine in (
        'threshold = 2\nmembers = ["p000", "p001", "p004"]\n',
        '[quorum_set]\nthreshold = 1\nmembers = ["p004"]\n[[quorum_set.inner]]\nthreshold = 2\n'
        'members = ["p001", "p002"]\n',
    ):
        told = run_json(*verify(paper, mine), "--json")
        assert told["holds"] is True
        assert told["decisions"] == ["a", "b", None]
        assert "ballots" not in told or told["ballots"] == []
    assert "4 quorum sets with their ballots" in run(*verify(paper, mine)).stdout


@pytest.mark.parametrize(
    ("mine", "message"),
    [
        (
            'threshold = 2\nmembers = ["p000", "p004"]',
            "does not hold: on 2 of 3 inputs, such as 0, those who accepted a label do not satisfy your "
            "quorum set (2 of p000, p004)",
        ),
        ('threshold = 3\nmembers = ["p000"]', "threshold must satisfy threshold <= members and inner sets"),
        ('threshold = 0\nmembers = ["p000"]', "threshold must satisfy threshold >= 1: got threshold=0"),
        ('threshold = 1\nmembers = ["zoe"]', "must name members of the roster, p000, p001, p002, p003, p004"),
        ('threshold = 1\nmembers = ["p000", "p000"]', "a quorum set names nobody twice: got 'p000' again"),
        ('members = ["p000"]', "threshold is missing"),
        ('threshold = 1\nmember = ["p000"]', "'member' must be one of threshold, members, inner"),
        ("threshold = 1\nmembers = 3", "members must be a list of names"),
        ('threshold = 1\nmembers = ["p000"]\ninner = 3', "inner must be tables"),
        ('{"threshold": 1', "must be JSON or TOML"),
        ("threshold = ", "must be TOML"),
        ("quorum_set = 3", "quorum_set must be a table with threshold = 3"),
    ],
)
def test_a_certificate_does_not_hold_for_others_and_bad_sets_are_refused(
    mine: str, message: str, paper: Path
) -> None:
    assert_refused(message, *verify(paper, mine))


def test_a_federated_certificate_needs_a_quorum_set_and_no_other_does(paper: Path, tmp_path: Path) -> None:
    certificate, roster = paper / "cert", paper / "roster.toml"
    assert_refused("say with --quorum-set MINE whose you need", "verify", certificate, "--roster", roster)
    assert_refused(
        "--quorum-set must be a file or a node's folder: there is no",
        "verify", certificate, "--roster", roster, "--quorum-set", tmp_path / "nowhere",
    )  # fmt: skip
    (tmp_path / "node.toml").write_text('name = "x"')
    assert_refused(
        "has no quorum set: write [quorum_set] with threshold and members into it",
        "verify", certificate, "--roster", roster, "--quorum-set", tmp_path,
    )  # fmt: skip
    (tmp_path / "node.toml").write_text('[quorum_set]\nthreshold = 1\nmembers = ["p001"]')
    assert run("verify", certificate, "--roster", roster, "--quorum-set", tmp_path).returncode == 0


def test_every_character_of_quorum_sets_and_ballots_is_fixed(paper: Path) -> None:
    """And what is left out cannot turn a decision into another."""
    data = (paper / "cert").read_bytes()
    start, end = data.index(b'"choices"'), data.index(b'"closes"')
    ballots = data.index(b'"ballots"')
    arguments = verify(paper, 'threshold = 2\nmembers = ["p000", "p001"]')
    for place in [*range(start, end, 37), *range(ballots, ballots + 700, 41)]:
        (paper / "changed").write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        result = run("verify", paper / "changed", *arguments[2:])
        assert (result.returncode, result.stdout) == (2, ""), place


# ---- node.toml -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[quorum_set]\nthreshold = 2",
            r"node.toml: quorum_set: threshold must satisfy threshold <= members",
        ),
        ('quorum_set = "all"', r"quorum_set must be a table with threshold = 3 and members"),
        ('[quorum_set]\nthreshold = "2"\nmembers = ["a", "b"]', r"threshold"),
        ("[quorum_set]\nthreshold = 1\nmembers = [1]", r"members must be a list of names"),
    ],
)
def test_a_bad_quorum_set_in_node_toml_is_refused_in_one_line(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "node.toml").write_text(f'name = "a"\nlisten = "127.0.0.1:7000"\n{text}\n')
    with pytest.raises(ValueError, match=message) as caught:
        read_node_file(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_quorum_set_in_node_toml_may_be_nested(tmp_path: Path) -> None:
    (tmp_path / "node.toml").write_text(
        '[quorum_set]\nthreshold = 2\nmembers = ["a", "b"]\n'
        '[[quorum_set.inner]]\nthreshold = 1\nmembers = ["c", "d"]\n'
    )
    inner = QuorumSet(1, ["c", "d"])
    assert read_node_file(tmp_path).quorum_set == QuorumSet(2, ["a", "b"], [inner])
