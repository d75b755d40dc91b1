"""The two file formats of FEMNIST behind one face: writers and labels at once, images when asked for.

Parquet as in ``flwrlabs/femnist`` (columns ``image.bytes``, a PNG, ``writer_id``, ``character``), and LEAF's
JSON (``user_data[user] = {"x": [[784 floats in 0..1]], "y": [int]}``). In both, paper is white.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Bytes, Ints
from folkmoot.machine import to_install

SIDE, CLASSES = 28, 62


class _File(Protocol):
    """One file: its writers' names, for each row the position of its writer among them, and its label."""

    path: Path
    names: list[str]
    codes: Ints
    labels: Ints

    def stored(self, rows: Ints) -> list[bytes]:
        """The images of these rows (ascending) as the file holds them."""

    def decode(self, image: bytes) -> npt.ArrayLike:
        """One image as gray values 0..255."""


class FemnistRows:
    """The rows of several files without LEAF's duplicates; ``codes`` number the sorted ``names``."""

    def __init__(self, files: Sequence[_File]) -> None:
        self.names = np.array(sorted({name for file in files for name in file.names}))
        position = {name: i for i, name in enumerate(self.names.tolist())}
        renumbered = [
            np.array([position[name] for name in file.names], dtype=np.int64)[file.codes] for file in files
        ]
        codes = np.concatenate(renumbered)
        labels = np.concatenate([file.labels for file in files])
        self._files = files
        self._starts = np.cumsum([0, *(file.labels.size for file in files)])
        self._kept = np.setdiff1d(np.arange(labels.size), self._duplicates(codes, labels))
        self.codes, self.labels = codes[self._kept], labels[self._kept]

    def images(self, rows: npt.NDArray[np.integer[Any]]) -> Bytes:
        """Gray values (row, pixel) of these rows, in their order."""
        wanted = self._kept[rows]
        order = np.argsort(wanted, kind="stable")
        pixels = np.empty((wanted.size, SIDE * SIDE), dtype=np.uint8)
        at = 0
        for file, images in self._stored(wanted[order]):
            for image in images:
                try:
                    pixels[order[at]] = file.decode(image)
                except (ValueError, OSError) as error:
                    raise ValueError(
                        f"{file.path}: an image must be {SIDE} x {SIDE} gray pixels: {error}"
                    ) from None
                at += 1
        return pixels

    def _duplicates(self, codes: Ints, labels: Ints) -> Ints:
        """Second rows of a writer that equal the first, image and label."""
        by_writer = np.argsort(codes, kind="stable")
        _, first = np.unique(codes[by_writer], return_index=True)
        first = first[first + 1 < codes.size]
        one, two = by_writer[first], by_writer[first + 1]
        suspect = (codes[one] == codes[two]) & (labels[one] == labels[two])
        one, two = one[suspect], two[suspect]
        rows = np.union1d(one, two)
        images = [image for _, held in self._stored(rows) for image in held]
        where = zip(np.searchsorted(rows, one), np.searchsorted(rows, two), strict=True)
        same = np.array([images[i] == images[j] for i, j in where], dtype=np.bool_)
        return np.asarray(two[same], dtype=np.int64)

    def _stored(self, rows: npt.NDArray[np.integer[Any]]) -> Iterator[tuple[_File, list[bytes]]]:
        """Images as stored, one file in memory at a time, for ascending row numbers."""
        bounds = itertools.pairwise(np.searchsorted(rows, self._starts))
        for file, start, (low, high) in zip(self._files, self._starts, bounds, strict=False):
            if low < high:
                yield file, file.stored(rows[low:high] - start)


def open_femnist(path: Path) -> FemnistRows:
    """A parquet or JSON file, or a folder that holds files of one of the two kinds."""
    path = path.expanduser()
    if path.is_dir():
        found = {kind: sorted(path.glob(f"*.{kind}")) for kind in ("parquet", "json")}
        files = found["parquet"] or found["json"]
        if not files:
            raise FileNotFoundError(f"{path} must hold *.parquet or *.json files: it holds neither")
    elif path.is_file():
        files = [path]
    else:
        raise FileNotFoundError(f"{path} must be a file or a folder of FEMNIST: there is no such file")
    return FemnistRows([_JsonFile(f) if f.suffix == ".json" else _ParquetFile(f) for f in files])


