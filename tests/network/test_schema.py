"""Columns by name: a permuted table is answered as the table it was made from, or refused, never silently."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from folkmoot.network import Batch, Column
from folkmoot.network.service.holdout import read_holdout
from folkmoot.network.service.voter import Voter
from folkmoot.network.storage.account import Account, account, find
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.node.membership.identity import create
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.input_files import read_inputs
from folkmoot.node.service.models import load_model
from folkmoot.node.transports.memory import Weather
from folkmoot.node.wire.schema import MismatchError, align
from support.command import assert_refused, run
from support.network.moot_in_memory import Moot

DATA = load_breast_cancer(as_frame=True)
TABLE: pd.DataFrame = DATA.data
TRUTH = DATA.target_names[DATA.target]
LABELS = ("benign", "malignant")
ASKED = slice(400, 569)
NODES = 5


def saved(folder: Path, place: int, *, named: bool, **declared: str) -> str:
    """A real model in a file, fitted on rows of its own: on a data frame, or on an array with a schema."""
    own = slice(80 * place, 80 * place + 80)
    rows: Any = TABLE[own] if named else TABLE[own].to_numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, TRUTH[own])
    skops.io.dump(model, folder / f"{place}.skops")
    if not named:
        columns = "".join(
            f'[[column]]\nname = "{name}"\n{declared.get(name.replace(" ", "_"), "")}\n'
            for name in TABLE.columns
        )
        (folder / f"{place}.schema.toml").write_text(columns)
    return str(folder / f"{place}.skops")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two models that were fitted on data frames, three on arrays."""
    folder = tmp_path_factory.mktemp("models")
    return [saved(folder, place, named=place < 2) for place in range(NODES)]


def played(models: list[str], batch: Batch, weather: Weather | None = None) -> Moot:
    """A moot of these models that was asked about a batch by the first, on the memory transport."""
    voters = {place: Voter(load_model(model)) for place, model in enumerate(models)}
    moot = Moot(np.zeros((len(models), len(batch)), dtype=np.int8), seed=4, voters=voters, weather=weather)
    moot.put(labels=LABELS, k=4, batch=batch)
    moot.network.run(60.0)
    return moot


def put(models: list[str], batch: Batch) -> Account:
    """What it makes of the batch."""
    (storage, *_) = played(models, batch).storages
    return account(storage, find(storage, "last"))


def accuracy(told: Account) -> float:
    return float(np.mean(np.array(told.decisions, dtype=object) == TRUTH[ASKED]))


def as_csv(folder: Path, table: pd.DataFrame, *, header: bool = True) -> Batch:
    table.to_csv(folder / "x.csv", index=False, header=header)
    return read_inputs(folder / "x.csv")


def permuted(table: pd.DataFrame) -> pd.DataFrame:
    return table[list(np.random.default_rng(7).permutation(table.columns))]


def test_a_permuted_table_is_answered_as_the_table_itself(models: list[str], tmp_path: Path) -> None:
    asked = TABLE[ASKED]
    straight = put(models, as_csv(tmp_path, asked))
    assert accuracy(straight) > 0.9
    crossed = put(models, as_csv(tmp_path, permuted(asked)))
    assert crossed.decisions == straight.decisions
    assert crossed.abstained == {}
    assert crossed.columns == list(permuted(asked).columns)
    # The truth beside it: a model asked by position answers the permuted rows wrongly.
    blind = put(models, as_csv(tmp_path, permuted(asked), header=False))
    assert accuracy(blind) < 0.7
    assert blind.columns == []


def test_first_votes_are_those_of_the_model_on_the_right_columns(models: list[str], tmp_path: Path) -> None:
    batch = as_csv(tmp_path, permuted(TABLE[ASKED]))
    for path in models:
        found = Voter(load_model(path)).vote(batch.array, LABELS, schema=batch.schema)
        rows = TABLE[ASKED] if path.endswith(("0.skops", "1.skops")) else TABLE[ASKED].to_numpy()
        wanted = skops.io.load(path, trusted=[]).predict(rows)
        assert [LABELS[vote] for vote in found.votes] == wanted.tolist()
        assert (found.reason, found.unchecked) == ("", "")


def test_a_table_with_other_columns_is_refused_by_all_with_one_reason(
    models: list[str], tmp_path: Path
) -> None:
    table = TABLE[ASKED].rename(columns={"mean radius": "radius", "mean area": "mean Area"})
    told = put(models, as_csv(tmp_path, table))
    assert told.undecided == len(table)
    assert list(told.refused) == told.silent == ["p001", "p002", "p003", "p004"]
    assert list(told.abstained) == told.took_part == ["p000"]  # who asks cannot refuse its own motion
    (why,) = {*told.refused.values(), *told.abstained.values()}
    assert why == (
        "the inputs do not have the columns that its model takes: 2 are missing, and it does not know "
        "'radius', 'mean Area'"
    )
    found = Voter(load_model(models[0])).vote(table.to_numpy(), LABELS, schema=Batch(table).schema)
    assert "'mean radius', 'mean area' missing" in found.detail
    assert "mean radius" not in found.reason  # what a model takes is its owner's business


