"""The header of a motion: named by its content, and nothing in it that no node could play."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.network.wire.motion import (
    LOCAL,
    MOST_ROUNDS,
    MOST_SECONDS,
    motion_name,
    read_header,
)
from folkmoot.network.wire.review import Review
from support.network.one_session import motion_of


def test_a_header_is_read_as_it_was_written_and_named_by_its_content() -> None:
    motion = motion_of(5, inputs=6)
    header = motion.encoded()
    assert read_header(header) == motion
    assert motion_name(header) == hashlib.sha256(header).digest()
    assert motion_name(motion_of(5, inputs=6, nonce=b"x" * 16).encoded()) != motion_name(header)


def test_a_header_has_one_form_only() -> None:
    header = motion_of(5).encoded()
    fields = msgspec.msgpack.decode(header)
    assert msgspec.msgpack.encode(fields) == header
    for data in (header + b"\x00", header[:-1], b"\xdc\x00\x13" + header[3:] + b"\xc0"):
        with pytest.raises((ValueError, msgspec.DecodeError)):
            read_header(data)
    whole = msgspec.msgpack.encode([*fields[:4], 30, *fields[5:]])  # 30 for 30.0
    with pytest.raises(ValueError, match="the one right way"):
        read_header(whole)
    with pytest.raises((ValueError, msgspec.DecodeError)):
        read_header(msgspec.msgpack.encode([*fields, 0]))


NUMBERS: dict[str, Any] = {
    "answers": "numbers", "labels": (), "protocol": "trimmed-mean", "alpha": 0, "beta": 1, "tol": 0.5,
}  # fmt: skip
CHANCES: dict[str, Any] = {"answers": "probabilities"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"protocol": "paxos"}, "protocol must be one of"),
        ({"k": 4, "alpha": 2}, "k/2 < alpha <= k"),
        ({"k": 3, "alpha": 4}, "k/2 < alpha <= k"),
        ({"k": 1001, "alpha": 1001}, "1 <= k <= 1000"),
        ({"beta": 0}, "beta"),
        ({"beta": 1001}, "1 <= beta <= 1000"),
        ({"rounds": 0}, "rounds must satisfy"),
        ({"rounds": MOST_ROUNDS + 1}, "rounds must satisfy"),
        ({"seconds": 0.9}, "1 s to 24 h"),
        ({"seconds": MOST_SECONDS + 1}, "1 s to 24 h"),
        ({"seconds": float("nan")}, "1 s to 24 h"),
        ({"pace": -0.1}, "pace must be"),
        ({"pace": 60.1}, "pace must be"),
        ({"created": float("inf")}, "must be a number"),
        ({"labels": ("a",)}, "2 to 127 labels"),
        ({"labels": tuple(map(str, range(128)))}, "2 to 127 labels"),
        ({"labels": ("a", "a")}, "differ from each other"),
        ({"labels": ("a", "")}, "1 to 200 characters"),
        ({"labels": ("a", "b" * 201)}, "1 to 200 characters"),
        ({"inputs": 0}, "must hold inputs"),
        ({"columns": 0}, "must hold inputs"),
        ({"dtype": "<c16"}, "must be numbers"),
        ({"inputs": 100_001}, "2 labels must hold at most 100,000 inputs"),
        ({"inputs": 10_001, "labels": tuple(map(str, range(100)))}, "100 labels must hold at most 10,000"),
        ({"chunk_rows": 0}, "at most 262,144 bytes"),
        ({"chunk_rows": 65_537}, "at most 262,144 bytes"),
        ({"columns": 131_073, "chunk_rows": 1}, "smaller than 524,288 bytes"),
        ({"chunk_rows": 2}, "whole chunks"),
        ({"chunks": (bytes(31),)}, "named by 32 bytes"),
        ({"moot": bytes(31)}, "32 bytes"),
        ({"nonce": bytes(15)}, "nonce of 16"),
        ({"protocol": "snowball", "labels": tuple(map(str, range(60)))}, "labels\\^3 beta"),
        ({"review": Review(2, bytes(32), bytes(32))}, "with trust and equal weights"),
        ({"review": Review(learnt=True), "trust": True, "weighted": True}, "with trust and equal weights"),
        ({"review": Review(), "trust": True}, "must name no owners, and learn from truths"),
        ({"review": Review(0, bytes(32), b"", True), "trust": True}, "must name no owners"),
        ({"review": Review(5, bytes(32), bytes(32)), "trust": True}, "must be 1 to 4, all of them: got 5"),
        ({"review": Review(-1, bytes(32), bytes(32)), "trust": True}, "must be 1 to 4, all of them: got -1"),
        ({"review": Review(2, bytes(31), bytes(32)), "trust": True}, "in 32 bytes each"),
        ({"review": Review(2, bytes(32), b""), "trust": True}, "in 32 bytes each"),
        (NUMBERS | {"review": Review(learnt=True)}, "about numbers must have check rows"),
        (NUMBERS | {"review": Review(2, bytes(32), bytes(32), True)}, "learn from them alone"),
        (NUMBERS | {"review": Review(2, bytes(32), bytes(32)), "trust": True}, "neither weights nor trust"),
        (
            CHANCES | {"review": Review(learnt=True), "trust": True},
            "about probabilities must have check rows",
        ),
        (CHANCES | {"review": Review(2, bytes(32), bytes(32))}, "with trust and equal weights"),
        (CHANCES | {"review": Review(2, bytes(32), bytes(32)), "trust": True, "tol": 0.1}, "tol must be 0"),
        (CHANCES | {"trust": True}, "tol must be a number above 0"),
    ],
)
def test_what_no_node_could_play_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        msgspec.structs.replace(motion_of(5), **changes).check()


def test_the_limits_themselves_are_allowed() -> None:
    allowed: list[dict[str, Any]] = [
        {"rounds": MOST_ROUNDS},
        {"seconds": MOST_SECONDS},
        {"seconds": 1.0},
        {"pace": 60.0},
        {"k": 1000, "alpha": 1000},
        {"labels": tuple(map(str, range(127)))},
        {"k": 4, "alpha": LOCAL},
        {"review": Review(4, bytes(32), bytes(32), True), "trust": True},
        {"review": Review(learnt=True), "trust": True},
    ]
    for changes in allowed:
        msgspec.structs.replace(motion_of(5), **changes).check()


def test_a_chunk_is_the_one_that_the_header_names() -> None:
    rows = np.arange(5, dtype="<i4")[:, None]
    chunks = [rows[:2].tobytes(), rows[2:4].tobytes(), rows[4:].tobytes()]
    digests = tuple(hashlib.sha256(chunk).digest() for chunk in chunks)
    motion = motion_of(5, inputs=5, chunk_rows=2, chunks=digests)
    motion.check()
    assert [motion.rows(index) for index in range(3)] == [2, 2, 1]
    assert [motion.read_chunk(i, chunk).ravel().tolist() for i, chunk in enumerate(chunks)] == [
        [0, 1], [2, 3], [4],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="chunk 0 is not the one"):
        motion.read_chunk(0, chunks[1])
    short = msgspec.structs.replace(motion, chunks=(hashlib.sha256(b"short").digest(), *digests[1:]))
    with pytest.raises(ValueError, match="must hold 2 rows"):
        short.read_chunk(0, b"short")


def test_each_participant_has_the_threshold_that_it_is_given() -> None:
    motion = motion_of(5, k=4, alpha=LOCAL)
    assert (motion.rule(3).k, motion.rule(3).alpha, motion.rule(4).alpha) == (4, 3, 4)


def test_first_votes_are_on_all_rows_and_what_is_held_on_the_askers() -> None:
    motion = msgspec.structs.replace(motion_of(5), trust=True, review=Review(3, bytes(32), bytes(32)))
    assert (motion.inputs, motion.asked, motion_of(5).asked) == (4, 3, 4)
    form, first = motion.form, np.array([0, 1, -1, 1], np.int8)
    assert form.unpack_first(form.pack_first(first)).tolist() == [0, 1, -1, 1]
    assert form.unpack(form.pack(first[:3])).tolist() == [0, 1, -1]
    assert form.opening(first).tolist() == [-1, -1, -1], "which rows are the asker's is not known yet"
    with pytest.raises(ValueError, match="another length"):
        motion_of(5, inputs=30, trust=True, review=Review(8, bytes(32), bytes(32))).form.unpack(
            form.pack_first(np.zeros(30, np.int8))
        )
    assert read_header(motion.encoded()) == motion
    assert len(msgspec.msgpack.decode(motion_of(5).encoded())) == 19, "other headers are as they were"
