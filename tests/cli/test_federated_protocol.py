"""``--protocol federated --quorum-sets NODES.json`` for ``deliberate`` and ``learn``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from folkmoot import deliberate, read_votes
from folkmoot.federated import QuorumSet, read_federated
from support.command import assert_refused, run, run_json

NAMES = ["ada", "bo", "cy", "di", "ed"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("federated")
    rng = np.random.default_rng(6)
    votes, table = ["task,worker,label"], ["a,b,who,sick"]
    for task in range(30):
        right = bool(rng.integers(0, 2))
        votes += [f"t{task},{name},{int(right ^ (rng.random() < 0.2))}" for name in NAMES]
    for name in NAMES:
        for _ in range(30):
            sick = rng.integers(0, 2)
            table.append(f"{rng.normal(sick):.3f},{rng.normal(sick):.3f},{name},{'yes' if sick else 'no'}")
    (folder / "votes.csv").write_text("\n".join(votes))
    (folder / "table.csv").write_text("\n".join(table))
    four = QuorumSet(4, [f"G{name}" for name in NAMES]).to_dict()
    nodes = [{"publicKey": f"G{name}", "name": name, "quorumSet": four} for name in reversed(NAMES)]
    (folder / "nodes.json").write_text(json.dumps(nodes))
    (folder / "few.json").write_text(json.dumps(nodes[:4]))
    (folder / "none.json").write_text(json.dumps([{**each, "quorumSet": None} for each in nodes]))
    return folder


def test_deliberate_says_what_the_library_says(folder: Path) -> None:
    said = run_json(
        "deliberate", folder / "votes.csv", "--protocol", "federated",
        "--quorum-sets", folder / "nodes.json", "--out", folder / "out.csv", "--why", "t3",
        "--plot", folder / "talk.png",
    )  # fmt: skip
    table = read_votes(folder / "votes.csv")
    protocol = read_federated(folder / "nodes.json", table.workers)
    outcome = deliberate(table.votes, protocol)
    assert said["queries"] == int(outcome.queries)
    assert said["protocol"] == "federated"
    assert (folder / "talk.png").stat().st_size > 1000
    written = (folder / "out.csv").read_text().splitlines()[1:]
    labels = ["" if each < 0 else table.labels[each] for each in outcome.decision]
    assert [line.split(",")[1] for line in written] == labels


def test_messages_that_are_late_and_a_liar_that_says_anything(folder: Path) -> None:
    typed = ["deliberate", folder / "votes.csv", "--protocol", "federated", "--quorum-sets"]
    typed += [folder / "nodes.json", "--byzantine", "1", "--attack", "misstating", "--repeats", "2"]
    calm, late = run_json(*typed), run_json(*typed, "--delay", "4")
    assert calm["byzantine"] == late["byzantine"] == 1
    assert late["rounds"] > calm["rounds"] >= 5
    assert calm["agreement"] == 1.0  # four of five, of which one lies: nobody is split


def test_learn_talks_by_quorum_sets_and_the_moot_can_be_saved(folder: Path) -> None:
    done = run_json(
        "learn", folder / "table.csv", "--target", "sick", "--group", "who", "--model", "bayes",
        "--test-rows", "0.3", "--protocol", "federated", "--quorum-sets", folder / "nodes.json",
        "--byzantine", "1", "--out", folder / "learnt",
    )  # fmt: skip
    assert "Federated, 5 quorum sets" in json.dumps(done["reports"])
    rows = ["a,b", "0.1,0.3", "1.2,0.9"]
    (folder / "new.csv").write_text("\n".join(rows))
    answered = run(
        "predict", folder / "learnt" / "moot.skops", folder / "new.csv", "--out", folder / "new-out.csv"
    )
    assert answered.returncode == 0, answered.stderr
    assert len((folder / "new-out.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--protocol", "federated"], "needs --quorum-sets NODES.json"),
        (["--quorum-sets", "nodes.json"], "--quorum-sets is for --protocol federated"),
        (
            ["--protocol", "federated", "--quorum-sets", "nodes.json", "--k", "3"],
            "--k is of protocols that ask",
        ),
        (
            ["--protocol", "federated", "--quorum-sets", "nodes.json", "--alpha", "3"],
            "--alpha is of protocols",
        ),
        (["--protocol", "federated", "--quorum-sets", "nodes.json", "--beta", "3"], "--beta is of protocols"),
        (["--protocol", "federated", "--quorum-sets", "nodes.json", "--play", "x.html"], "--play is of"),
        (["--protocol", "federatd"], "--protocol must be one of slush, "),
        (
            ["--protocol", "federated", "--quorum-sets", "nodes.json", "--delay", "0"],
            "delay >= 1: got",
        ),
        (
            ["--protocol", "federated", "--quorum-sets", "nodes.json", "--delay", "x"],
            "a whole number, got",
        ),
        (["--protocol", "slush", "--delay", "2"], "--delay is for --protocol federated"),
        (["--protocol", "federated", "--quorum-sets", "nowhere.json"], "nowhere.json"),
        (["--protocol", "federated", "--quorum-sets", "votes.csv"], "votes.csv is not JSON"),
        (["--protocol", "federated", "--quorum-sets", "few.json"], "names 'Gada', who takes no part"),
        (["--protocol", "federated", "--quorum-sets", "none.json"], "no quorum at all"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    assert_refused(message, "deliberate", "votes.csv", *more)


def test_sets_of_other_participants_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"nodes.json: .* no set for participant 'zoe'"):
        read_federated(folder / "nodes.json", [*NAMES, "zoe"])
    with pytest.raises(ValueError, match="a set for 'ed', who is no participant"):
        read_federated(folder / "nodes.json", NAMES[:4])
