"""``folkmoot node schema FILE``: what it prints can be read as a schema of that file."""

from __future__ import annotations

from pathlib import Path

from folkmoot.node.service.input_files import read_inputs, read_schema
from support.command import assert_refused, run, run_json


def test_a_schema_is_made_from_a_file_and_fits_it(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(
        '{"age": 61, "note": "pain", "smoker": true}\n{"age": null, "note": "\\"", "smoker": null}\n'
    )
    made = tmp_path / "a.schema.toml"
    made.write_text(run("node", "schema", str(file)).stdout)
    kinds = [(each.name, each.kind) for each in read_schema(made)]
    assert kinds == [("age", "number"), ("note", "text"), ("smoker", "boolean")]
    assert read_inputs(file, made).plain == read_inputs(file).plain
    assert run_json("node", "schema", str(file), "--json")["columns"][1] == {"name": "note", "kind": "text"}


def test_a_file_without_names_has_no_schema(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("one\n")
    assert_refused("FILE must have columns with names", "node", "schema", tmp_path / "texts.txt")
