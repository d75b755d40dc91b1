"""What the site is made of fits together: lists, links, names, examples. tests/test_site.py builds it."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import operator
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import pytest

import folkmoot
from support.command import run

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path += [
    str(DOCS / "_ext"),
    str(ROOT / "benchmarks"),
    str(ROOT / "tools"),
]  # at the end: names of theirs hide nobody's
PAGES = [*DOCS.glob("*.md"), *DOCS.glob("theorems/*.md")]
# The first page, the pages that list others, and those that show a file from above docs/.
OF_THEMSELVES = {"index", "start", "guide", "operate", "research", "reference", "contribute", "README"}
OF_THE_ROOT = {
    "contributing": "../CONTRIBUTING.md",
    "changelog": "../CHANGELOG.md",
    "releasing": "../RELEASING.md",
}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def listed() -> list[str]:
    return re.findall(r"^- \[[^\]]+\]\(([^)]+)\): .", (DOCS / "README.md").read_text(), flags=re.M)


def test_every_page_is_in_the_list_of_pages_once() -> None:
    pages = {path.name for path in DOCS.glob("*.md") if path.stem not in OF_THEMSELVES}
    wanted = {OF_THE_ROOT.get(Path(name).stem, name) for name in pages} | {"theorems/README.md"}
    assert sorted(listed()) == sorted(wanted)


def test_a_page_has_one_title_in_lists_and_sidebar() -> None:
    """The sidebar shows the heading of a page, lists what docs/README.md calls it."""
    for title, page in re.findall(
        r"^- \[([^\]]+)\]\(([^)]+)\): ", (DOCS / "README.md").read_text(), flags=re.M
    ):
        heading = re.search(r"^# (.+)", (DOCS / page).read_text(), flags=re.M)
        assert heading is not None, page
        assert heading[1] == title, page


def test_every_section_of_the_list_has_its_page_and_stands_in_the_navigation() -> None:
    sections = re.findall(r"^## (.+)", (DOCS / "README.md").read_text(), flags=re.M)
    first = (DOCS / "index.md").read_text()
    for section in sections:
        page = section.lower()
        assert f"```{{pages}} {section}\n" in (DOCS / f"{page}.md").read_text()
        assert re.search(rf"^{page}$", first, flags=re.M)


def anchors(page: Path) -> set[str]:
    """The anchors that both GitHub and the site give to headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    heads = re.findall(r"^#{1,4} (.+)", text, flags=re.M)
    plain = [re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", head).lower() for head in heads]
    return {re.sub(r"[^\w\- ]", "", head.replace("`", "")).strip().replace(" ", "-") for head in plain}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "chain" / "README.md"], ids=lambda p: p.stem)
def test_links_lead_to_headings_that_are_there(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([\w./-]*\.md)?#([\w-]+)\)", page.read_text()):
        goal = (page.parent / target) if target else page
        assert anchor in anchors(goal), f"{target}#{anchor}"


def test_every_promise_names_tests_that_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (DOCS / "security.md").read_text())
    assert len(named) > 20
    for file, name in named:
        assert f"def {name or 'test_'}" in (ROOT / file).read_text(), f"{file}::{name}"


def exported() -> list[str]:
    """What the source alone says is public: the stub's lines, and the ``__all__`` of the packages in it."""
    package = ROOT / "src" / "folkmoot"
    stub = (package / "__init__.pyi").read_text()
    names = re.findall(r"^from \.\w[\w.]* import (\w+) as \1$", stub, flags=re.M)
    found = list(names)
    for each in re.findall(r"^from \. import (\w+) as \1$", stub, flags=re.M):
        source = package / each / "__init__.pyi"
        tree = ast.parse((source if source.exists() else source.with_suffix(".py")).read_text())
        (listed,) = [
            ast.literal_eval(line.value)
            for line in tree.body
            if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__"
        ]
        found += [f"{each}.{name}" for name in listed if name not in names]
    return found


def test_the_reference_lists_what_the_code_exports_and_nothing_else() -> None:
    from topics import TOPICS

    listed = " ".join(names for _, names in TOPICS.values()).split()
    assert len(listed) > 50
    assert sorted(listed) == sorted(exported())


def test_every_public_name_has_a_page_and_a_sentence_in_the_index() -> None:
    from public_api import pages

    made = pages()
    assert set(made) == {"index", *(f"folkmoot.{name}" for name in exported())}
    lines = dict(re.findall(r"^\* :doc:`[\w.]+ <([\w.]+)>`: (.+)$", made["index"], flags=re.M))
    assert {*lines, "index"} == set(made)
    assert [line for line in lines.values() if not line.endswith((".", ":"))] == []


