"""``folkmoot council``: real endpoints, who said and chose what, and one line on what is wrong."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from folkmoot.cli.examples import EXAMPLES
from support.command import assert_refused, run, run_json
from support.scripted_models import ScriptedServer, scripted_server

QUESTION = "What is the capital of France?"


def reply(prompt: str) -> str:
    """Paris; of candidates, the one with Paris in it."""
    if not prompt.startswith("Several people"):
        return "Paris."
    shown: dict[str, str] = json.loads(prompt.splitlines()[3])["answers"]
    return next(number for number, text in shown.items() if "paris" in text.lower())


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server(reply) as found:
        found.others |= {
            "north": reply,
            "south": lambda prompt: reply(prompt).upper(),
            "lyon": lambda _: "Lyon",
        }
        yield found


@pytest.fixture
def file(server: ScriptedServer, tmp_path: Path) -> Path:
    path = tmp_path / "council.toml"
    path.write_text(written(server.url, "north", "south", "lyon", "failing"))
    return path


def written(url: str, *names: str, head: str = "seconds = 20\n", more: str = "") -> str:
    return head + "".join(
        f'[[member]]\nname = "{name}"\nbase_url = "{url}"\nmodel = "{name}"\nretries = 0\n{more}'
        for name in names
    )


def test_it_prints_the_answer_and_who_said_and_chose_what(file: Path) -> None:
    result = run("council", file, QUESTION)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == QUESTION
    assert lines[1] in ("answer: Paris.", "answer: PARIS.")
    row = next(line for line in lines[2:] if line.split()[1:2] in (["Paris."], ["PARIS."]))
    assert row.count("north, south") == 2
    assert "lyon chose nothing: its model answered with something else than a choice" in result.stdout
    assert "failing proposed nothing: its model's server refused the request" in result.stdout
    assert "effective votes: not known from fewer than 20 questions" in lines


def test_its_json_and_its_record_are_the_same(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    result = run("council", file, QUESTION, "--json", "--out", out)
    assert (result.returncode, result.stderr) == (0, f"wrote {out}\n")
    told = json.loads(result.stdout)
    assert told == json.loads(out.read_text())
    (question,) = told["questions"]
    assert question["answer"] in ("Paris.", "PARIS.")
    paris = next(each for each in question["candidates"] if each["text"] == question["answer"])
    assert paris["proposed_by"] == paris["chosen_by"] == ["north", "south"]
    assert_refused("--out would overwrite", "council", file, QUESTION, "--out", out)


def test_a_file_of_questions(file: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("\n".join(f"Question {i}?" for i in range(24)) + "\n\n")
    told = run_json("council", file, "--file", questions)
    assert [each["question"] for each in told["questions"]] == [f"Question {i}?" for i in range(24)]
    assert told["effective_votes"] is not None
    printed = run("council", file, "--file", questions).stdout
    assert "24 questions, 0 undecided:" in printed
    assert "... and 4 more: --all shows them" in printed
    assert "independent vote" in printed
    assert "Question 23?" in run("council", file, "--file", questions, "--all").stdout


def test_the_examples_of_its_help_work(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    Path("questions.txt").write_text("One?\nTwo?\n")
    import shlex

    for line in EXAMPLES["council"]:
        assert run(*shlex.split(line)).returncode == 0
    assert json.loads(Path("record.json").read_text())["format"] == "folkmoot council 1"


def test_an_endpoint_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        path = tmp_path / "council.toml"
        path.write_text(written(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", "north", "south"))
        assert_refused(
            "no member answered; north: its model could not be reached (http://127.0.0.1:",
            "council",
            path,
            "Why?",
        )


def test_a_key_that_is_not_set_is_one_line(server: ScriptedServer, tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(written(server.url, "north", "south", more='api_key_env = "NO_SUCH_KEY_HERE"\n'))
    assert_refused(
        f"member north in {path}: api_key_env names NO_SUCH_KEY_HERE, which is not set: "
        "type export NO_SUCH_KEY_HERE=...", "council", path, "Why?",
    )  # fmt: skip
    assert server.asked == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[member", "council.toml must be TOML"),
        ("", "council.toml must have tables [[member]], each with name, base_url"),
        ("member = 3", "council.toml must have tables [[member]]"),
        ('[[member]]\nname = "a"\nbase_url = "http://x"\nmodel = "m"', "must have 2 to 100 tables"),
        ("wait = 3\n", "council.toml may have [[member]], choose, seconds, faults, least, seed: got 'wait'"),
        (written("http://x", "a", "a"), "council.toml must give members different names: got 'a' twice"),
        (written("x", "a", "b"), "member a in council.toml: base_url must be an address"),
        (written("http://x", "a b", "b"), "member a b in council.toml: name must be 1 to 64"),
        (written("http://x", "a", "b", more="colour = 1\n"), "member a in council.toml may have name"),
        (written("http://x", "a", "b", more='choose = "best"\n'), "member a in council.toml: choose must be"),
        (written("http://x", "a", "b", more="timeout = -1\n"), "member a in council.toml: timeout must"),
        (written("http://x", "a", "b", more='timeout = "5"\n'), "member a in council.toml: timeout must"),
        (written("http://x", "a", "b", more="seed = 1.5\n"), "member a in council.toml: seed must be an"),
        (written("http://x", "a", "b", more='prompt = "{age}?"\n'), "a in council.toml: prompt names {age}"),
        (written("http://x", "a", "b", more='prompt = "{input} {"\n'), "prompt must have every { closed"),
        (written("http://x", "a", "b", head='choose = "best"\n'), "council.toml: choose must be 'own-model'"),
        (written("http://x", "a", "b", head="faults = 7\n"), "council.toml: faults must be"),
        (written("http://x", "a", "b", head="least = 3\n"), "council.toml: least must be at most the number"),
        (written("http://x", "a", "b", head='seconds = "x"\n'), "council.toml: seconds must be"),
        ('[[member]]\nname = "a"\nmodel = "m"\n[[member]]\n', "member a in council.toml must have name"),
    ],
    ids=[
        "no TOML", "empty", "no tables", "one", "key", "twice", "address", "name", "member's key",
        "member's choose", "timeout", "timeout as text", "seed", "place", "brace",
        "choose", "faults", "least", "seconds", "missing",
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("council.toml").write_text(text)
    assert_refused(message, "council", "council.toml", "Why?")


def test_what_is_typed_wrong_is_one_line(file: Path, tmp_path: Path) -> None:
    either = 'give either a QUESTION, such as "What is the capital of France?", or --file FILE'
    empty, other = tmp_path / "empty.txt", tmp_path / "other.txt"
    empty.write_text("\n\n")
    other.write_bytes(b"\xff\xfe\x00")
    assert_refused(either, "council", file)
    assert_refused(either, "council", file, "Why?", "--file", empty)
    assert_refused("QUESTION must be a text", "council", file, " ")
    assert_refused("must have one question per line", "council", file, "--file", empty)
    assert_refused("must name a text file in UTF-8", "council", file, "--file", other)
    assert_refused("No such file", "council", file, "--file", tmp_path / "none.txt")
    assert_refused("No such file", "council", tmp_path / "none.toml", "Why?")
    assert_refused("must name a file ending in .json", "council", file, "Why?", "--out", tmp_path / "x.csv")
