"""Inputs are checked against the node's own model before anything is put; by hand, column by column."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from folkmoot.files.tabular import table_text, write_table
from folkmoot.node.log import Journal
from folkmoot.node.service.models import Model
from folkmoot.node.wire.schema import Column
from folkmoot.web.putting import Putting, asked_in_text
from folkmoot.web.refusals import RefusalError
from folkmoot.web.shapes import Checked
from folkmoot.web.site import Site
from support.network.paged import Paged


def checked(text: str, model: Model, **terms: str) -> Checked:
    node = SimpleNamespace(
        seat=SimpleNamespace(n=5, place=0),
        roster=SimpleNamespace(digest="00" * 32),
        transport=SimpleNamespace(clock=lambda: 1.0),
    )
    shown: Any = SimpleNamespace(node=node, model=model, labels=["no", "yes"], folder=Path())

    async def look() -> Checked:
        return await Putting(shown).check(lambda: asked_in_text(text.encode(), terms))

    return asyncio.run(look())


def doctor() -> Model:
    model = Model("m", lambda rows: ["no"] * len(rows), labels=["no", "yes"], names=["age", "dose"])
    model.declare((Column("age", "years", 0, 120), Column("dose", "mg")), "m.schema.toml")
    return model


def columns(found: Checked) -> dict[str, str]:
    return {column.name: column.state for column in found.columns}


def test_columns_are_matched_by_name() -> None:
    found = checked("dose,age\n1.5,63\n,130\n2,41\n", doctor())
    assert (found.inputs, found.why, found.unchecked) == (3, "", "")
    assert columns(found) == {"dose": "fits", "age": "fits"}
    assert [column.unit for column in found.columns] == ["mg", "years"]
    assert found.rows == [[1.5, 63.0], [None, 130.0], [2.0, 41.0]]
    assert (found.missing, found.outside) == (1, 1)
    assert found.labels == ["no", "yes"]


def test_what_is_missing_or_not_known_is_named() -> None:
    found = checked("dose,height\n1,180\n", doctor())
    assert columns(found) == {"dose": "fits", "height": "unknown", "age": "missing"}
    assert (
        found.why == "the columns of the model and of the inputs differ: 'age' missing and 'height' not known"
    )


def test_numbers_and_probabilities_are_checked_against_the_model() -> None:
    found = checked("dose,age\n1,63\n", doctor(), regression="true", tol="0.5")
    assert (found.answers, found.tol, found.labels) == ("numbers", 0.5, [])
    assert found.why == "model m gives labels, not numbers: no, yes"
    assert "gives no probabilities" in checked("dose,age\n1,63\n", doctor(), voting="probabilities").why
    regressor = Model("r", lambda rows: rows[:, 0], columns=2)
    found = checked("1,63\n", regressor, regression="true", tol="0.5")
    assert (found.answers, found.why) == ("numbers", "")
    assert (checked("dose,age\n1,63\n", doctor()).answers, found.tol) == ("labels", 0.5)


def test_without_names_columns_are_counted() -> None:
    found = checked("1,2\n3,4\n", doctor())
    assert (found.why, found.unchecked) == ("", "the columns of the inputs have no names")
    assert found.columns == []
    assert checked("1,2,3\n", doctor()).why == "the model takes 2 columns, and the inputs have 3"
    nameless = Model("m", lambda rows: ["no"] * len(rows), columns=2)
    found = checked("a,b\n1,2\n", nameless)
    assert (columns(found), found.why) == ({"a": "unchecked", "b": "unchecked"}, "")


@pytest.mark.parametrize(
    ("text", "terms", "line"),
    [
        ("age,dose\n1,x\n", {}, "the body, line 2: expected a number, got 'x'"),
        ("", {}, "the body is empty"),
        ("age,dose\n1,2\n", {"k": "9"}, "k must satisfy 1 <= k <= 4"),
        ("age,dose\n1,2\n", {"speed": "9"}, "the address may say"),
        ("age,dose\n1,2\n", {"regression": "true"}, "regression needs tol"),
        ("age,dose\n1,2\n", {"regression": "true", "tol": "-1"}, "tol must be a number above 0"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, terms: dict[str, str], line: str) -> None:
    with pytest.raises(RefusalError, match=line.replace("(", r"\(")) as raised:
        checked(text, doctor(), **terms)
    assert raised.value.status == 400


def test_nothing_is_put_by_a_check(paged: Paged) -> None:
    before = paged.get("/v1/motions")["count"]
    reply = paged.send("POST", "/v1/check", {"rows": [[1.0], [2.0]], "rounds": 5})
    assert (reply.status, reply.json["inputs"]) == (200, 2)
    assert paged.get("/v1/motions")["count"] == before
    access = paged.get("/v1/access")
    assert (access["node"], access["labels"], access["width"]) == ("node000", ["even", "odd"], 1)


def test_a_table_as_text_is_the_file_to_the_byte(tmp_path: Path) -> None:
    rows = [["0", "=cmd|' /C calc'!A0", "1.0"], ["1", "-5", "0.5"], ["2", "+yes", ""], ["3", "@x", "a,b\n"]]
    write_table(tmp_path / "a.csv", ["input", "=label", "agreement"], rows)
    text = table_text(["input", "=label", "agreement"], rows)
    assert text.encode() == (tmp_path / "a.csv").read_bytes()
    assert "0,'=cmd|' /C calc'!A0,1.0" in text
    assert "1,-5,0.5" in text


def test_behind_a_proxy_the_address_is_that_of_the_proxy(tmp_path: Path) -> None:
    async def opened() -> tuple[str, str]:
        site = Site("127.0.0.1:0", "Moot.example:443")

        async def nothing(*_: object) -> None: ...

        where = await site.open(nothing, "a" * 48, "b" * 48, Counter(), Journal(), tmp_path)
        told = json.loads((tmp_path / "page.json").read_text())
        assert told == {"url": f"http://{where}", "token": "a" * 48, "page": "https://moot.example"}
        await site.close()
        return site.address, where

    address, _ = asyncio.run(opened())
    assert address == f"https://moot.example/#token={'a' * 48}"
    assert not (tmp_path / "page.json").exists()