def test_what_public_functions_give_back_is_described_on_their_pages() -> None:
    from public_api import pages

    text = "".join(pages().values())
    public = {id(operator.attrgetter(name)(folkmoot)): name for name in exported()}
    for thing in (operator.attrgetter(name)(folkmoot) for name in exported()):
        if inspect.isfunction(thing):
            known = {"Figure": object} | vars(sys.modules[thing.__module__])  # only type checkers import it
            only = SimpleNamespace(__annotations__={"return": thing.__annotations__["return"]})
            for each in classes_in(get_type_hints(only, known)["return"]):
                home = f"{each.__module__}.{each.__qualname__}"
                ours = each.__module__.startswith("folkmoot.")
                assert not ours or id(each) in public or f":: {home}\n" in text, (thing, home)


def classes_in(hint: Any) -> Iterator[type]:
    """The classes that an annotation names."""
    if inspect.isclass(hint):
        yield hint
    for each in get_args(hint):
        yield from classes_in(each)


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md", *EXAMPLES], ids=lambda p: p.name)
def test_pages_and_examples_use_public_names_alone(path: Path) -> None:
    from check_page_imports import page_of

    if path.name == "wire.md":  # shows the code of a node beside the bytes
        return
    packages = {"folkmoot"} | {f"folkmoot.{name.partition('.')[0]}" for name in exported() if "." in name}
    for statement in page_of(path, ROOT).imports:
        (line,) = ast.parse(statement).body
        if isinstance(line, ast.ImportFrom) and (line.module or "").split(".")[0] == "folkmoot":
            assert line.module in packages, statement
            assert {each.name for each in line.names} <= {*importlib.import_module(line.module).__all__}, (
                statement
            )
        if isinstance(line, ast.Import):
            ours = {each.name for each in line.names if each.name.split(".")[0] == "folkmoot"}
            assert ours <= packages, statement


@pytest.mark.parametrize("command", ["folkmoot learn", "folkmoot node run", "folkmoot theory rounds"])
def test_the_page_of_commands_has_what_their_help_has(command: str) -> None:
    from command_line import commands

    found = {typed: (each, context) for typed, each, context in commands()}
    parsed, context = found[command]
    shown = " ".join(" ".join(param.get_help_record(context) or ()) for param in parsed.params)
    printed = run(*command.split()[1:], "--help").stdout
    options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", printed)) - {"--help"}
    assert len(options) > 4
    assert options <= set(re.findall(r"(?<![\w-])--[a-z][\w-]*", shown))


def test_the_page_of_commands_says_defaults_and_names() -> None:
    from command_line import Commands

    sections = {section["names"][0]: section.astext() for section in Commands.run(None)}  # type: ignore[arg-type]
    assert "[default: folkmoot-demo]" in sections["folkmoot demo"]
    assert "slush, snowflake, snowball" in sections["folkmoot deliberate"]


def test_metrics_that_pages_name_are_metrics_of_a_node() -> None:
    from folkmoot.node.web.metrics import described

    named: set[str] = set()
    for page in PAGES:
        named |= set(re.findall(r"`(folkmoot_[a-z_]+)[`{]", page.read_text()))
    assert named
    told = {metric.name for metric in described()}
    told |= {f"{name}_{end}" for name in told for end in ("bucket", "sum", "count")}
    assert named <= told


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_opens_with_what_one_learns(example: Path) -> None:
    about = ast.get_docstring(ast.parse(example.read_text())) or ""
    title, line, blank, first = about.splitlines()[:4]
    assert line == "=" * len(title)
    assert blank == ""
    assert first.startswith("Learn ")
    assert first.rstrip()[-1] in ".:" or "." in about.split("\n\n")[1]


# ---- file formats ------------------------------------------------------------------------------


def rows(section: str) -> set[str]:
    """What the first column of a section's table names."""
    text = (DOCS / "file-formats.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", text, flags=re.M)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_file_formats_are_those_of_the_code(tmp_path: Path) -> None:
    from folkmoot.node.certificate import Certificate, PollProof
    from folkmoot.node.membership import identity
    from folkmoot.node.membership.roster import Member, Roster

    assert rows("Certificate") == {*Certificate.__struct_fields__, *PollProof.__struct_fields__}
    settings = (DOCS / "operations.md").read_text().split("\n## node.toml\n")[1].split("```toml\n")[1]
    assert set(tomllib.loads(settings.split("```")[0])) == {*identity._KEYS, *identity.RUNNING}
    page = (DOCS / "file-formats.md").read_text().split("\n## Roster\n")[1]
    (example,) = tomllib.loads(page.split("```toml\n")[1].split("```")[0])["participants"]
    Roster([identity.create(tmp_path / "north", name="north").member()]).write(tmp_path / "roster.toml")
    (entry,) = tomllib.loads((tmp_path / "roster.toml").read_text())["participants"]
    assert set(example) == set(entry) == set(Member.__dataclass_fields__)


# ---- measurements ------------------------------------------------------------------------------


