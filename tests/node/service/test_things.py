"""Texts and records as inputs of a motion: from a file or a list over the wire to models, and decided."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from folkmoot.node.client import Client, NodeRefusal
from folkmoot.node.service.input_files import read_inputs
from folkmoot.node.service.models import Model, load_model
from folkmoot.node.service.node_file import ModelTable
from folkmoot.node.session.header import Header
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.schema import Column
from folkmoot.node.wire.things import MOST_THING, unpacked
from support.node.moot import Moot, model
from support.node.served import opened

TEXTS = ["win a prize now", "see you at eight", 'a "prize"\nin two lines, ÄÖ \u202e', ""]
TRUTH = ["spam", "ham", "spam", "ham"]
RECORDS: list[dict[str, Any]] = [
    {"age": 61, "smoker": True, "note": "pain"}, {"age": None, "smoker": False, "note": "well"},
    {"age": 33.5, "note": "pain, {x} \\"}, {"smoker": None, "age": 20, "note": None},
]  # fmt: skip
ILL = ["ill", "well", "ill", "well"]


def spam(texts: Any) -> list[str]:
    return ["spam" if "prize" in text else "ham" for text in texts]


def ill(records: Any) -> list[str]:
    return ["ill" if (record["note"] or "").startswith("pain") else "well" for record in records]


def liar(inputs: Any) -> list[str]:
    return ["ham"] * len(inputs)


def test_texts_are_decided_by_models_of_texts() -> None:
    moot = Moot([model(spam), model(spam), model(liar), model(spam)])
    account = moot.play(moot.put(0, TEXTS, labels=("ham", "spam")))[0]
    assert account.decisions == TRUTH


@pytest.mark.parametrize("kind", ["texts", "records", "frame", "series"])
def test_texts_and_records_are_asked_over_http(tmp_path: Path, kind: str) -> None:
    inputs: Any = {
        "texts": TEXTS,
        "series": pd.Series(TEXTS),
        "records": RECORDS,
        "frame": pd.DataFrame(RECORDS),
    }[kind]
    texts = kind in ("texts", "series")
    moot = Moot([model(spam if texts else ill)] * 4)
    node = moot.nodes[0]
    assert node is not None
    labels = ["ham", "spam"] if texts else ["ill", "well"]

    async def main() -> tuple[Any, Any]:
        async with opened(node, tmp_path):
            client = Client(tmp_path)
            checking = asyncio.create_task(asyncio.to_thread(client.check, inputs, labels=labels))
            checked = await checking
            asking = asyncio.create_task(asyncio.to_thread(client.ask, inputs, labels=labels, seconds="20s"))
            while not asking.done():  # the network in memory has a time of its own
                moot.network.run(moot.network.time + 0.05)
                await asyncio.sleep(0.005)
            return checked, await asking

    checked, answer = asyncio.run(main())
    assert answer.decisions == (TRUTH if texts else ILL)
    assert (checked["why"], checked["unchecked"], checked["inputs"]) == ("", "", 4)
    assert checked["rows"][0] == (TEXTS[:1] if texts else [61, True, "pain"])


@pytest.mark.parametrize(
    "inputs",
    [["a", [1.0]], [[1.0], "a"], [{"a": 1}, "a"], [{"a": {}}], ["a", None], [{}], [{"a": 1}, {"a": "x"}]],
)
def test_inputs_of_several_kinds_are_refused_over_http(tmp_path: Path, inputs: Any) -> None:
    moot = Moot([model(spam)] * 4)
    node = moot.nodes[0]
    assert node is not None

    async def main() -> None:
        async with opened(node, tmp_path):
            body = json.dumps({"inputs": inputs, "labels": ["ham", "spam"]}).encode()
            await asyncio.to_thread(Client(tmp_path)._json, "POST", "/v2/check", body, "application/json")

    with pytest.raises(NodeRefusal) as caught:
        asyncio.run(main())
    assert caught.value.status in (400, 422)
    assert "\n" not in str(caught.value)


def test_records_reach_every_model_by_name() -> None:
    """Each model's columns are in another order; a model of numbers takes no part and says why."""
    asked: list[Any] = []

    def noting(records: Any) -> list[str]:
        asked.extend(records)
        return ill(records)

    numbers = Model("test:numbers", lambda rows: ["ill"] * len(rows), labels=["ill", "well"], columns=3)
    moot = Moot([model(noting), model(ill), model(ill), numbers])
    name = moot.put(0, RECORDS, labels=("ill", "well"), seconds=20.0)
    moot.run(20.0)
    account = moot.account(0, name)
    assert account.decisions == ILL
    assert account.refused["node003"].startswith("the inputs are records")
    wanted = [{"age": None, "smoker": None, "note": None} | record for record in RECORDS]
    assert asked[-4:] == wanted  # the asker tries its model with one input before
    assert (
        moot.account(0, bytes.fromhex(account.motion)).refused["node003"].startswith("the inputs are records")
    )


