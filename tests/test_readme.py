"""The README keeps its promises: length, example, pictures, figures. The files beside it are valid."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_has_at_most_700_words() -> None:
    assert len(README.split()) <= 700


def test_its_example_has_ten_lines_at_most_and_shows_what_it_prints() -> None:
    # tests/test_docs.py runs it and compares what it prints with the block that follows.
    found = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, flags=re.S)
    assert len(found) == 1
    code, printed = found[0]
    assert len(code.strip().splitlines()) <= 10
    assert "consensus" in printed


def test_the_player_loops_and_is_small() -> None:
    from PIL import Image

    path = ROOT / "docs" / "images" / "player.gif"
    assert f"](docs/images/{path.name})" in README
    assert path.stat().st_size < 1_000_000
    with Image.open(path) as picture:
        assert picture.info["loop"] == 0  # for ever
        assert getattr(picture, "n_frames", 1) > 12


def test_it_says_when_to_use_something_else_and_has_a_link_for_each_reader() -> None:
    use, rather = re.findall(
        r"^\*\*(?:Use it|Rather use something else) when\*\*\n\n(.*?)\n\n", README, re.M | re.S
    )
    for lines in (use, rather):
        assert len(re.findall("^- ", lines, flags=re.M)) == 3
    for other in ("VotingClassifier", "crowd-kit", "Flower"):
        assert other in rather
    readers = re.findall(r"^- \*\*(\w[\w ]+)\*\*: \[", README, flags=re.M)
    assert readers == ["Data scientist", "Operator", "Researcher", "Contributor"]


def test_its_figures_are_those_of_the_results() -> None:
    """A row of the table has the figures of the study that measured them."""
    results = ROOT / "experiments" / "results" / "mechanism.json"
    (run,) = json.loads(results.read_text(encoding="utf-8"))["runs"]
    rows = re.findall(
        r"^\| (ten digits|upper or lower case), (\w+) lies? \| (\.\d+) \| (\.\d+) \|$", README, re.M
    )
    assert len(rows) == 5
    for what, lying, *figures in rows:
        moot = "femnist-digits-" if what == "ten digits" else "femnist-case-"
        for rule, figure in zip(("plain", "peer-10"), figures, strict=True):
            found = [
                each["new"] if each["everybody"] is None else each["everybody"]
                for each in run["compared"]
                if each["moot"].startswith(moot) and each["rule"] == rule and each["lie"].endswith(lying)
            ]
            assert statistics.mean(found) == pytest.approx(float(figure), abs=0.00051), (what, lying, rule)


def test_words_of_the_issue_are_in_the_glossary() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    entries = dict(re.findall(r"^### ([^\n]+)\n\n(.*?)\n(?=\n#|\Z)", page, flags=re.M | re.S))
    words = {word for title in entries for word in title.split(", ")}
    for word in (
        "moot", "motion", "participant", "roster", "quorum", "colour", "first vote", "round", "k", "alpha",
        "beta", "converged", "agreement", "liar", "silent", "abstain", "anchor", "trust", "evidence",
        "final vote", "commitment",
    ):  # fmt: skip
        assert word in words, word
    for title, text in entries.items():
        assert 0 < len(text.split()) <= 60, title


@pytest.mark.parametrize("query", ["choose k", "deploy", "notebook", "soft voting", "cite", "prefit voting"])
def test_what_people_search_for_is_in_a_heading(query: str) -> None:
    headings = [
        line.lower()
        for page in (ROOT / "docs").glob("*.md")
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("#")
    ]
    assert any(query in heading for heading in headings)


def _schema(name: str) -> Any:
    from check_jsonschema import builtin_schemas

    folder = Path(builtin_schemas.__file__).parent / "vendor"
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("file", "schema"),
    [
        ("CITATION.cff", "citation-file-format"),
        (".github/ISSUE_TEMPLATE/bug.yml", "github-issue-forms"),
        (".github/ISSUE_TEMPLATE/idea.yml", "github-issue-forms"),
        (".github/ISSUE_TEMPLATE/page.yml", "github-issue-forms"),
        (".github/ISSUE_TEMPLATE/config.yml", "github-issue-config"),
    ],
)
def test_files_for_other_programs_are_valid(file: str, schema: str) -> None:
    import jsonschema
    import yaml

    content = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))
    against = _schema(schema)
    check = jsonschema.validators.validator_for(against)(against)
    assert [each.message for each in check.iter_errors(content)] == []


def test_the_version_to_cite_is_this_one() -> None:
    from folkmoot import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version = {{{__version__}}}" in (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
