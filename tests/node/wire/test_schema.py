"""Columns by name: matched or refused, never taken in silence; and the files that declare them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from folkmoot.node.service.holdout import read_holdout
from folkmoot.node.service.input_files import read_inputs
from folkmoot.node.service.models import load_model
from folkmoot.node.service.node_file import ModelTable
from folkmoot.node.wire.schema import Column, MismatchError, align
from support.command import assert_refused

DATA = load_breast_cancer(as_frame=True)
TABLE: pd.DataFrame = DATA.data
TRUTH = DATA.target_names[DATA.target]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that was fitted on a data frame."""
    path = tmp_path_factory.mktemp("model") / "0.skops"
    skops.io.dump(LogisticRegression(max_iter=10_000).fit(TABLE[:80], TRUTH[:80]), path)
    return str(path)


def permuted(table: pd.DataFrame) -> pd.DataFrame:
    return table[list(np.random.default_rng(7).permutation(table.columns))]


def test_a_permuted_table_is_the_table_itself(model: str) -> None:
    loaded, table = load_model(model), permuted(TABLE[80:120])
    fit = loaded.fit(tuple(Column(name) for name in table.columns), len(table.columns))
    np.testing.assert_array_equal(fit.arranged(table.to_numpy()), TABLE[80:120].to_numpy())
    assert fit.unchecked == ""


def test_units_and_ranges_of_both_sides_hold() -> None:
    own = (Column("radius", "mm", 5.0, 25.0), Column("age"))
    for unit in ("mm", ""):
        fit = align(own, (Column("age", "", None, 99.0), Column("radius", unit)), 2)
        outside = fit.outside(fit.arranged(np.array([[98.0, 25.0], [100.0, 4.0], [np.nan, np.inf]])))
        assert outside.tolist() == [[False, False], [True, True], [True, False]]
    with pytest.raises(MismatchError) as refused:
        align(own, (Column("age"), Column("radius", "cm")), 2)
    assert refused.value.why == "the inputs have 'radius' in 'cm', and its model takes another unit"
    assert "'mm'" in str(refused.value)


def test_many_columns_of_an_asker_are_compared_in_no_time() -> None:
    own = tuple(Column(f"own {i}") for i in range(10_000))
    given = tuple(Column(f"given {i}") for i in range(10_000))
    with pytest.raises(MismatchError) as found:
        align(own, given, 10_000)
    assert found.value.why.startswith("the inputs do not have the columns that its model takes: 10000 are")


def test_a_schema_of_other_columns_than_the_model_was_fitted_on_is_refused_at_the_start(
    model: str, tmp_path: Path
) -> None:
    path = model
    declared = tmp_path / "mine.toml"

    def write(names: list[str]) -> None:
        declared.write_text("".join(f'[[column]]\nname = "{name}"\n' for name in names))

    write(list(reversed(TABLE.columns)))  # by name: the order of the model holds
    assert [each.name for each in load_model(ModelTable("file", path, schema=declared)).schema] == list(
        TABLE.columns
    )
    write([*TABLE.columns[:-1], "odd"])
    with pytest.raises(
        ValueError, match=r"mine\.toml does not have the columns of .*0\.skops: 'odd' missing and"
    ):
        load_model(ModelTable("file", path, schema=declared))
    write(list(TABLE.columns[:-1]))
    with pytest.raises(ValueError, match="must name all columns: got 29 names for 30 columns"):
        load_model(ModelTable("file", path, schema=declared))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", r"must hold \[\[column\]\] tables"),
        ("column = 3", r"must hold \[\[column\]\] tables"),
        ("[[columns]]\nname = 'a'", r"must hold \[\[column\]\] tables"),
        ("[[column]]\nunit = 'a'", "column 1: name is missing"),
        (
            "[[column]]\nname = 'a'\n[[column]]\nname = 'b'\nmin = 3",
            "column 2: 'min' must be left out",
        ),
        ("[[column]]\nname = 3", "column 1: name must be text: got 3"),
        ("[[column]]\nname = 'a'\nlow = 'x'", "column 1: low must be a number: got 'x'"),
        ("[[column]]\nname = 'a'\nlow = true", "column 1: low must be a number: got True"),
        ("[[column]]\nname = 'a'\nlow = nan", "low of column 'a' must be a number"),
        ("[[column]]\nname = 'a'\nlow = 2\nhigh = 1", "column 'a' must have low <= high"),
        ("[[column]]\nname = ''", "a column must have a name of 1 to 200 characters"),
        (
            "[[column]]\nname = 'a'\n[[column]]\nname = 'a'",
            "must name columns differently: got 'a' more than once",
        ),
        ("[[column", "must be TOML"),
    ],
)
def test_bad_schema_files(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text)
    np.save(tmp_path / "x.npy", np.zeros((2, 1)))
    with pytest.raises(ValueError, match=why):
        read_inputs(tmp_path / "x.npy", tmp_path / "s.toml")


def test_a_schema_names_the_columns_of_an_array_and_describes_those_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        "[[column]]\nname = 'a'\nunit = 'mm'\n[[column]]\nname = 'b'\nlow = 0\nhigh = 9"
    )
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    wanted = (Column("a", "mm"), Column("b", "", 0.0, 9.0))
    assert read_inputs(tmp_path / "x.npy", tmp_path / "s.toml").schema == wanted
    (tmp_path / "x.csv").write_text("b,a\n1,2\n3,4\n")
    assert read_inputs(tmp_path / "x.csv", tmp_path / "s.toml").schema == wanted[::-1]
    assert read_inputs(tmp_path / "x.csv").schema == (Column("b"), Column("a"))
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    assert read_inputs(tmp_path / "x.csv").schema == ()
    bad: list[tuple[str, str]] = [
        ("b,c\n1,2\n", "does not have the columns of the schema: 'a' missing and 'c' not known"),
        ("b,a\n1,2\n11,2\n", "column 'b' of input 1 must be 0.0 to 9.0: got 11.0"),
        ("a,,c\n1,2,3\n", "column 2 must have a name, as the others have"),
    ]
    for text, why in bad:
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(ValueError, match=why):
            read_inputs(tmp_path / "x.csv", tmp_path / "s.toml")


def test_at_the_prompt_a_bad_schema_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[[column]]\nname = 'a'\nhigh = 3\n")
    (tmp_path / "x.csv").write_text("a\n1\n7\n")
    ask = ("ask", tmp_path / "x.csv", "--schema")
    assert_refused("column 'a' of input 1 must be -inf to 3.0: got 7.0", *ask, tmp_path / "s.toml")
    assert_refused("No such file", *ask, tmp_path / "none.toml")
    assert_refused("must be TOML", *ask, tmp_path / "x.csv")


def test_a_permuted_holdout_says_the_same_of_the_model(model: str, tmp_path: Path) -> None:
    def right(table: pd.DataFrame) -> int:
        table.assign(label=TRUTH[80:160]).to_csv(tmp_path / "h.csv", index=False)
        return read_holdout(tmp_path / "h.csv", load_model(model)).right

    assert right(permuted(TABLE[80:160])) == right(TABLE[80:160]) > 60
    with pytest.raises(ValueError, match=r"columns of the model, and the label: .*'area' not"):
        right(TABLE[80:160].rename(columns={"mean area": "area"}))