def test_many_texts_come_in_chunks_and_after_a_restart() -> None:
    texts = [f"{'prize ' if i % 3 else ''}{'x' * (i % 7) * 900}" for i in range(400)]
    batch = Batch(texts)
    assert len(list(batch.chunks())) > 3
    back = np.concatenate([unpacked(chunk, batch.dtype, batch.schema) for chunk in batch.chunks()])
    assert back.tolist() == texts
    again = Batch.of(unpacked(b"".join(batch.chunks()), batch.dtype, ()), schema=())
    assert again.digests() == batch.digests()
    moot = Moot([model(spam)] * 4)
    assert moot.play(moot.put(0, texts, labels=("ham", "spam")))[0].decisions == spam(texts)


@pytest.mark.parametrize("sandbox", [True, False])
def test_pipelines_of_scikit_learn_take_texts_dictionaries_and_frames(tmp_path: Path, sandbox: bool) -> None:
    texts = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS[:3] * 4, TRUTH[:3] * 4)
    whole = [
        {"age": 0.0, "smoker": False, "note": ""} | {k: v for k, v in row.items() if v is not None}
        for row in RECORDS
    ]
    dicts = make_pipeline(DictVectorizer(), LogisticRegression()).fit(whole, ILL)
    frame = pd.DataFrame(whole)
    named = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["note"]), remainder="passthrough"),
        LogisticRegression(),
    ).fit(frame[["smoker", "note", "age"]], ILL)
    for name, fitted, inputs in (("texts", texts, TEXTS), ("dicts", dicts, whole), ("named", named, whole)):
        skops.io.dump(fitted, tmp_path / f"{name}.skops")
        allow = skops.io.get_untrusted_types(file=tmp_path / f"{name}.skops")
        table = ModelTable("file", str(tmp_path / f"{name}.skops"), allow=tuple(allow))
        found = load_model(table, hidden=tmp_path / "none" if sandbox else None)
        batch = Batch(inputs)
        fit = found.fit(batch.schema, batch.columns, batch.dtype)
        said = found.ask(fit.arranged(batch.array), "labels", (), 20.0, fit.names)
        wanted = fitted.predict(frame[["smoker", "note", "age"]] if name == "named" else inputs)
        assert list(said.values) == wanted.tolist()
        if found.worker is not None:
            found.worker.close()