@pytest.mark.parametrize("drop", [0.0, 0.1])
def test_the_others_decide_without_one_whose_model_takes_other_columns(
    models: list[str], tmp_path: Path, drop: float
) -> None:
    """It signs its refusal and nothing else of that motion; also where frames are lost."""
    batch = as_csv(tmp_path, TABLE[ASKED])
    (tmp_path / "other").mkdir()
    renamed = TABLE[:80].rename(columns={"mean radius": "radius"})
    other = make_pipeline(StandardScaler(), LogisticRegression()).fit(renamed, TRUTH[:80])
    skops.io.dump(other, tmp_path / "other" / "4.skops")
    moot = played([*models[:4], str(tmp_path / "other" / "4.skops")], batch, Weather(0.002, drop))
    ((name, (session, _)),) = moot.over.items()
    told = account(moot.storages[0], find(moot.storages[0], "last"))
    why = (
        "the inputs do not have the columns that its model takes: 1 is missing, and it does not know "
        "'mean radius'"
    )
    assert (told.refused, told.abstained, told.silent) == ({"p004": why}, {}, ["p004"])
    assert told.evidence == {}
    assert 4 not in session.commits
    assert not moot.storages[4].knows(name)
    node = moot.nodes[4]
    assert node is not None
    assert node.counts["refused_columns"] > 0
    # The truth beside it: what the four models say at first, by themselves.
    votes = [Voter(load_model(path)).vote(batch.array, LABELS, schema=batch.schema).votes for path in models]
    ones = np.stack(votes[:4]).sum(axis=0)
    assert [tally.get(LABELS[1], 0) for tally in told.first_votes] == ones.tolist()
    unanimous = np.isin(ones, (0, 4))
    decided = np.array([-1 if label is None else LABELS.index(label) for label in told.decisions])
    assert (decided[unanimous] == ones[unanimous] // 4).all()


def test_a_refusal_by_columns_is_signed_by_who_refuses(models: list[str]) -> None:
    hall = Moot(np.zeros((3, 4), dtype=np.int8), seed=1, voters={2: Voter(load_model(models[0]))})
    heard: list[tuple[int, m.Refuse]] = []
    for place in (0, 1):
        node = hall.nodes[place]
        assert node is not None

        def received(peer: int, frame: bytes, place: int = place, receive: Any = node.received) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Refuse):
                heard.append((place, message))
            receive(peer, frame)

        node.received = received  # type: ignore[method-assign]
    hall.put(0, k=2, alpha=2)
    hall.network.run(40.0)
    name = next(iter(hall.over))
    assert {place for place, _ in heard} == {0, 1}  # the asker, and the other who spoke to it of the motion
    for _, refuse in heard:
        assert (refuse.motion, refuse.node) == (name, 2)
        said = statements.refusal(name, 2, refuse.reason)
        hall.roster[2].public_key.verify(refuse.signature, said)


def test_many_columns_of_an_asker_are_compared_in_no_time() -> None:
    own = tuple(Column(f"own {i}") for i in range(10_000))
    given = tuple(Column(f"given {i}") for i in range(10_000))
    began = time.process_time()
    with pytest.raises(MismatchError) as found:
        align(own, given, 10_000)
    assert time.process_time() - began < 1.0  # one by one it would be 3e8 comparisons
    assert found.value.why.startswith("the inputs do not have the columns that its model takes: 10000 are")


def test_inputs_without_names_are_taken_in_their_order_and_said_to_be_unchecked(models: list[str]) -> None:
    batch = Batch(TABLE[ASKED].to_numpy())
    found = Voter(load_model(models[0])).vote(batch.array, LABELS, schema=batch.schema)
    assert (found.votes >= 0).all()
    assert found.unchecked == "the columns of the inputs have no names"
    blind = load_model(models[0])
    blind.schema = ()
    found = Voter(blind).vote(batch.array, LABELS, schema=Batch(TABLE[ASKED]).schema)
    assert (found.votes >= 0).all()
    assert found.unchecked == "its model has no names for its columns: give it a schema"
    few = Voter(blind).vote(batch.array[:, :3], LABELS)
    assert few.reason == "the inputs do not have the columns that its model takes"


# ---- units and ranges ------------------------------------------------------------------------


@pytest.fixture
def strict(tmp_path: Path) -> Voter:
    limits = 'unit = "mm"\nlow = 5\nhigh = 25'
    return Voter(load_model(saved(tmp_path, 0, named=False, mean_radius=limits)))


