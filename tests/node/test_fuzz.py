"""Damaged frames and files: each is read or refused in one line, and costs no more than a whole one may."""

from __future__ import annotations

import ast
import random
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import pytest

import folkmoot
from folkmoot.node.session import frames
from folkmoot.node.wire import messages as m
from folkmoot.node.wire.messages import OfRosters
from support.node.moot import Moot, model
from support.node.mutated import mutated
from support.node.readers import Reader, readers

QUICK: Final = 200  # damaged ones for each reader in make test
WEIGHED: Final = 2000  # of which it is measured how much memory they take: that makes all slower
THROWN: Final = 6000  # damaged frames, at a node
MOST_BYTES: Final = 2 << 20  # that are allocated while one is read, all samples being below 10 kB

SOURCE: Final = Path(folkmoot.__file__).parent
PLACES: Final = ("node/**/*.py", "files/*.py", "sandbox/*.py")
# Functions that read are those which call one of these, or are called so and take bytes, text or a file.
CALLS: Final = {
    "msgspec.msgpack.decode", "msgspec.json.decode", "json.loads", "tomllib.loads",
    "np.frombuffer", "np.unpackbits", "np.load", "np.memmap", "np.lib.format.read_array", "csv.reader",
    "zipfile.ZipFile", "base64.b64decode", "x509.load_der_x509_certificate",
}  # fmt: skip
NAMES: Final = ("read", "parse", "unpack", "decoded", "verify", "check_")
TAKEN: Final = ("bytes", "str", "Path", "Path | str")
# What reads nothing that others wrote: the database, the folder, the arguments and the parent of a process.
OWN: Final = {
    "node.membership.identity:create", "node.membership.identity:_read_key",
    "node.membership.identity:_read_certificate", "node.service.node_file:read_node_file",
    "node.web.guard:read_token", "node.session.frames:_STORED", "node.session.frames:read_stored",
    "node.storage.storage:_EVIDENCE", "node.storage.storage:Storage._amend",
    "node.storage.storage:Storage.motion", "node.storage.storage:Storage.since",
    "node.service.own_motions:OwnMotions.kept", "node.service.own_motions:OwnMotions.take_up",
    "node.rosters.history:_EVIDENCE", "node.rosters.history:_PRECOMMITS",
    "sandbox.worker:main", "sandbox.worker:_serve", "sandbox.process:Sandboxed._start",
}  # fmt: skip


def found() -> Iterator[tuple[str, str]]:
    """All that reads, by module: decoders and functions."""
    for place in PLACES:
        for path in sorted(SOURCE.glob(place)):
            module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            tree = ast.parse(path.read_text(encoding="utf-8"))
            yield from ((module, name) for name in _decoders(tree))
            yield from ((module, name) for name in _functions(tree, ""))


def _decoders(tree: ast.Module) -> Iterator[str]:
    for each in tree.body:
        if isinstance(each, ast.AnnAssign | ast.Assign) and "Decoder(" in ast.unparse(each):
            yield ast.unparse(each.target if isinstance(each, ast.AnnAssign) else each.targets[0])


def _functions(node: ast.AST, prefix: str) -> Iterator[str]:
    for each in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{each.name}."
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and _reads(each):
            yield name[:-1]
        yield from _functions(each, name)


def _reads(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if "abstractmethod" in map(ast.unparse, function.decorator_list):
        return False
    calls = {ast.unparse(each.func) for each in _own(function) if isinstance(each, ast.Call)}
    first = next((each for each in function.args.args if each.arg not in ("self", "cls")), None)
    takes = ast.unparse(first.annotation) if first is not None and first.annotation is not None else ""
    return bool(calls & CALLS) or (function.name.lstrip("_").startswith(NAMES) and takes in TAKEN)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, but for the functions in it."""
    for each in ast.iter_child_nodes(node):
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each
            yield from _own(each)


class Called:
    """Which functions and decoders are called meanwhile: a sample counts for all that it goes through."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.decoders: set[int] = set()

    def __enter__(self) -> Called:
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: Any, event: str, called: Any) -> None:
        if event == "call":
            self.functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))
        elif event == "c_call":
            self.decoders.add(id(getattr(called, "__self__", None)))

    def has(self, module: str, name: str) -> bool:
        """Whether it is among them."""
        loaded = sys.modules.get(f"folkmoot.{module}")
        if loaded is None:
            return False
        if hasattr(vars(loaded).get(name), "decode"):
            return id(vars(loaded)[name]) in self.decoders
        return (str(loaded.__file__), name) in self.functions


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> list[Reader]:
    return readers(tmp_path_factory.mktemp("damaged"))


