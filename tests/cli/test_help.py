"""Every command, walked: one option has one meaning, and each help ends with two lines that tests run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import pytest

from folkmoot.cli.app import COMMANDS, command_called
from folkmoot.cli.examples import EXAMPLES
from support.command import assert_refused, run

# Options whose help differs between commands, and why. All others say the same everywhere.
DIFFERENT: Final = {
    "--alpha": "three theory commands need one threshold for all: they take no 'local'",
    "--answers": "a table has no texts to vote on",
    "--attack": "votes, clusterings and nodes are attacked in different ways",
    "--believe": "in one process aggregations have parameters; nodes have records, and own rows",
    "--model": "learn fits a kind of model, a node has a file of one",
    "--out": "what is written differs, and the help says what",
    "--protocol": "plan compares all protocols with rounds",
}
# Where the texts differ, all before the colon is the same: only the names that follow are the command's.
LISTS: Final = ("--answers", "--attack", "--believe", "--protocol")
# Options and what excludes them, as typed; each is one line with both names.
EXCLUDED: Final = {
    "deliberate {votes} --k 3": ("--k", "--protocol"),
    "deliberate {votes} --alpha 2": ("--alpha", "--protocol"),
    "deliberate {votes} --beta 2": ("--beta", "--protocol"),
    "deliberate {votes} --rounds 2": ("--rounds", "--protocol"),
    "deliberate {votes} --play x.html": ("--play", "--protocol"),
    "deliberate {votes} --protocol slush --believe dawid-skene": ("--believe", "--protocol"),
    "plan --p 0.8 --votes {votes}": ("--p", "--votes"),
    "plan --p 0.8 --truth {votes}": ("--truth", "--votes"),
    "plan --votes {votes} --classes 3": ("--classes", "--votes"),
    "learn {table} --target ill --group clinic --test {table} --test-rows 0.5": ("--test", "--test-rows"),
    "theory threshold --n 11 --delta 2 --q 0.6": ("--delta", "--q"),
    "theory accuracy --n 11 --p 0.6 --per-node": ("--per-node", "--steps"),
    "theory accuracy --n 11 --p 0.6 --alpha local --steps 5": ("--alpha", "--steps"),
    "ask {votes} --believe own --protocol slush": ("--believe", "--protocol"),
    "ask {votes} --believe record --answers numbers": ("--believe", "--answers"),
    "ask {votes} --rows 3": ("--rows", "--believe"),
    "motions list --token {votes}": ("--token", "--node"),
    "node run --page-behind-tls moot.example": ("--page-behind-tls", "--page"),
}


def commands(command: Any = None, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command and group, by what is typed."""
    if command is not None:
        yield path, command
    inner = dict.fromkeys(COMMANDS) if command is None else getattr(command, "commands", {})
    for name, each in inner.items():
        yield from commands(each or command_called(name), f"{path} {name}".strip())


PATHS: Final = [path for path, _ in commands()]


def helps() -> dict[str, dict[str, list[str]]]:
    """Who says what of each option: name, text, commands."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, command in commands():
        for each in command.params:
            for name in each.opts if each.param_type_name == "option" else ():
                found[name][str(each.help)].append(path)
    return found


def test_one_option_has_one_help_text_or_a_reason() -> None:
    different = {name: set(texts) for name, texts in helps().items() if len(texts) > 1}
    assert set(different) <= set(DIFFERENT), {
        name: different[name] for name in set(different) - set(DIFFERENT)
    }
    for name in LISTS:
        assert len({text.partition(":")[0] for text in different.get(name, ())}) <= 1, name


def test_an_option_is_a_flag_everywhere_or_nowhere() -> None:
    kinds: dict[str, set[bool]] = defaultdict(set)
    for _, command in commands():
        for each in command.params:
            for name in each.opts if each.param_type_name == "option" else ():
                kinds[name].add(bool(each.is_flag))
    assert [name for name, found in kinds.items() if len(found) > 1] == []


def test_help_texts_are_short_sentences() -> None:
    for name, texts in helps().items():
        for text, paths in texts.items():
            assert text.endswith((".", "?")), (name, paths, text)
            assert text[0].isupper() or name in ("--sampling", "--model", "--log-level"), (name, paths, text)
            assert all(len(part.split()) <= 25 for part in text.split(". ")), (name, paths, text)


@pytest.mark.parametrize("path", PATHS)
def test_help_ends_with_two_examples(path: str) -> None:
    shown = run(*path.split(), "--help", env={"COLUMNS": "200"}).stdout
    *_, head, first, second = [line.strip() for line in shown.splitlines() if line.strip()]
    assert head == "Examples:"
    given = EXAMPLES.get(path)
    if given is None:  # a group: of the commands in it
        assert {first, second} <= {f"folkmoot {each[0]}" for each in EXAMPLES.values()}
    else:
        assert (first, second) == tuple(f"folkmoot {line}" for line in given)
    assert first.startswith(f"folkmoot {path}")


def test_the_options_of_learn_are_in_groups() -> None:
    """A command that one can keep in the head: every option but --help stands under a heading."""
    shown = run("learn", "--help", env={"COLUMNS": "100"}).stdout
    alone = shown.partition("─ Options ─")[2].partition("╰")[0]
    assert [word for word in alone.split() if word.startswith("--")] == ["--help"]


@pytest.mark.parametrize("typed", EXCLUDED)
def test_options_that_exclude_each_other_are_told_in_one_line(
    typed: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text("task,worker,label\n1,a,x\n1,b,y\n2,a,x\n2,b,x\n")
    (tmp_path / "table.csv").write_text(
        "age,clinic,ill\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(12))
    )
    first, second = EXCLUDED[typed]
    line = typed.format(votes="votes.csv", table="table.csv").split()
    assert_refused(first, *line)
    assert_refused(second, *line)
