"""``node.toml``: what a node runs with, where the prompt does not say otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from folkmoot.local.held_ports import HeldPorts
from folkmoot.network.service.node_file import NodeFile, read_node_file
from folkmoot.network.service.policy import Policy
from folkmoot.node.membership.identity import create, load
from folkmoot.node.membership.roster import Roster
from support.command import assert_refused, run, run_json
from support.network.shell_nodes import MODELS, ShellNode, stopped_quietly


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A node whose roster is beside its folder, and a module with models in the current one."""
    node = create(tmp_path / "north", name="north", listen="127.0.0.1:0", addresses=["127.0.0.1:1"])
    Roster([node.member()]).write(tmp_path / "roster.toml")
    (tmp_path / "odd_models.py").write_text(MODELS + "\n\ndef silent(X):\n    return odd(X)\n")
    return tmp_path / "north"


UNNAMED = "takes any number of columns, unchecked, as they have no names (give --schema); labels even, odd"


def say(folder: Path, *lines: str) -> None:
    with (folder / "node.toml").open("a") as file:
        file.write("\n".join(lines) + "\n")


def test_a_new_node_says_nothing_of_it_and_loads(folder: Path) -> None:
    assert read_node_file(folder) == NodeFile(folder / "node.toml")
    text = (folder / "node.toml").read_text()
    for key in ("# roster =", "# model =", "# schema =", "# labels =", "# allow =", "# [policy]"):
        assert key in text
    shown = text.replace("# roster", "roster").replace("# model", "model").replace("# labels", "labels")
    shown = shown.replace("# allow", "allow").replace("# [policy]", "[policy]").replace("# most", "most")
    (folder / "node.toml").write_text(shown)  # what the comments show can be read
    read = read_node_file(folder)
    assert (read.roster, read.policy) == (folder / "../roster.toml", Policy())
    assert load(folder).name == "north"


def test_paths_are_seen_from_the_folder_and_functions_are_none(folder: Path) -> None:
    say(folder, 'roster = "../roster.toml"', 'model = "m.skops"', "labels = [3, 4.0]", 'allow = ["a.B"]')
    assert read_node_file(folder).chosen_schema(None) is None
    say(folder, 'schema = "s.toml"', "[policy]", "most_rounds = 7", "known_labels = false")
    read = read_node_file(folder)
    assert read.roster == folder / "../roster.toml"
    assert read.model == str(folder / "m.skops")
    assert (read.labels, read.allow) == (("3", "4"), ("a.B",))
    assert read.chosen_schema(None) == folder / "s.toml"
    assert read.chosen_schema(folder / "other.toml") == folder / "other.toml"
    assert read.policy == Policy(most_rounds=7, known_labels=False)
    assert read.chosen_roster(Path("other.toml")) == Path("other.toml")
    assert read.chosen_model("a:b") == "a:b"
    (folder / "node.toml").write_text((folder / "node.toml").read_text().replace("m.skops", "rules:odd"))
    assert read_node_file(folder).chosen_model(None) == "rules:odd"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("roster = 3", "node.toml: roster must be text: got 3"),
        ('model = ""', "node.toml: model must be text: got ''"),
        ('labels = "no"', "node.toml: labels must be a list of two or more different labels"),
        ('labels = ["no"]', "labels must be a list of two or more different labels"),
        ('labels = ["no", "no"]', "labels must be a list of two or more different labels"),
        ("labels = [[1], 2]", "a label must be text or a finite number: got [1]"),
        ('allow = "a.B"', "allow must be a list of texts"),
        ("schema = 3", "schema must be text: got 3"),
        ("policy = 3", "node.toml: policy must be a table"),
        (
            "[policy]\nmost_rounds = 0",
            "node.toml: most_rounds must be a whole number from 1 to 10,000: got 0",
        ),
        ("[policy]\nrounds = 5", "node.toml: 'rounds' must be one of least_alpha"),
        ("modell = 3", "'modell' must be one of name, organisation, listen, addresses, roster, model"),
        ("model = ", "node.toml must be TOML"),
    ],
)
def test_bad_lines_are_named_in_one_line(folder: Path, line: str, why: str) -> None:
    say(folder, line)
    options = ["--roster", folder.parent / "roster.toml", "--model", "no:model"]
    assert_refused(why, "node", "run", folder, *options)


