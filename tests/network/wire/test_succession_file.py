"""A proposal in a file: read as it was written, a roster like any other, and every wrong case in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from folkmoot.network.wire.succession import Succession
from folkmoot.network.wire.succession_file import read_succession, write_succession
from folkmoot.node.membership.roster import Roster
from support.network.epochs import member, roster_of, signatures

NAMES = ["anna", "bert", "cleo", "dora", "emil", "fred", "gina"]
OLD = roster_of(NAMES)
NEW = Succession.after(OLD, [member("anna", 1), *OLD.participants[1:], member("hugo")], ["anna"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_succession(tmp_path / "next.toml", NEW, OLD, signatures(NEW, OLD, ["gina", "bert"]))
    return tmp_path / "next.toml"


def test_what_is_written_is_read_and_is_a_roster(file: Path) -> None:
    found, signed = read_succession(file, OLD)
    assert (found, signed) == (NEW, signatures(NEW, OLD, ["bert", "gina"]))
    assert Roster.read(file) == NEW.roster
    assert Roster.read(file).digest == NEW.roster.digest
    Roster.read(file).write(file)  # without its signatures, it is still what it is
    assert Roster.read(file).digest == NEW.roster.digest


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("hugo.example:7654", "hugo.example:7655", "the signature of bert does not hold: something"),
        ('replaced = ["anna"]', 'replaced = ["bert"]', "replaced must name members whose"),
        ('replaced = ["anna"]', "", "the signature of bert does not hold"),
        ('replaced = ["anna"]', "replaced = 3", "replaced must be a list of names: got 3"),
        ("epoch = 1", "epoch = 2", "a successor must follow the roster of epoch 0"),
        ("epoch = 1", "epoch = -1", "epoch must be a whole number from 0 on: got -1"),
        ("epoch = 1", "epoch = true", "epoch must be a whole number from 0 on: got True"),
        ('previous = "', 'previous = "00', "previous must be the digest of the roster before"),
        ("epoch = 1", "epoch = 0", "previous must not be given with epoch 0"),
        ('name = "gina", signature', 'name = "bert", signature', "signatures must be of different members"),
        ('name = "gina", signature', 'name = "hugo", signature', "'hugo' is none"),
        ('name = "gina", signature', 'nom = "gina", signature', "a signature must be a table with name"),
        ('signature = "', 'signature = "!', "the signature of bert must be base64 of 64 bytes"),
    ],
)  # fmt: skip
def test_what_was_changed_is_named_in_one_line(file: Path, before: str, after: str, why: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    with pytest.raises(ValueError, match=why) as error:
        read_succession(file, OLD)
    assert str(error.value).startswith(f"{file}: ")
    assert "\n" not in str(error.value)
