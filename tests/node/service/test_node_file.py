"""``node.toml``: what a node runs with, where the prompt does not say otherwise."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from folkmoot.node.membership.identity import RUNNING, create, load
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.node_file import ModelTable, NodeFile, read_node_file
from folkmoot.node.service.policy import Policy
from support.command import assert_refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A node whose roster is beside its folder."""
    node = create(tmp_path / "north", name="north", listen="127.0.0.1:0", addresses=["127.0.0.1:1"])
    Roster([node.member()]).write(tmp_path / "roster.toml")
    return tmp_path / "north"


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
    assert read_node_file(folder).chosen_model().schema is None
    say(folder, 'schema = "s.toml"', "[policy]", "most_rounds = 7", "known_labels = false")
    read = read_node_file(folder)
    assert read.roster == folder / "../roster.toml"
    assert read.model == ModelTable(
        "file", str(folder / "m.skops"), labels=("3", "4"), allow=("a.B",), schema=folder / "s.toml"
    )
    assert read.policy == Policy(most_rounds=7, known_labels=False)
    assert read.chosen_roster(Path("other.toml")) == Path("other.toml")
    (folder / "node.toml").write_text((folder / "node.toml").read_text().replace("m.skops", "rules:odd"))
    assert read_node_file(folder).chosen_model().spec == "rules:odd"


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
            "node.toml: most_rounds must be a whole number >= 1: got 0",
        ),
        ("[policy]\nrounds = 5", "node.toml: 'rounds' must be one of least_alpha"),
        ("modell = 3", "'modell' must be one of name, organisation, listen, addresses, roster, model"),
        ("model = ", "node.toml must be TOML"),
    ],
)
def test_bad_lines_are_named_in_one_line(folder: Path, line: str, why: str) -> None:
    say(folder, line)
    assert_refused(why, "node", "run", "--node", folder, "--roster", folder.parent / "roster.toml")


def test_what_is_said_nowhere_is_asked_for(folder: Path, tmp_path: Path) -> None:
    assert_refused("must have a roster: give --roster, or write roster", "node", "run", "--node", folder)
    say(folder, 'roster = "../roster.toml"')
    assert_refused("must have a model: write model = ", "node", "run", "--node", folder)
    assert_refused("must hold a node: run folkmoot node init", "node", "run", "--node", tmp_path / "nowhere")


def test_who_a_node_is_and_how_it_runs_stand_in_one_file(folder: Path) -> None:
    assert {each.name for each in fields(NodeFile)} == {"path", *RUNNING} - {"labels", "allow", "schema"}
    say(folder, 'choose = "same"')
    assert load(folder).name == "north"
    assert read_node_file(folder).choose == "same"
