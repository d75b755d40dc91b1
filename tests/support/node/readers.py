"""Everything that reads what somebody else wrote, with samples that it takes, to be damaged."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from folkmoot.aggregation.texts import Choice
from folkmoot.files.skops_files import read_skops, write_skops
from folkmoot.files.weight_files import read_weight_file
from folkmoot.node import review, verifying
from folkmoot.node.ballots import Choices, Labels, Numbers, Probabilities, Texts, levels_of
from folkmoot.node.client import Client, refusal
from folkmoot.node.membership.certificates import check_certificate
from folkmoot.node.membership.exported import read_exported
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.rosters.successor import Successor
from folkmoot.node.service.admission import _START
from folkmoot.node.service.holdout import read_holdout
from folkmoot.node.service.input_files import inputs_in_text, read_inputs, read_schema
from folkmoot.node.service.inputs import read_chunk
from folkmoot.node.service.interface import RosterChange
from folkmoot.node.service.node_file import read_model_file
from folkmoot.node.session import frames, sets
from folkmoot.node.session.header import Header, read_header
from folkmoot.node.session.terms import Terms
from folkmoot.node.web import completions, requests
from folkmoot.node.web.requests import RefusalError
from folkmoot.node.web.shapes import TermsSaid
from folkmoot.node.wire import messages as m
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.schema import Column
from folkmoot.node.wire.things import unpacked
from folkmoot.sandbox import messages as of_sandbox
from folkmoot.sandbox.loading import _Facts
from folkmoot.sandbox.onnx_files import check_self_contained
from support.node.filed import archive_of, file
from support.node.moot import model
from support.node.signed import SignedWorld, Twice, decided, keys_and_roster, member, play
from support.node.world import World
from support.onnx_files import write_onnx

INPUTS = 30
ROSTER = keys_and_roster(4)[1]


@dataclass(frozen=True)
class Reader:
    """A reader: whatever it is given, it reads it or refuses it in one line.

    ``again`` writes what was read: there is one encoding of it. ``often`` is how many damaged ones the slow
    tests show it: fewer to what takes long.
    """

    name: str
    read: Callable[[bytes], Any]
    pool: list[bytes]  # what it takes
    again: Callable[[Any], bytes] | None = None
    refuses: tuple[type[Exception], ...] = (ValueError,)
    often: int = 100_000


def readers(folder: Path) -> list[Reader]:
    """All of them; files are written into the folder."""
    world = play(Terms(labels=("a", "b"), seconds=4.0), [[0, 1], [0, 1], [0, 0], [1, 1]], kinds={2: Twice})
    return [
        *_frames(world), *_votes(), *_signed(world, folder), *_tables(folder), *_models(folder),
        *_of_sandboxes(), *_said_to_a_page(folder), *_said_by_a_page(),
    ]  # fmt: skip


def _frames(world: SignedWorld) -> Iterator[Reader]:
    """What members send."""
    name, signature = world.motion, bytes(range(64))
    stored = [frames.read_stored(record) for node in world.nodes for record in node.journal]
    talk: list[frames.Frame] = [
        frames.Have(name, 0, 1, 3, bytes(16)),
        frames.Ask(name, 7),
        frames.Answer(name, 7, b"votes"),
    ]
    said = [*(each for each in stored if isinstance(each, frames.Told)), *talk]
    yield Reader("session", frames.read, [frames.encoded(each) for each in said], frames.encoded)
    for agreement in decided(world).polls[0].agreements:
        pool = list(agreement.bodies.values())
        source: Any = agreement.source
        yield Reader(f"sets of stage {agreement.stage}", _or_refused(source.read), pool, sets.encoded)
    hello = m.Hello(name, 1.5e9, (bytes(32), name))
    yield Reader("greetings", m.read_hello, [m.encode(hello)])
    about = (
        m.Announce(bytes(200), signature, 3.0), m.Refuse(name, 3, "why ü", signature), m.Fetch(name, 3),
        m.Chunk(name, 3, bytes(100)), m.Knows(("a", "ü")), m.Knows(None),
    )  # fmt: skip
    yield Reader("messages about motions", m.read_message, [m.encode(each) for each in about])
    consents = ((0, signature), (3, bytes(64)))
    about_rosters = (
        m.Rosters(name, ((bytes(32), b"\x05"),)),
        m.Proposed(name, bytes(32), b"content", consents),
        m.Agreeing(name, frames.encoded(talk[0])),
        m.Followed(name, b"content", consents, 2, consents),
    )
    yield Reader("messages about rosters", m.read_of_rosters, [m.encode(each) for each in about_rosters])
    contents = [each.content for each in _successors()]
    yield Reader(
        "contents of rosters", partial(Successor.read, old=ROSTER), contents, lambda found: found.content,
        often=20_000,
    )  # fmt: skip
    headers = [each.encoded() for each in _headers()]
    yield Reader("headers", partial(read_header, n=4), headers, lambda found: found.encoded())
    yield Reader(
        "beginnings of headers", _START.decode, headers, refuses=(msgspec.DecodeError, RecursionError)
    )


def _or_refused(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """None is a refusal, too."""

    def reads(data: bytes) -> Any:
        found = read(data)
        if found is None:
            raise ValueError("refused")
        return found

    return reads


def _headers() -> list[Header]:
    """Of motions about labels, numbers and probabilities, with and without validation rows."""
    schema = (Column("age", "years", 0, 120), Column("height"))
    plain = World(1, 4, Terms(labels=("a", "ü"), rule="weighted", weights=(1, 2, 3, 4)), inputs=INPUTS).header
    return [
        msgspec.structs.replace(plain, schema=schema, chunks=(bytes(32),), chunk_rows=INPUTS),
        World(1, 4, Terms(labels=("a", "b"), protocol="snowball", k=3), inputs=INPUTS).header,
        World(1, 4, Terms(answers="numbers", step=0.5), inputs=INPUTS).header,
        World(1, 4, Terms(answers="probabilities", labels=("a", "b", "c")), inputs=INPUTS).header,
        *(each.header for each in _with_rows()),
    ]


def _with_rows() -> tuple[World, World]:
    """A motion that invites validation rows, and one that has some."""
    terms = Terms(labels=("a", "b"), believe="own", rows=5)
    return World(1, 4, terms, inputs=5, invites=True), World(1, 4, terms, inputs=INPUTS, rows=8)


def _successors() -> list[Successor]:
    """A member joins, one leaves, one has another key."""
    keys, everybody = keys_and_roster(7)
    known = {each.name for each in ROSTER}
    joins = next(each for each in everybody if each.name not in known)
    renewed = [member(ROSTER[0].name, keys[1]), *list(ROSTER)[1:]]
    return [
        Successor.after(ROSTER, [*ROSTER, joins]), Successor.after(ROSTER, list(ROSTER)[1:]),
        Successor.after(ROSTER, renewed, [ROSTER[0].name]),
    ]  # fmt: skip


def _votes() -> Iterator[Reader]:
    """Ballots of every form, rows, and sealed rows."""
    draw = np.random.default_rng(23)
    for classes in (2, 3, 127):
        labels = Labels(INPUTS, [""] * classes)
        packed = labels.pack(draw.integers(-1, classes, INPUTS))
        yield Reader(f"votes for {classes} labels", labels.unpack, [packed], labels.pack)
    texts = np.array(["Paris", None, "ü" * 40, "x\ny", "1,000", " a "], dtype=object)
    said = Texts(len(texts))
    yield Reader("ballots of texts", said.unpack, [said.pack(texts), said.pack(said.nothing())], said.pack)
    chosen = [Choice(1, (0, 1, 0)), None, Choice(None, ()), Choice(0, (0,))]
    choices = Choices(4)
    yield Reader("choices among texts", choices.unpack, [choices.pack(chosen)], choices.pack)
    numbers = Numbers(INPUTS)
    some = numbers.pack(draw.integers(-99, 99, INPUTS))
    yield Reader("votes for numbers", numbers.unpack, [some], numbers.pack)
    chances = Probabilities(INPUTS, "abc")
    levels = chances.pack(levels_of(draw.dirichlet(np.ones(3), INPUTS)))
    yield Reader("votes for probabilities", chances.unpack, [levels], chances.pack)
    invites, asks = _with_rows()
    shown = {1: draw.normal(size=(5, 2)), 2: draw.normal(size=(3, 2))}
    rows = [review.pack_rows(invites.header, each) for each in shown.values()]
    yield Reader("shown rows", partial(review.unpack_rows, invites.header), rows,
                 partial(review.pack_rows, invites.header))  # fmt: skip
    secret, name = bytes(range(32)), invites.motion
    sealed = [review.sealed(each, review.seal_of(secret), name, 2, bytes(range(32, 64))) for each in rows]
    yield Reader("sealed rows", lambda data: review.unsealed(data, secret, name, 2), sealed)
    _, order = review.mixed(draw.normal(size=(INPUTS - 8, 2)), shown, 4, bytes(range(32)))
    votes, header = draw.integers(0, 2, INPUTS), asks.header

    def first(place: int, data: bytes) -> review.FirstVotes:
        found = review.read_first(data)
        found.check(header, 4, place)
        return found

    for place, own, secretly in ((1, {3: 0, 8: 1}, b""), (header.asker, {}, order)):
        ballot = review.first_ballot(header, votes, own, secretly)
        yield Reader(f"ballots of member {place}", partial(first, place), [ballot], review._ENCODER.encode)


def _in_file(path: Path, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    def written(data: bytes) -> Any:
        path.write_bytes(data)
        return read(path)

    return written


def _signed(world: SignedWorld, folder: Path) -> Iterator[Reader]:
    """Files that anybody may check: whatever holds was written by a node."""
    archive = archive_of(4)
    early = asyncio.run(archive.audit())
    name = file(archive.storage, world)
    files = {
        "certificate": asyncio.run(archive.certificate(name)),
        "evidence": archive.evidence("last", ROSTER[2].name),
        "audit": asyncio.run(archive.audit()),
    }
    _, proposed = archive.propose(RosterChange(remove=[ROSTER[3].name]))
    archive.storage.close()
    for kind, data in files.items():
        read = partial(verifying.verify, roster=ROSTER, earlier=early if kind == "audit" else None)
        yield Reader(f"files of {kind}", read, [data], _as_it_was(data), often=20_000)
    yield Reader("files of successors", partial(verifying.verify, roster=ROSTER), [proposed], often=5000)
    path = folder / "roster.toml"
    ROSTER.write(path)
    yield Reader("rosters", _in_file(path, Roster.read), [path.read_bytes(), proposed], often=5000)
    lines = [each.line().encode() for each in ROSTER]
    yield Reader("lines of members", lambda data: Member.parse(data.decode(errors="surrogateescape")), lines,
                 often=20_000)  # fmt: skip
    one = ROSTER[0]
    yield Reader("certificates of members", partial(check_certificate, name=one.name), [one.certificate])


def _as_it_was(data: bytes) -> Callable[[Any], bytes]:
    """Not a byte of it can be changed."""
    return lambda _: data


def _tables(folder: Path) -> Iterator[Reader]:
    """Inputs, rows that were held out, schemas, weights, and what an estimator exports."""
    table = b"age,height\n1.5,2\n3,-4e5\n,6\n"
    yield Reader("inputs in a body", partial(inputs_in_text, name="the body"), [table, b"1;2,5\n3;4\n"])
    tables = [table, gzip.compress(table, mtime=0)]
    yield Reader("tables", _in_file(folder / "inputs.csv", read_inputs), tables, often=20_000)
    array = io.BytesIO()
    np.save(array, np.arange(6.0).reshape(3, 2))
    yield Reader("arrays", _in_file(folder / "inputs.npy", read_inputs), [array.getvalue()], often=20_000)
    lines = [b'"a"\n"\\u00e4 b"\n', b'{"a": 1, "b": "x"}\n{"b": null, "c": true}\n', b"[1, 2.5]\n[null, 3]\n"]
    yield Reader("JSON lines", _in_file(folder / "inputs.jsonl", read_inputs), lines, often=20_000)
    texts = ["one\n\ntwo ä\n".encode()]
    yield Reader("lines of text", _in_file(folder / "inputs.txt", read_inputs), texts, often=20_000)
    columns = (Column("age"), Column("note", kind="text"), Column("ill", kind="boolean"))
    chunk = b'[61,"x",true]\n[null,"\\u00e4",null]\n[2.5,null,false]\n'
    yield Reader("records", partial(unpacked, kind="records", schema=columns), [chunk])
    yield Reader("texts", partial(unpacked, kind="texts", schema=()), [b'"a"\n""\n"\\u00e4"\n'])
    own = model(lambda rows: ["a"] * len(rows), ("a", "b"))
    pools: list[bytes] = []
    for arrays in ({"X": np.ones((2, 2)), "y": ["a", "b"]}, {"y": ["a", "b"], "answers": ["a", "a"]}):
        packed = io.BytesIO()
        np.savez(packed, **arrays)
        pools.append(packed.getvalue())
    labelled = [b"age,label\n1,a\n2,b\n", b"label,answer\na,b\n"]
    for name, pool in (("holdout.npz", pools), ("holdout.csv", labelled)):
        yield Reader(name, _in_file(folder / name, partial(read_holdout, model=own)), pool, often=20_000)
    schema = b'[[column]]\nname = "age"\nunit = "years"\nlow = 0\nhigh = 120.5\n\n[[column]]\nname = "h"\n'
    yield Reader("schemas", _in_file(folder / "a.schema.toml", read_schema), [schema], often=20_000)
    service = (
        b'[model]\nkind = "openai"\nbase_url = "http://127.0.0.1:8000/v1"\nmodel = "m"\nlabels = ["a", "b"]\n'
    )
    onnx = b'[model]\nfile = "a.onnx"\ncolumns = {x = "y"}\n'
    yield Reader(
        "models in files", _in_file(folder / "a.model.toml", read_model_file), [service, onnx], often=20_000
    )
    weights = b'{"weights": {"a8b8cd72": 7, "b": 0.25}}'
    yield Reader("weights", _in_file(folder / "weights.json", read_weight_file), [weights], often=20_000)
    for name in ("model.skops", "model.onnx", "model.schema.toml"):
        (folder / name).touch()
    exported = [
        b'model = "model.skops"\nlabels = ["no", "yes"]\n',
        b'schema = "model.schema.toml"\nholdout = "holdout.npz"\nlabels = [1, 2.5, true]\n',
    ]
    read = _in_file(folder / "exported.toml", lambda path: read_exported(path.parent))
    yield Reader("exports", read, exported, often=20_000)
    header = _headers()[0]
    data = np.arange(INPUTS * 2.0).tobytes()
    header = msgspec.structs.replace(header, chunks=(hashlib.sha256(data).digest(),))
    yield Reader("chunks", partial(read_chunk, header, 0), [data], lambda found: found.tobytes())


def _models(folder: Path) -> Iterator[Reader]:
    """Models before they are loaded."""
    path = folder / "largest.onnx"
    write_onnx(path, words=["a", "b", "c"])
    yield Reader("ONNX", check_self_contained, [path.read_bytes()])
    path, pool = folder / "fitted.skops", []
    fitted = LogisticRegression().fit([[0.0], [1.0]], [0, 1]).sparsify()
    for estimator in (fitted, DecisionTreeClassifier(random_state=1).fit([[0.0], [1.0]], [0, 1])):
        write_skops(path, estimator)
        pool.append(path.read_bytes())
    yield Reader("skops", _in_file(path, lambda path: read_skops(str(path))), pool, often=2000)


def _of_sandboxes() -> Iterator[Reader]:
    """What the worker answers that holds the model of somebody else."""
    encode = msgspec.msgpack.Encoder().encode
    arrays = [
        of_sandbox.packed(np.arange(6.0).reshape(3, 2)),
        of_sandbox.packed(np.array(["a", "ü"], object)),
    ]
    failed = of_sandbox.failed(ValueError("why"))

    def answer(data: bytes) -> Any:
        found = of_sandbox.decoded(data, of_sandbox.AnyArray | of_sandbox.Failed)  # type: ignore[arg-type]
        return str(found) if isinstance(found, of_sandbox.Failed) else found.array

    yield Reader("answers of workers", answer, [encode(each) for each in (*arrays, failed)])
    facts = _Facts(arrays[1], 3, ["x"], chances=True)

    def told(data: bytes) -> Any:
        found = of_sandbox.decoded(data, of_sandbox.Loaded | of_sandbox.Failed)  # type: ignore[arg-type]
        return (
            found if isinstance(found, of_sandbox.Failed) else of_sandbox.decoded(bytes(found.facts), _Facts)
        )

    yield Reader(
        "facts of workers", told, [encode(of_sandbox.Loaded(msgspec.Raw(encode(facts)), ["warned"]))]
    )


def _said_to_a_page(folder: Path) -> Iterator[Reader]:
    """What a program sends to a node."""
    question = {
        "inputs": [[1.5, None], [2, 3]],
        "columns": ["a", {"name": "b", "low": 0}],
        "labels": ["x", "y"],
    }
    refuses = (ValueError, RefusalError)
    yield Reader("questions", requests._in_json, [json.dumps(question | {"seconds": "90s"}).encode()],
                 refuses=refuses)  # fmt: skip

    def chat(data: bytes) -> Batch:
        said = requests.decoded(data, completions.ChatRequest)
        return Batch([completions.question_of(said.messages)], "messages")

    talk = [
        [{"role": "user", "content": '{"age": 61, "ill": null}'}],
        [{"role": "user", "content": "Why?"}] * 2,
    ]
    yield Reader("conversations", chat, [json.dumps({"messages": each}).encode() for each in talk],
                 refuses=refuses)  # fmt: skip
    head = {"dtype": "<f8", "width": 2, "columns": ["a", "b"], "rows": 3.0}

    def raw(data: bytes) -> Batch:
        with (folder / "body").open("wb+") as body:
            body.write(data)
            return requests._mapped(body)[0]

    yield Reader("questions in bytes", raw, [json.dumps(head).encode() + b"\n" + bytes(32)], refuses=refuses,
                 often=20_000)  # fmt: skip

    def address(data: bytes) -> Any:
        pairs = (each.partition("=") for each in data.decode(errors="surrogateescape").split("&"))
        said = requests.in_address({name: value for name, _, value in pairs}, TermsSaid)
        return requests._terms_in(said)

    yield Reader("addresses", address, [b"labels=a,b&seconds=90s&coin=true&rows=0"], refuses=refuses)


def _said_by_a_page() -> Iterator[Reader]:
    """What a node answers a program."""
    problem = {
        "status": 422, "title": "Unprocessable", "detail": "k must be 1: got 3",
        "message": "{k} must be 1: got {k!r}", "given": {"k": 3},
    }  # fmt: skip
    given = b""

    class Heard(Client):
        """What a connection would say."""

        def _bytes(self, *_: Any, **__: Any) -> bytes:
            return given

        def _connection(self, more: float = 0.0) -> Any:  # noqa: ARG002
            return SimpleNamespace(close=lambda: None)

        def _response(self, *_: Any) -> Any:
            return io.BytesIO(given)

    client = Heard("http://127.0.0.1:1", "token")

    def heard(data: bytes, ask: Callable[[], Any]) -> Any:
        nonlocal given
        given = data
        return ask()

    yield Reader(
        "answers", lambda data: heard(data, client.roster), [b'{"epoch": 0, "members": [{"name": "a"}]}']
    )
    event = b'event: over\ndata: {"undecided": 0}\nid: 1-7\n\nevent: ping\ndata: {}\n\n'
    yield Reader("events", lambda data: heard(data, lambda: list(client.events())), [event])
    yield Reader(
        "refusals",
        lambda data: refusal(422, "Unprocessable", data),
        [json.dumps(problem).encode(), b'{"detail": "no"}'],
    )