class _ParquetFile:
    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"parquet files need pyarrow: {to_install('data')}", name=error.name
            ) from None
        from PIL import Image

        self.path = path
        self._open_image = Image.open
        try:
            self._file = parquet.ParquetFile(path)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(f"{path}: must be a parquet file: {error}") from None
        schema = self._file.schema
        columns = {schema.column(i).path for i in range(len(schema))}
        if missing := {"image.bytes", "writer_id", "character"} - columns:
            raise ValueError(
                f"{path}: must have the columns image.bytes, writer_id, character: there is no {min(missing)}"
            )
        table = self._file.read(columns=["writer_id", "character"])
        if table["writer_id"].null_count or table["character"].null_count:
            raise ValueError(f"{path}: writer_id and character must be given in every row")
        writers = table["writer_id"].combine_chunks().dictionary_encode()
        self.names = [str(name) for name in writers.dictionary.to_pylist()]
        self.codes = np.asarray(writers.indices.to_numpy(), dtype=np.int64)
        self.labels = _check_labels(path, np.asarray(table["character"].to_numpy(), dtype=np.int64))

    def stored(self, rows: Ints) -> list[bytes]:
        sizes = [self._file.metadata.row_group(g).num_rows for g in range(self._file.num_row_groups)]
        starts = np.cumsum([0, *sizes])
        bounds = np.searchsorted(rows, starts)
        images: list[bytes] = []
        for group, (low, high) in enumerate(itertools.pairwise(bounds)):
            if low < high:
                column = self._file.read_row_group(group, columns=["image.bytes"])["image"]
                held = column.combine_chunks().field("bytes").take(rows[low:high] - starts[group])
                images += held.to_pylist()
        return images

    def decode(self, image: bytes) -> npt.ArrayLike:
        with self._open_image(io.BytesIO(image), formats=["PNG"]) as picture:
            if picture.size != (SIDE, SIDE):
                raise ValueError(f"got {picture.size[0]} x {picture.size[1]}")
            return np.frombuffer(picture.convert("L").tobytes(), dtype=np.uint8)


class _Samples(msgspec.Struct):
    x: list[msgspec.Raw]  # parsed only for the rows that are wanted
    y: list[int]


class _Leaf(msgspec.Struct):
    user_data: dict[str, _Samples]


class _JsonFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        samples = self._read()
        self.names = list(samples)
        for name, own in samples.items():
            if len(own.x) != len(own.y):
                raise ValueError(f"{path}: user {name} must have as many x as y: {len(own.x)}, {len(own.y)}")
        self.codes = np.repeat(np.arange(len(samples)), [len(own.y) for own in samples.values()])
        self.labels = _check_labels(
            path, np.array([label for own in samples.values() for label in own.y], dtype=np.int64)
        )

    def stored(self, rows: Ints) -> list[bytes]:
        # Read anew: a whole set of LEAF's files would not fit into memory.
        images = [image for own in self._read().values() for image in own.x]
        return [bytes(images[row]) for row in rows]

    def decode(self, image: bytes) -> npt.ArrayLike:
        gray = np.asarray(msgspec.json.decode(image, type=list[float])) * 255
        if gray.size != SIDE * SIDE or gray.min() < 0 or gray.max() > 255:
            raise ValueError(f"got {gray.size} values, which must be {SIDE * SIDE} from 0 to 1")
        # LEAF divides gray values by 255, so rounding gives them back exactly.
        return np.asarray(np.rint(gray))

    def _read(self) -> dict[str, _Samples]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=_Leaf).user_data
        except msgspec.DecodeError as error:
            raise ValueError(f"{self.path}: must be JSON in LEAF's layout: {error}") from None


def _check_labels(path: Path, labels: Ints) -> Ints:
    if labels.size == 0:
        raise ValueError(f"{path}: must hold at least one row")
    bad = np.flatnonzero((labels < 0) | (labels >= CLASSES))
    if bad.size:
        raise ValueError(f"{path}: labels must satisfy 0 <= label < {CLASSES}: got {labels[bad[0]]}")
    return labels
