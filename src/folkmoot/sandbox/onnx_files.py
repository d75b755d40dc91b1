"""ONNX files must hold all tensors of their model: a tensor that names another file is refused.

onnxruntime reads that file beside the model, or in the current folder if it gets the model as bytes. So a
model could read a key, and tell it by its votes. The check follows the messages of onnx.proto wherever they
can hold a tensor, and needs no package onnx.
"""

from __future__ import annotations

from typing import Final

# Which fields of a message hold which messages, as far as a tensor can be in them.
_PARTS: Final = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor", 23: "sparse tensor",
    },
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {},
}  # fmt: skip
_NAME: Final = 8  # of a tensor
_EXTERNAL: Final = (13, 14)  # external_data, and data_location, which is 0 for what is in the file

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # how a field is written


def check_self_contained(data: bytes) -> None:
    """ValueError if a tensor of an ONNX model is in another file, or if this is no ONNX model."""
    waiting = [("model", 0, len(data))]
    while waiting:
        kind, at, end = waiting.pop()
        name, external = "", False
        while at < end:
            key, at = _varint(data, at, end)
            field, form = key >> 3, key & 7
            if form == _VARINT and not key >> 32:
                value, at = _varint(data, at, end)
                external |= kind == "tensor" and field in _EXTERNAL and value != 0
                continue
            size = {_EIGHT: 8, _FOUR: 4}.get(form)
            if form == _BYTES:
                size, at = _varint(data, at, end)
            if key >> 32 or size is None or size > end - at:
                raise ValueError("it is damaged, or no ONNX model")
            if form == _BYTES and field in _PARTS[kind]:
                waiting.append((_PARTS[kind][field], at, at + size))
            elif kind == "tensor" and field == _NAME and form == _BYTES:
                name = data[at : at + size].decode(errors="replace")
            external |= kind == "tensor" and field in _EXTERNAL
            at += size
        if external:
            raise ValueError(
                f"its tensor {name!r:.60} is in another file; save it with all tensors inside "
                "(onnx.save with save_as_external_data=False)"
            )


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise ValueError("it is damaged, or no ONNX model")