def test_every_decoder_and_function_that_reads_has_a_sample_that_it_takes(table: list[Reader]) -> None:
    """By what the code has, not by a list: whatever is new fails here until it has one."""
    samples = [(reader, sample) for reader in table for sample in reader.pool]
    for reader, sample in samples:  # what is loaded by the first one need not be traced
        read = reader.read(sample)
        assert reader.again is None or reader.again(read) == sample, reader.name
    with Called() as called:
        for reader, sample in samples:
            reader.read(sample)
    lacking = {f"{module}:{name}" for module, name in found() if not called.has(module, name)}
    assert lacking == {*OWN}


def test_every_kind_that_a_decoder_tells_apart_is_among_the_samples(table: list[Reader]) -> None:
    kinds = {
        "session": frames.Frame,
        "messages about motions": m.OfMotions,
        "messages about rosters": OfRosters,
    }
    for reader in table:
        if reader.name in kinds:
            read = {type(reader.read(sample)) for sample in reader.pool}
            assert read == {*get_args(kinds[reader.name])}, reader.name


def test_damaged_ones_are_read_or_refused_in_one_line(table: list[Reader]) -> None:
    for reader in table:
        shown(reader, QUICK)


@pytest.mark.slow
def test_a_hundred_thousand_damaged_ones_of_each(table: list[Reader]) -> None:
    for reader in table:
        shown(reader, reader.often)


def shown(reader: Reader, many: int) -> None:
    """Show a reader so many damaged ones."""
    rng = random.Random(f"damaged {reader.name}")
    for sample in reader.pool:  # what is loaded by the first one is not counted
        reader.read(sample)
    tracemalloc.start()
    try:
        for number in range(many):
            if number == WEIGHED:
                tracemalloc.stop()
            data = mutated(rng, rng.choice(reader.pool), reader.pool)
            what = f"{reader.name}, damaged one {number}: {data[:200]!r}"
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            try:
                _read(reader, data)
            except Exception as error:
                raise AssertionError(what) from error
            _, most = tracemalloc.get_traced_memory()
            assert most - before < MOST_BYTES, what
    finally:
        tracemalloc.stop()


def _read(reader: Reader, data: bytes) -> None:
    try:
        read = reader.read(data)
    except reader.refuses as error:
        said = str(error)
    else:
        same = reader.again is None or not data or reader.again(read) == data  # no bytes are no votes
        assert same, "there is one way to write it"
        return
    assert said, "refused without a word"
    assert "\n" not in said, "refused in more than a line"


def test_a_node_gets_damaged_frames_in_motions_and_decides_them() -> None:
    """Frames are real ones of the motion under way, so that many get past the decoder."""
    rng, inputs = random.Random(21), np.arange(12.0).reshape(6, 2)
    moot = Moot([model(lambda rows: ["yes"] * len(rows), ["no", "yes"]) for _ in range(5)])
    victim, liar = moot.nodes[1], moot.peers[4]
    assert victim is not None
    carry, pool, thrown = moot.network.carry, list[bytes](), 0

    def carried(sender: bytes, peer: bytes, frame: bytes) -> None:
        nonlocal thrown
        pool.append(frame)
        carry(sender, peer, frame)
        for _ in range(min(THROWN - thrown, 30)):
            thrown += 1
            data = mutated(rng, rng.choice(pool[-300:]), pool)
            moot.network.at(
                moot.network.time + rng.random() * 0.01,
                lambda data=data: victim.received(liar, data),  # type: ignore[misc]
            )

    moot.network.carry = carried  # type: ignore[method-assign]
    for _ in range(3):
        account, *_ = moot.play(moot.put(0, inputs, labels=["no", "yes"]))
        assert account.decisions == ["yes"] * len(inputs)
        assert set(account.evidence) <= {"node004"}, "nobody is accused of what node004 made up"
    assert thrown == THROWN
    assert sum(many for why, many in victim.counts().items() if why.startswith("refused_")) > THROWN / 3
