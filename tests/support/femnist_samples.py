"""Small FEMNIST files with known pixels, in both formats."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

Pixels = npt.NDArray[np.uint8]


class Row(NamedTuple):
    writer: str
    label: int
    gray: Pixels  # 28 x 28, paper 255


def make_rows(writers: Iterable[str], each: int = 12, seed: int = 0) -> list[Row]:
    """Random images; labels walk through digits, upper and lower case."""
    rng = np.random.default_rng(seed)
    return [
        Row(writer, (7 * j) % 62, rng.integers(0, 256, (28, 28), dtype=np.uint8))
        for writer in writers
        for j in range(each)
    ]


def learnable_rows(writers: Iterable[str], each: int = 60, seed: int = 0) -> list[Row]:
    """As ``make_rows``, but upper case has its ink in the top half, lower case in the bottom half, mostly."""
    rng = np.random.default_rng(seed)
    rows = []
    for writer in writers:
        slip = rng.uniform(0.05, 0.25)  # how often this writer puts the ink in the wrong half
        for j in range(each):
            label = (7 * j) % 62
            top = (label < 36) != (rng.random() < slip)
            gray = rng.integers(160, 256, (28, 28), dtype=np.uint8)
            gray[:14] //= 2 if top else 1
            gray[14:] //= 1 if top else 2
            rows.append(Row(writer, label, gray))
    return rows


def write_parquet(path: Path, rows: list[Row], row_group_size: int = 5) -> Path:
    images = []
    for row in rows:
        buffer = io.BytesIO()
        Image.fromarray(row.gray).save(buffer, format="PNG")
        images.append({"bytes": buffer.getvalue(), "path": None})
    table = pa.table(
        {
            "image": pa.array(images, type=pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
            "writer_id": pa.array([row.writer for row in rows]),
            "hsf_id": pa.array([None] * len(rows), type=pa.int64()),
            "character": pa.array([row.label for row in rows]),
        }
    )
    pq.write_table(table, path, row_group_size=row_group_size)
    return path


def write_leaf(path: Path, rows: list[Row]) -> Path:
    users = list(dict.fromkeys(row.writer for row in rows))
    data = {
        user: {
            "x": [(row.gray.ravel() / 255).tolist() for row in rows if row.writer == user],
            "y": [row.label for row in rows if row.writer == user],
        }
        for user in users
    }
    samples = [len(data[user]["y"]) for user in users]
    path.write_text(json.dumps({"users": users, "num_samples": samples, "user_data": data}))
    return path
