"""The inputs of a motion, cut into chunks."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from folkmoot.node.wire.batch import CHUNK_BYTES, Batch


@pytest.mark.parametrize("dtype", ["|b1", "<i2", ">i4", "<f4", ">f8"])
@pytest.mark.parametrize("columns", [1, 7, 40_000])
def test_chunks_put_together_are_the_inputs(dtype: str, columns: int) -> None:
    rng = np.random.default_rng(columns)
    rows = 1 + 3 * CHUNK_BYTES // (columns * 8)
    array = (rng.random((rows, columns)) * 100).astype(dtype)
    batch = Batch(np.asfortranarray(array))
    chunks = list(batch.chunks())
    again = np.frombuffer(b"".join(chunks), dtype=batch.dtype).reshape(len(batch), batch.columns)
    np.testing.assert_array_equal(again, array)
    assert all(len(chunk) <= max(CHUNK_BYTES, columns * array.itemsize) for chunk in chunks)
    assert {len(chunk) // (columns * array.itemsize) for chunk in chunks[:-1]} <= {batch.chunk_rows}
    assert batch.digests() == tuple(hashlib.sha256(chunk).digest() for chunk in chunks)


def test_what_is_no_batch_is_named() -> None:
    for array, why in [
        (np.zeros(3), r"x\.npy must hold rows and columns: got the shape \(3,\)"),
        (np.zeros((0, 3)), "must hold at least one input"),
        (np.zeros((3, 0)), "must hold at least one input"),
        (np.array([["a"]]), "must hold numbers: got an array of <U1"),
        (np.zeros((2, 2), dtype=complex), "must hold numbers"),
        (np.array([[object()]]), "must hold numbers"),
    ]:
        with pytest.raises(ValueError, match=why):
            Batch(array, "x.npy")


def test_rows_with_missing_values_are_counted_once() -> None:
    array = np.zeros((20_000, 3))
    array[[1, 9_000, 19_999], 0] = np.nan
    array[9_000, 2] = np.inf
    assert Batch(array).missing == 3
    assert Batch(np.zeros((5, 2), dtype=int)).missing == 0


def test_a_mapped_file_stays_one(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(12.0).reshape(6, 2))
    batch = Batch(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert isinstance(batch.array, np.memmap)
    assert len(batch) == 6
