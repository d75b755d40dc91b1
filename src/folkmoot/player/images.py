"""Small pictures as PNG in data addresses, written by hand: a page needs no more than that."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

_LARGEST = 128  # pixels a side; larger pictures are thinned out
_KINDS = {2: 4, 3: 2, 4: 6}  # channels -> PNG's colour type: ink with opacity, RGB, RGBA


def data_addresses(images: npt.NDArray[np.generic]) -> tuple[list[str], bool]:
    """Each picture as an address, and whether they are ink on paper.

    ``images`` has the shape (input, height, width), ink on paper, whose value is the commonest on the
    margins. Or it has the shape (input, height, width, 3 or 4), with colours as they are.
    """
    every = -(-max(images.shape[1:3]) // _LARGEST)
    small = np.asarray(images[:, ::every, ::every])
    ink = small.ndim == 3
    pixels = _ink(small) if ink else _bytes(small)
    return [_address(each) for each in pixels], ink


def _ink(images: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """Black of some opacity, none where there is paper, so that a dark page can show it white."""
    values = np.nan_to_num(images.astype(np.float64))
    edges = np.concatenate([values[:, [0, -1]].ravel(), values[:, :, [0, -1]].ravel()])
    paper = np.median(edges)
    low, high = values.min(), values.max()
    depth = (high - values if paper > (low + high) / 2 else values - low) / max(high - low, 1e-300)
    opacity = np.round(255 * depth).astype(np.uint8)
    return np.stack([np.zeros_like(opacity), opacity], axis=-1)


def _bytes(images: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    if images.dtype == np.uint8:
        return np.asarray(images, dtype=np.uint8)
    values = np.nan_to_num(images.astype(np.float64))
    scale = 255.0 if values.max() <= 1.0 else 1.0
    return np.clip(np.round(values * scale), 0, 255).astype(np.uint8)


def _address(pixels: npt.NDArray[np.uint8]) -> str:
    height, width, channels = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, _KINDS[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
    return "data:image/png;base64," + base64.b64encode(png).decode()
