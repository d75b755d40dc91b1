"""What is in files: rosters, certificates, audit logs, kept rounds, exports and ONNX models."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError, Message

from folkmoot.network.session.series import Rounds, Series, read_series
from folkmoot.network.storage.account import account_of
from folkmoot.network.storage.audit import check_export, export_log
from folkmoot.network.storage.certificate import read_certificate, write_certificate
from folkmoot.network.wire.succession import Succession
from folkmoot.network.wire.succession_file import read_succession, write_succession
from folkmoot.node.membership.exported import exported_lines, read_exported
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.sandbox.onnx_files import check_self_contained
from support.network.decoders.reader import Reader
from support.network.epochs import member, roster_of, signatures
from support.network.moot_in_memory import Moot
from support.network.number_moot import NumberMoot
from support.onnx_files import write_onnx

NAMES = ("anna", "bert", "cleo", "dora", "emil")


def rosters(folder: Path) -> Iterator[Reader]:
    """Rosters: in a frame, in files, and a member's line."""
    old = roster_of(NAMES)
    successions = [
        Succession.after(old, [*old, member("fred")]),
        Succession.after(old, [*old][1:]),
        Succession.after(old, [member("anna", 1), *old][:1] + [*old][1:], ["anna"]),
    ]
    contents = [each.content for each in successions]
    plain, signed = folder / "roster.toml", folder / "next.toml"
    two = roster_of(NAMES[:2])  # to read a certificate takes long
    two.write(plain)
    texts = []
    for members in ([*two, member("fred")], [member("anna", 1), two[1]]):
        follower = Succession.after(two, members, ["anna"] if len(members) == 2 else [])
        write_succession(signed, follower, two, signatures(follower, two, ["bert"]))
        texts.append(signed.read_bytes())

    def in_file(path: Path, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
        def written(data: bytes) -> Any:
            path.write_bytes(data)
            return read(path)

        return written

    def follows(data: bytes, found: Succession) -> None:
        assert found.content == data
        assert found.roster.previous == old.digest

    def a_roster(_data: bytes, found: Roster) -> None:
        assert len(found.digest) == 64

    def with_signatures(_data: bytes, found: tuple[Succession, dict[int, bytes]]) -> None:
        succession, told = found
        assert succession.standing(two, told).signed == tuple(sorted(told))

    def a_member(_data: bytes, found: Member) -> None:
        assert Member.parse(found.line()) == found

    line = ("membership.roster:Member.parse", "membership.fields:parse_toml")
    yield Reader("contents of rosters", lambda data: Succession.read(data, old), contents, follows,
                 ("wire.succession:_DECODER", "wire.succession:Succession.read"), quick=600)  # fmt: skip
    yield Reader("roster files", in_file(plain, Roster.read), [plain.read_bytes(), *texts], a_roster,
                 ("membership.roster:Roster.read", "membership.fields:read_toml"), quick=150)  # fmt: skip
    yield Reader("succession files", in_file(signed, lambda path: read_succession(path, two)), texts,
                 with_signatures, ("wire.succession_file:read_succession",), quick=150)  # fmt: skip
    yield Reader("lines of members", lambda data: Member.parse(data.decode(errors="surrogateescape")),
                 [each.line().encode() for each in old], a_member, line, quick=300)  # fmt: skip


def brought(folder: Path) -> Iterator[Reader]:
    """What somebody else brings for a node: an export, and a model of ONNX."""
    for name in ("model.skops", "model.onnx", "model.schema.toml", "holdout.npz"):
        (folder / name).touch()

    def taken(data: bytes) -> dict[str, Any]:
        (folder / "exported.toml").write_bytes(data)
        return read_exported(folder)

    def harmless(_data: bytes, found: dict[str, Any]) -> None:
        assert found.keys() <= {"model", "schema", "holdout", "labels"}
        assert all((folder / found[key]).parent == folder for key in found.keys() - {"labels"})
        assert tomllib.loads("\n".join(exported_lines(found))) == found

    texts = [
        b'model = "model.skops"\nlabels = ["no", "yes"]\n',
        b'# of an estimator\nmodel = "model.onnx"\nschema = "model.schema.toml"\nlabels = [1, 2.5, true]\n',
        b'holdout = "holdout.npz"\nlabels = ["\xc3\xb6", "a\\nb = 1"]\n',
    ]
    yield Reader("exports", taken, texts, harmless, ("membership.exported:read_exported",))

    def self_contained(data: bytes, _found: None) -> None:
        """Read anew by protobuf: if it can, it finds no tensor that is elsewhere either."""
        try:
            waiting: list[Message] = [onnx.ModelProto.FromString(data)]
        except DecodeError:
            return
        while waiting:
            part = waiting.pop()
            assert not isinstance(part, onnx.TensorProto) or not (part.data_location or part.external_data)
            for field, value in part.ListFields():
                if field.message_type is not None:
                    waiting += [value] if isinstance(value, Message) else value

    write_onnx(folder / "model.onnx")
    inside = (folder / "model.onnx").read_bytes()
    model = onnx.load_from_string(inside)
    model.graph.initializer.append(onnx.helper.make_tensor("w", onnx.TensorProto.UINT8, [3], [1, 2, 3]))
    yield Reader(
        "models of ONNX", check_self_contained, [inside, model.SerializeToString()], self_contained, ()
    )


def played() -> Iterator[Reader]:
    """Certificates, audit logs and kept rounds of motions that were played."""
    values = np.tile(np.arange(4.0), (7, 1))
    halls = [Moot(np.ones((7, 4), np.int8), 1, two_faced=[2]), NumberMoot(values, 1)]
    certificates, exports, rounds = [], [], []
    for hall in halls:
        hall.put(0, rounds=3)
        hall.network.run(40.0)
        for place in (0, 1):
            storage = hall.storages[place]
            (stored,) = storage.motions()
            held = storage.held(stored.name)
            certificates.append(write_certificate(stored, held))
            own = hall.roster[place]
            log = export_log([*storage.audit.entries()], own.name, own.fingerprint, hall.keys[place])
            exports.append(log.encode())
    series = Series(began=0.0)
    for at in range(5):
        series.add(float(at), [1, 2], {1: bytes([at // 2] * 8)}, changed=at)
    rounds.append(series.packed())
    roster = halls[0].roster

    def as_it_was(pool: list[bytes]) -> Callable[[bytes, Any], None]:
        def whole(data: bytes, _found: Any) -> None:
            assert data in pool, "not a character can be changed"

        return whole

    def of_what_was_signed(data: bytes, _found: Any) -> None:
        """Some of the closes may be left out, as the certificate itself says, but none be changed."""
        told, known = json.loads(data), [json.loads(each) for each in certificates]
        for part in ("closes", "evidence"):
            assert all(any(each in other[part] for other in known) for each in told[part])
        assert any(
            all(told[key] == other[key] for key in ("header", "signature", "motion")) for other in known
        )

    yield Reader("certificates", lambda data: account_of(*read_certificate(data, roster)), certificates,
                 of_what_was_signed,
                 ("storage.certificate:_DECODER", "storage.certificate:read_certificate"),
                 quick=500)  # fmt: skip
    yield Reader("audit logs", lambda data: check_export(data.decode(), roster), exports, as_it_was(exports),
                 ("storage.audit:check_export", "storage.audit:read_export"), quick=500)  # fmt: skip

    def of_rounds(_data: bytes, found: Rounds) -> None:
        assert all(isinstance(each.asked, tuple) and isinstance(each.at, float) for each in found.rounds)

    yield Reader("kept rounds", read_series, rounds, of_rounds,
                 ("session.series:_DECODER", "session.series:read_series"))  # fmt: skip