def test_a_benchmark_writes_its_own_part_and_leaves_the_others(tmp_path: Path) -> None:
    from timing import record, this_machine

    path = tmp_path / "results.json"
    record("trust", {"a talk": 1.5}, this_machine(), path)
    record("page", {"a page": 2}, this_machine(), path)
    record("trust", {"a talk": 0.5}, this_machine(), path)
    known = json.loads(path.read_text())
    assert list(known) == ["page", "trust"]
    assert [entry["results"] for entry in known.values()] == [{"a page": 2}, {"a talk": 0.5}]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", entry["date"]) for entry in known.values())
    assert all(re.fullmatch(r"[0-9a-f]{12}\+?|unknown\+?", entry["commit"]) for entry in known.values())


def test_the_page_of_measurements_says_what_the_file_says() -> None:
    from measured import page, row, table

    machine: dict[str, Any] = {
        "cores": 2,
        "load": 0.1,
        "processor": "P",
        "python": "3.11.7",
        "system": "Linux",
    }
    results = {"n = 101": {"seconds": 0.0271, "target": 0.1, "reached": True}, "times faster": 24500}
    entry = {"date": "2026-11-16", "commit": "abc", "machine": machine, "results": results}
    text = page({"theory": entry})
    assert "| n = 101 | 0.0271 s | 0.1 (reached) |" in text
    assert "| times faster | 24,500 |  |" in text
    same = {"a": {"two": 1, "ten_x": 2000, "target": 3, "reached": True}, "b": {"two": 4, "ten_x": 5}, "c": 6}
    assert table(same) == (
        "|  | two | ten x | target |\n| --- | --- | --- | --- |\n"
        "| a | 1 | 2,000 | 3 (reached) |\n| b | 4 | 5 |  |\n\n"
        "|  | measured |\n| --- | --- |\n| c | 6 |"
    )
    assert "2026-11-16, commit `abc`, 2 cores (P)" in text
    assert row("late", {"MB": 600, "target": 500, "reached": False}) == (
        "late",
        "600 MB",
        "500 (**not** reached)",
    )


def test_measurements_are_of_benchmarks_that_are_there_and_make_bench_runs_them_all() -> None:
    known = json.loads((ROOT / "benchmarks/results.json").read_text())
    texts = {path.stem: path.read_text() for path in (ROOT / "benchmarks").glob("*.py")}
    scripts = {name for name, text in texts.items() if "report(measure, __doc__)" in text}
    assert set(known) <= scripts
    (run_by_make,) = re.findall(r"^BENCHMARKS := (.*)", (ROOT / "Makefile").read_text(), flags=re.M)
    assert set(run_by_make.split()) == scripts


def test_a_page_shows_the_table_of_one_benchmark_or_how_to_measure_it() -> None:
    from measured import part

    known = json.loads((ROOT / "benchmarks/results.json").read_text())
    shown = part("player", known)
    found = known["player"]["results"]["30 participants"]
    row = f"| 30 participants | {found['bytes']:,} | {found['steps']:,} | "  # a column for each figure
    assert row in shown
    assert "| 370,000 (reached) |" in shown
    assert f"commit `{known['player']['commit']}`" in shown
    assert "python benchmarks/page.py --record" in part("page", {})
    named = {
        name
        for page in PAGES
        for name in re.findall(r"^```\{measured\} (\w+)$", page.read_text(), flags=re.M)
    }
    assert named >= {"player"}
    assert all((ROOT / "benchmarks" / f"{name}.py").exists() for name in named)


def test_what_was_measured_at_this_commit_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import timing

    path = tmp_path / "results.json"
    assert not timing.is_recorded("trust", path)
    for now, again in (("abc", True), ("abc+", False), ("unknown+", False)):
        monkeypatch.setattr(timing, "commit", lambda now=now: now)
        timing.record("trust", {"a talk": 1.5}, timing.this_machine(), path)
        assert timing.is_recorded("trust", path) is again
    monkeypatch.setattr(timing, "commit", lambda: "def")
    assert not timing.is_recorded("trust", path)
    assert not timing.is_recorded("page", path)


def test_a_benchmark_that_fails_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    """``make bench`` with a Python that writes down what it is told to run, and fails at one of them."""
    environment = tmp_path / "venv"
    environment.mkdir()
    for name in ("base", "dev"):
        (environment / name).touch()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/ran\n[ "$1" != benchmarks/theory.py ]\n')
    python.chmod(0o700)
    told = subprocess.run(
        ["make", "bench", f"VENV={environment}", f"BIN={tmp_path}"],  # noqa: S607
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    ran = [Path(line).stem for line in (tmp_path / "ran").read_text().splitlines()]
    (all_of_them,) = re.findall(r"^BENCHMARKS := (.*)", (ROOT / "Makefile").read_text(), flags=re.M)
    assert ran == all_of_them.split()
    assert told.returncode != 0
    assert "bench-theory" in told.stderr