def test_a_row_out_of_range_costs_its_own_vote(strict: Voter) -> None:
    table = permuted(TABLE[ASKED])
    table.iloc[[3, 9], table.columns.get_loc("mean radius")] = [140.0, 2.0]
    table.iloc[5, table.columns.get_loc("mean radius")] = 25.0  # a bound is within
    batch = Batch(table)
    found = strict.vote(batch.array, LABELS, schema=batch.schema)
    assert TABLE[ASKED]["mean radius"].drop(index=TABLE.index[ASKED][[3, 9]]).between(5, 25).mean() > 0.95
    outside = ~table["mean radius"].between(5, 25).to_numpy()
    assert {3, 9} <= set(np.flatnonzero(outside))
    assert ((found.votes == -1) == outside).all()
    assert (
        found.reason
        == f"{outside.sum()} inputs have values outside a declared range, such as that of 'mean radius'"
    )
    assert "140.0" in found.detail
    assert "140" not in found.reason
    nameless = strict.vote(table[TABLE.columns].to_numpy(), LABELS)
    assert (nameless.votes == found.votes).all()


def test_missing_values_are_not_out_of_range_and_infinite_ones_are(strict: Voter) -> None:
    table = TABLE[ASKED].iloc[:4].copy()
    table.iloc[1, 0], table.iloc[2, 0] = np.nan, np.inf
    found = strict.vote(table.to_numpy(), LABELS)
    assert found.votes[[1, 2]].tolist() == [-1, -1]
    assert found.reason == (
        "1 input has a value outside a declared range; its model cannot answer the 1 inputs "
        "with missing or infinite values"
    )


def test_another_unit_is_refused_and_none_is_let_pass(strict: Voter) -> None:
    table = TABLE[ASKED]
    for unit, takes in (("cm", False), ("mm", True), ("", True)):
        schema = tuple(Column(name, unit if name == "mean radius" else "") for name in table.columns)
        found = strict.vote(table.to_numpy(), LABELS, schema=schema)
        assert (found.votes >= 0).any() == takes
        if not takes:
            assert found.reason == "the inputs have 'mean radius' in 'cm', and its model takes another unit"
            assert "'mm'" in found.detail


def test_a_range_of_the_motion_holds_as_well(models: list[str]) -> None:
    table = TABLE[ASKED]
    schema = tuple(Column(name, high=15.0 if name == "mean radius" else None) for name in table.columns)
    found = Voter(load_model(models[0])).vote(table.to_numpy(), LABELS, schema=schema)
    assert ((found.votes == -1) == (table["mean radius"] > 15).to_numpy()).all()


# ---- what declares columns -------------------------------------------------------------------


def test_a_schema_of_other_columns_than_the_model_was_fitted_on_is_refused_at_the_start(
    tmp_path: Path,
) -> None:
    path = saved(tmp_path, 0, named=True)
    declared = tmp_path / "mine.toml"

    def write(names: list[str]) -> None:
        declared.write_text("".join(f'[[column]]\nname = "{name}"\n' for name in names))

    write(list(reversed(TABLE.columns)))  # by name: the order of the model holds
    assert [each.name for each in load_model(path, schema=declared).schema] == list(TABLE.columns)
    write([*TABLE.columns[:-1], "odd"])
    with pytest.raises(
        ValueError, match=r"mine\.toml does not have the columns of .*0\.skops: 'odd' missing and"
    ):
        load_model(path, schema=declared)
    write(list(TABLE.columns[:-1]))
    with pytest.raises(ValueError, match="must name all columns: got 29 names for 30 columns"):
        load_model(path, schema=declared)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", r"must hold \[\[column\]\] tables"),
        ("column = 3", r"must hold \[\[column\]\] tables"),
        ("[[columns]]\nname = 'a'", r"must hold \[\[column\]\] tables"),
        ("[[column]]\nunit = 'a'", "column 1: name is missing"),
        (
            "[[column]]\nname = 'a'\n[[column]]\nname = 'b'\nmin = 3",
            "column 2: 'min' must be one of name, unit",
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
    model = ("--model", "json:dumps", "--schema", tmp_path / "none.toml")
    Roster([create(tmp_path / "north", name="north").member()]).write(tmp_path / "roster.toml")
    node = (tmp_path / "north", "--roster", tmp_path / "roster.toml", *model)
    assert_refused(f"{tmp_path / 'none.toml'}: No such file", "node", "run", *node)
    told = run("node", "check", *node)
    assert (told.returncode, "none.toml" in told.stdout) == (2, True)


def test_a_permuted_holdout_says_the_same_of_the_model(models: list[str], tmp_path: Path) -> None:
    def anchor(arrange: Callable[[pd.DataFrame], pd.DataFrame]) -> Any:
        arrange(TABLE[ASKED]).assign(label=TRUTH[ASKED]).to_csv(tmp_path / "h.csv", index=False)
        found = read_holdout(tmp_path / "h.csv", load_model(models[0])).anchor(LABELS)
        assert found is not None
        return found

    assert anchor(permuted) == anchor(lambda table: table)
    with pytest.raises(
        ValueError, match=r"h\.csv must have the columns of the model, and the label: .*'area' not"
    ):
        anchor(lambda table: table.rename(columns={"mean area": "area"}))
