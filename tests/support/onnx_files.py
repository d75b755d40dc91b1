"""A classifier in an ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper


def write_onnx(
    path: Path,
    *,
    words: list[str] | None = None,
    type_: int = TensorProto.FLOAT,
    shape: tuple[str | int | None, ...] = (None, 3),
    scores: bool = False,
    inputs: int = 1,
    chances: bool = False,
    zipmap: bool = False,
) -> None:
    """Which of three columns is the largest, as ONNX's own classifier says it."""
    named: dict[str, Any] = {"classlabels_strings": words} if words else {"classlabels_ints": [10, 20, 30]}
    cast = helper.make_node("Cast", ["x0"], ["f"], to=TensorProto.FLOAT)
    node = helper.make_node(
        "LinearClassifier",
        ["f"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        coefficients=np.eye(3).ravel().tolist(),
        intercepts=[0.0, 0.0, 0.0],
        post_transform="SOFTMAX" if chances else "NONE",
        **named,
    )
    label = helper.make_tensor_value_info("label", TensorProto.STRING if words else TensorProto.INT64, [None])
    score = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, 3])
    nodes = [cast, node]
    if zipmap:
        key = TensorProto.STRING if words else TensorProto.INT64
        named = {"classlabels_strings": words} if words else {"classlabels_int64s": [10, 20, 30]}
        nodes.append(helper.make_node("ZipMap", ["scores"], ["by_label"], domain="ai.onnx.ml", **named))
        mapped = helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
        score = helper.make_value_info("by_label", helper.make_sequence_type_proto(mapped))
    graph = helper.make_graph(
        nodes,
        "largest",
        [helper.make_tensor_value_info(f"x{i}", type_, shape) for i in range(inputs)],
        [score, label] if scores else [label, score],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