def test_what_is_said_nowhere_is_asked_for(folder: Path, tmp_path: Path) -> None:
    assert_refused("must have a roster: give --roster ROSTER.toml, or write roster", "node", "run", folder)
    assert_refused("must have a roster", "node", "check", folder)
    say(folder, 'roster = "../roster.toml"')
    assert_refused("must have a model: give --model MODEL, or write model", "node", "run", folder)
    assert_refused("must hold a node: run folkmoot node init", "node", "run", tmp_path / "nowhere")


def test_a_node_is_checked_with_what_stands_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    say(folder, 'roster = "../roster.toml"', 'model = "odd_models:silent"', 'labels = ["even", "odd"]')

    def model_line(*options: str) -> tuple[bool, str]:
        found = run("node", "check", folder, "--json", *options)
        assert found.returncode == 2  # nobody else is in the roster
        (line,) = (each for each in json.loads(found.stdout)["checks"] if each["what"] == "model")
        return line["fine"], line["note"]

    assert model_line() == (True, UNNAMED)
    assert model_line("--model", "odd_models:odd") == (True, UNNAMED)
    schema = tmp_path / "s.toml"
    schema.write_text("[[column]]\nname = 'number'\n")
    told = "takes 1 columns, checked by name; labels even, odd"
    assert model_line("--schema", str(schema)) == (True, told)
    text = (folder / "node.toml").read_text()
    (folder / "node.toml").write_text(text.replace('"even", "odd"]', '"even", "uneven"]'))
    fine, note = model_line("--model", "odd_models:odd")
    assert not fine
    assert "node.toml must be among those of the model, even, odd: got 'uneven'" in note


def test_nodes_run_with_it_and_refuse_by_its_policy(tmp_path: Path) -> None:
    ports = HeldPorts(2)
    (tmp_path / "odd_models.py").write_text(MODELS)
    made = [
        create(tmp_path / name, name=name, listen=f"127.0.0.1:{port}")
        for name, port in zip(("north", "south"), ports.numbers, strict=True)
    ]
    Roster(each.member() for each in made).write(tmp_path / "roster.toml")
    for name in ("north", "south"):
        say(tmp_path / name, 'roster = "../roster.toml"', 'model = "odd_models:odd"')
    say(tmp_path / "south", "[policy]", "most_rounds = 7")
    np.save(tmp_path / "x.npy", np.arange(6.0)[:, None])
    with (
        ShellNode(tmp_path / "north", cwd=tmp_path) as north,
        ShellNode(tmp_path / "south", cwd=tmp_path) as south,
    ):
        for node in (north, south):
            node.wait_for("all peers connected")
        asked = ["ask", tmp_path / "x.npy", "--via", tmp_path / "north", "--deadline", "20s"]
        few = run_json(*asked, "--rounds", "7")
        assert (few["took_part"], few["refused"], few["undecided"]) == (["north", "south"], {}, 0)
        why = "rounds must be at most 7: got 8"
        many = run_json(*asked, "--rounds", "8")
        assert (many["silent"], many["refused"]) == (["south"], {"south": why})
        assert f"refused: south: {why}" in " ".join(
            run("motions", "last", "--via", tmp_path / "north").stdout.split()
        )
        assert_refused("rounds must be at most 500: got 501; others refuse it too", *asked, "--rounds", "501")
        assert_refused("the deadline must be at least 2 s away: got 1 s", *asked[:-1], "1s")
        for node in (north, south):
            stopped_quietly(node)
    ports.close()