def test_files_of_inputs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("win a prize\n\n see you \nä\n")
    assert read_inputs(tmp_path / "a.txt").plain == ["win a prize", "see you", "ä"]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, TEXTS)))
    assert read_inputs(tmp_path / "t.jsonl").plain == TEXTS
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))
    batch = read_inputs(tmp_path / "r.jsonl")
    assert [(each.name, each.kind) for each in batch.schema] == [
        ("age", "number"),
        ("smoker", "boolean"),
        ("note", "text"),
    ]
    assert batch.plain == [{"age": None, "smoker": None, "note": None} | record for record in RECORDS]
    (tmp_path / "n.jsonl").write_text("[1, 2.5]\n[null, 3]\n")
    np.testing.assert_array_equal(read_inputs(tmp_path / "n.jsonl").array, [[1, 2.5], [np.nan, 3]])
    (tmp_path / "m.jsonl").write_text('{"a": 1, "b": 2}\n{"b": 4}\n')
    numbers = read_inputs(tmp_path / "m.jsonl")
    assert (numbers.dtype, [each.name for each in numbers.schema]) == ("<f8", ["a", "b"])
    (tmp_path / "c.csv").write_text("age,note\n61,pain\n,well\n")
    assert read_inputs(tmp_path / "c.csv").plain == [
        {"age": 61.0, "note": "pain"},
        {"age": None, "note": "well"},
    ]
    pd.DataFrame(RECORDS[:2]).to_parquet(tmp_path / "p.parquet")
    assert read_inputs(tmp_path / "p.parquet").plain[0]["note"] == "pain"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.txt", "\n\n", "x.txt is empty: it has no inputs"),
        ("x.jsonl", '"a"\n{"b": 1}\n', "line 2: expected a text, got {'b': 1}"),
        ("x.jsonl", '{"a": 1}\n{"a": "b"}\n', "field 'a' must be of one kind: got a number in input 0"),
        ("x.jsonl", '{"a": [1]}\n', "field 'a' must be a"),
        ("x.jsonl", '{"a": 1, "a": 2}\n', "a name stands in it twice"),
        ("x.jsonl", '{"a": NaN}\n', "NaN is no JSON: write null"),
        ("x.jsonl", "[1, 2]\n[1]\n", "line 2: expected a row of as many numbers"),
        ("x.jsonl", "7\n", "line 1: expected a text, a record or a row of numbers, got 7"),
        ("x.jsonl", "{\n", "line 1: expected one JSON value"),
        ("x.csv", "age,note\n61,pain\nold,well\n", "line 3: expected a number, got 'old'"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_one_line(tmp_path: Path, name: str, text: str, line: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match="x") as caught:
        read_inputs(tmp_path / name)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "line"),
    [
        (["a", 3], "X must hold texts: input 1 is 3"),
        (["x" * MOST_THING], f"input 0 must have at most {MOST_THING:,} bytes as JSON"),
        (["\ud800"], "without lone surrogates"),
        ([{"a": "x" * MOST_THING}], f"input 0 must have at most {MOST_THING:,} bytes as JSON"),
        ([{"a": "b", **{f"c{i}": 1 for i in range(1000)}}], "records of 1 to 1,000 fields: got 1,001"),
    ],
)
def test_sizes_are_bounded_and_said(inputs: Any, line: str) -> None:
    with pytest.raises(ValueError, match="X") as caught:
        Batch(inputs)
    assert line in str(caught.value)


def test_a_chunk_of_somebody_else_is_checked() -> None:
    schema = (Column("a"), Column("b", kind="text"))
    assert unpacked(b'[1,"x"]\n[null,null]\n', "records", schema).tolist() == [[1, "x"], [None, None]]
    for data in (
        b'[1]\n', b'["x",1]\n', b'[true,"x"]\n', b'[1,"x"]', b'[1e999,"x"]\n', b'{"a":1}\n',
        b'[[1],"x"]\n', b"\xff\n",
        b'[1,"' + b"x" * MOST_THING + b'"]\n', b"[" * 30_000 + b"\n", b"\n", b'[NaN,"x"]\n',
        b"[" + b"9" * 400 + b',"x"]\n', b"[-" + b"9" * 400 + b',"x"]\n',
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"\w") as caught:
            unpacked(data, "records", schema)
        assert "\n" not in str(caught.value)
    for data in (b"7\n", b'"\\ud800"\n', b'["x"]\n', b'"x'):
        with pytest.raises(ValueError, match=r"\w"):
            unpacked(data, "texts", ())


def test_a_header_of_texts_has_no_validation_rows_and_one_column() -> None:
    from folkmoot.node.session.terms import Terms

    terms = Terms(labels=("no", "yes"))
    fine: dict[str, Any] = {"dtype": "texts", "columns": 1, "chunk_rows": 4}
    Header(b"m" * 32, 0, b"n" * 16, 1.0, terms, 8, **fine).check(4)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"columns": 2}, "texts must have one column"),
        ({"schema": (Column("a"),)}, "texts must have one column"),
        ({"dtype": "records"}, "records must have 1 to 1,000 named columns"),
        (
            {"dtype": "<f8", "schema": (Column("a", kind="text"),)},
            "rows of numbers must have columns of",
        ),
        (
            {"terms": Terms(labels=("no", "yes"), believe="own", rows=3)},
            "validation rows must be rows of numbers",
        ),
    ]
    for changes, line in cases:
        given: dict[str, Any] = {"terms": terms, "inputs": 8} | fine | changes
        with pytest.raises(ValueError, match=line):
            Header(b"m" * 32, 0, b"n" * 16, 1.0, **given).check(4)
