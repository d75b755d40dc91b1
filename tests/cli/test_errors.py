"""What is typed wrongly: one line, exit code 2, nothing on stdout; it names options that this command has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from folkmoot.cli.typed_options import typed_options
from folkmoot.node.membership.identity import create
from support.command import run

TYPED: Final = (
    "demo --seed x", "demo --jobs 0", "demo --out votes.csv",
    "learn table.csv --target ill --group clinic --jobs 0",
    "learn table.csv --target ill --group clinic --malicious 9",
    "learn table.csv --target ill --group clinic --believe median",
    "learn table.csv --target ill --group clinic --believe own --protocol slush",
    "learn table.csv --target ill --group clinic --answers probabilities --protocol slush",
    "learn table.csv --target ill --group clinic --model linear",
    "learn table.csv --target age --group clinic --answers numbers --model bayes",
    "learn table.csv --target age --group clinic --answers numbers --believe plurality",
    "learn table.csv --target ill --group age", "learn table.csv --target ill",
    "learn table.csv --target ill --group clinic --improve nowhere.csv",
    "predict nowhere votes.csv",
    "deliberate votes.csv --protocol slush --k 0", "deliberate votes.csv --protocol slush --k 99",
    "deliberate votes.csv --protocol slush --alpha 99", "deliberate votes.csv --protocol snowball --beta 0",
    "deliberate votes.csv --protocol slush --rounds -1", "deliberate votes.csv --protocol slush --repeats 0",
    "deliberate votes.csv --protocol slush --device tpu", "deliberate votes.csv --malicious 39",
    "deliberate votes.csv --attack rude", "deliberate votes.csv --believe trimmed-mean",
    "deliberate votes.csv --believe 'plurality(least=0)'", "deliberate votes.csv --task-column q",
    "cluster labels.csv --n-clusters 0", "cluster labels.csv --malicious 4", "cluster labels.csv --rounds 0",
    "deliberate votes.csv --out votes.csv", "deliberate votes.csv --gold truth.csv --out ./truth.csv",
    "deliberate votes.csv --attack silent", "deliberate votes.csv --repeats 3",
    "deliberate votes.csv --device cpu", "deliberate votes.csv --protocol slush --beta 3",
    "cluster labels.csv --out labels.csv", "cluster labels.csv --attack shifted", "local --attack silent",
    "learn table.csv --target ill --group clinic --test table.csv --test-rows 0.3",
    "learn table.csv --target age --group clinic --answers labels",
    "council nowhere.toml hello",
    "plan --p 0.8", "plan --n 10 --p 0.8 --accuracy 3", "plan --n 10 --p 0.8 --malicious 200%",
    "plan --n 10 --p 0.8 --classes 1", "plan --n 9 --p 0.8 --malicious 9",
    "theory absorption --n 11 --k 12", "theory accuracy --n 11 --p 2", "theory threshold --n 11 --q 0.4",
    "theory threshold --n 11 --malicious 11", "theory rounds --n 99999999",
    "local --nodes 2", "local --malicious 6", "local --attack rude", "local --inputs 0",
    "ask x.csv --node nowhere", "ask x.csv --protocol slush --alpha few",
    "ask x.csv --labels ,", "ask x.csv --deadline 0", "ask x.csv --out x.csv", "ask x.csv --rows 3",
    "ask x.csv --rule dawid-skene",
    "ask x.csv --protocol slush --beta 3", "plan --n 10 --p 0.8 --protocol council",
    "motions list --last 0", "verify votes.csv", "doctor --listen here", "doctor --node nowhere",
    "node init new", "node init new --model nowhere.skops", "node run --node nowhere",
    "node run --log-level loud", "node run --node http://127.0.0.1:1", "node run --disk 1",
    "node status --node nowhere",
    "node init new --model votes.csv --listen here", "node init new --model votes.csv --address here",
    "node init new --model folkmoot.files.terminal:printable --holdout nowhere.csv",
    "node run --listen here", "roster make nowhere", "roster sign 12 --node nowhere",
    "roster sign nowhere --node .",
)  # fmt: skip
# What only Python calls so.
PYTHON: Final = re.compile(
    r"\b(n_jobs|random_state|adversaries|byzantine|voting|aggregation|scoring|n_clusters|test_groups)\b"
)


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"q{t},w{w},{'yn'[(t + w) % 3 == 0]}" for t in range(12) for w in range(39)]
    Path("votes.csv").write_text("\n".join(["task,worker,label", *rows]))
    table = [f"{0.5 + i / 7:.3f},{i % 4},{i // 4 % 2}" for i in range(60)]
    Path("table.csv").write_text("\n".join(["age,clinic,ill", *table]))
    labels = [f"o{o},p{p},{o % 3}" for o in range(12) for p in range(4)]
    Path("labels.csv").write_text("\n".join(["object,participant,cluster", *labels]))
    Path("x.csv").write_text("a\n1\n")
    Path("truth.csv").write_text("task,label\nq1,y\n")


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("typed", TYPED)
def test_one_line_names_what_was_typed(typed: str) -> None:
    words = shlex.split(typed)
    result = run(*words)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("folkmoot: ")
    assert not PYTHON.search(line), line
    own = {*typed_options(words).values(), "--help"}
    alone = re.sub(r"folkmoot (\w+ )+.*", "", line.removeprefix("folkmoot: "))  # another command is whole
    assert set(re.findall(r"(?<!\S)--[a-z-]+", alone)) <= own, line
    assert not list(Path().glob("folkmoot-*/*.html"))


@pytest.mark.usefixtures("_here")
def test_a_file_that_is_read_is_not_written_over_by_any_name() -> None:
    Path("other.csv").symlink_to("votes.csv")
    before = Path("votes.csv").read_bytes()
    for name in ("votes.csv", "./votes.csv", "other.csv"):
        result = run("deliberate", "votes.csv", "--out", name)
        assert (result.returncode, result.stdout) == (2, "")
        assert Path("votes.csv").read_bytes() == before
    assert run("deliberate", "votes.csv", "--out", "new.csv").returncode == 0
    assert run("deliberate", "votes.csv", "--out", "new.csv").returncode == 0, "an earlier answer may go"


@pytest.mark.usefixtures("_here")
def test_a_full_disk_is_told_in_words() -> None:
    """Writing to ``/dev/full`` fails as on a disk without room."""
    line = run("deliberate", "votes.csv", "--out", "/dev/full").stderr
    assert line.startswith("folkmoot: No space left on device: ")
    assert "make room, or write elsewhere" in line


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (
            "learn table.csv --target ill --group clinic --test table.csv --test-rows 0.3",
            "--test and --test-rows:",
        ),
        ("learn table.csv --target age --group clinic --answers labels", "which no row to learn from has"),
        ("ask x.csv --labels ,", "--labels must be names"),
        ("ask x.csv --rule dawid-skene", "--rule is for probabilities and numbers: with --answers labels"),
        ("ask x.csv --deadline 0", "--deadline must be longer"),
        ("node init new --model a:b --listen here", "--listen: address"),
        ("node init new --model a:b --holdout nowhere.csv", "--holdout must be a file"),
        ("roster sign nowhere", "PROPOSAL must be a file, or the first digits"),
        ("plan --n 10 --p 0.8 --protocol council", "one of all, slush"),
        ("deliberate votes.csv --protocol slush --beta 3", "--beta is for --protocol snowflake or snowball"),
    ],
)  # fmt: skip
def test_what_was_wrong_and_what_to_type(typed: str, told: str) -> None:
    assert told in run(*shlex.split(typed)).stderr


@pytest.mark.usefixtures("_here")
def test_the_roster_names_the_option_of_how_many_may_lie() -> None:
    lines = [create(Path(name), name=name).member().line() for name in ("a", "b", "c")]
    Path("all.line").write_text("\n".join(lines))
    for faults in (1, -1):
        result = run("roster", "make", "all.line", "--faults", faults)
        assert result.stderr == f"folkmoot: --faults must be within 0..0 with 3 members: got {faults}\n"
    assert not Path("roster.toml").exists()
