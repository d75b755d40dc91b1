"""Numbers and probabilities as bytes: one encoding each, whatever is damaged."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from folkmoot.network.wire.forms import ChanceForm, LabelForm, NumberForm, add_up
from folkmoot.votes import from_levels, in_levels, to_levels

NAN = struct.pack("<d", float("nan"))


def test_numbers_are_doubles_little_endian() -> None:
    form = NumberForm(3)
    data = form.pack(np.array([[1.5], [np.nan], [-0.0]]))
    assert data == struct.pack("<d", 1.5) + NAN + struct.pack("<d", 0.0)
    held = form.unpack(data)
    assert held[0, 0] == 1.5
    assert np.isnan(held[1, 0])
    assert form.pack(held) == data
    assert form.held_bytes == form.first_bytes == len(data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (struct.pack("<d", 1.0) * 2, "another length"),
        (b"", "another length"),
        (struct.pack("<d", 1.0) * 2 + struct.pack("<d", float("inf")), "within"),
        (struct.pack("<d", 1.0) * 2 + struct.pack("<d", 1e101), "within"),
        (struct.pack("<d", 1.0) * 2 + struct.pack("<d", -0.0), "one right way"),
        (struct.pack("<d", 1.0) * 2 + NAN[:-1] + b"\xff", "one right way"),
        (struct.pack("<d", 1.0) * 2 + b"\x01" + NAN[1:], "one right way"),
    ],
)
def test_other_numbers_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        NumberForm(3).unpack(data)


def test_an_input_has_all_of_its_probabilities_or_none() -> None:
    form = ChanceForm(1, 2)
    with pytest.raises(ValueError, match="all of its numbers, or none"):
        form.unpack(struct.pack("<d", 0.5) + NAN)
    for value in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"within 0\.\.1"):
            form.unpack(struct.pack("<dd", 0.5, value))


def test_first_probabilities_take_a_byte_each() -> None:
    form = ChanceForm(3, 2)
    levels = np.array([[255, 0], [-1, -1], [128, 127]], dtype=np.int16)
    data = form.pack_first(levels)
    assert data == b"\x01" + b"\x02" + bytes([255, 0, 0, 0, 128, 127])
    assert form.first_bytes == len(data)
    assert (form.unpack_first(data) == levels).all()
    opened = form.opening(levels)
    assert np.isnan(opened[1]).all()
    np.testing.assert_allclose(opened[2], [128.5 / 256, 127.5 / 256])
    assert form.pack_first(levels[[0, 2, 2]])[0] == 0
    assert form.colours(opened).tolist() == [0, -1, 0]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x02" + bytes(6),
        b"\x00" + bytes([255, 0, 255, 0]),  # short
        b"\x00" + bytes([255, 255, 255, 0, 255, 0]),  # a row that does not add up
        b"\x00" + bytes([100, 100, 255, 0, 255, 0]),
        b"\x01" + b"\x00" + bytes([255, 0] * 3),  # says that some have none, and none has
        b"\x01" + b"\x0a" + bytes([255, 0, 0, 0, 255, 0]),  # a bit beyond the inputs
        b"\x01" + b"\x01" + bytes([1, 0, 255, 0, 255, 0]),  # levels where there are none
    ],
)
def test_other_first_probabilities_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"probabilities|levels"):
        ChanceForm(3, 2).unpack_first(data)


def test_levels_of_probabilities_add_up_and_those_of_others_do_not() -> None:
    rng = np.random.default_rng(1)
    for classes in (2, 3, 10, 127):
        chances = rng.dirichlet(np.full(classes, 0.2), 2000)
        chances[:classes] = np.eye(classes)
        chances /= chances.sum(axis=1, keepdims=True)
        assert add_up(to_levels(chances)).all()
        np.testing.assert_array_equal(in_levels(chances), from_levels(to_levels(chances)))
    assert not add_up(np.array([[200, 200], [100, 100], [0, 0]])).any()


@pytest.mark.parametrize("frames", [5000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_mutated_numbers_are_what_pack_makes_or_refused(frames: int) -> None:
    rng, generator = random.Random(3), np.random.default_rng(3)
    forms = [NumberForm(20), ChanceForm(20, 3), LabelForm(20, 3)]
    numbers = generator.normal(0, 1e3, (20, 1))
    numbers[4] = np.nan
    levels = to_levels(generator.dirichlet(np.ones(3), 20)).astype(np.int16)
    levels[2] = -1
    pool = {
        0: (forms[0].pack_first(numbers), forms[0].pack(numbers)),
        1: (forms[1].pack_first(levels), forms[1].pack(forms[1].opening(levels))),
        2: (b"", forms[2].pack(np.zeros(20, np.int8))),
    }
    read = 0
    for _ in range(frames):
        which = rng.randrange(3)
        form, (first, held) = forms[which], pool[which]
        for data, unpack, pack in (
            (first, form.unpack_first, form.pack_first),
            (held, form.unpack, form.pack),
        ):
            damaged = bytearray(data)
            for _ in range(rng.randrange(1, 4)):
                match rng.randrange(3):
                    case 0 if damaged:
                        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
                    case 1:
                        del damaged[rng.randrange(len(damaged) + 1) :]
                    case _:
                        where = rng.randrange(len(damaged) + 1)
                        damaged[where : where + 8] = rng.choice([NAN, b"\xff" * 8, b"", bytes(8)])
            try:
                found = unpack(bytes(damaged))
            except ValueError:
                continue
            read += 1
            assert pack(found) == bytes(damaged), "one encoding each"
    assert read > 500


def test_a_signalling_nan_is_refused_without_a_warning() -> None:
    """Any peer can send one; arithmetic with it would warn on the node's screen."""
    signalling = bytes([1, 0, 0, 0, 0, 0, 0xF0, 0x7F])
    with pytest.raises(ValueError, match="in the one right way"):
        NumberForm(1).unpack(signalling)
    assert NumberForm(1).pack(np.frombuffer(signalling)[:, None]) == NumberForm(1).pack(np.array([[np.nan]]))
    assert NumberForm(1).pack(np.array([[-0.0]])) == bytes(8)
