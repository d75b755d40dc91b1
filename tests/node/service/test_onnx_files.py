"""An ONNX model that names other files is refused; with 0.2 its votes told what stood in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from onnx import ModelProto, SparseTensorProto, TensorProto, helper

from folkmoot.node.membership import identity
from folkmoot.node.service.models import load_model
from folkmoot.sandbox.onnx_files import _PARTS, check_self_contained
from support.onnx_files import write_onnx


def elsewhere(location: str, length: int) -> TensorProto:
    """Bytes of another file as a tensor."""
    tensor = TensorProto(
        name="w", data_type=TensorProto.UINT8, dims=[length], data_location=TensorProto.EXTERNAL
    )
    for key, value in {"location": location, "offset": "0", "length": str(length)}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def telling(tensor: TensorProto | None, nodes: list[Any]) -> ModelProto:
    """A model that answers a row [i] with byte i of a tensor w."""
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 1])]
    label = [helper.make_tensor_value_info("label", TensorProto.INT64, [None, 1])]
    nodes = [
        *nodes,
        helper.make_node("Cast", ["w"], ["bytes"], to=TensorProto.INT64),
        helper.make_node("Cast", ["x"], ["at"], to=TensorProto.INT64),
        helper.make_node("Gather", ["bytes", "at"], ["label"], axis=0),
    ]
    graph = helper.make_graph(nodes, "telling", values, label, [tensor] if tensor is not None else [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def of_the_graph(tensor: TensorProto) -> ModelProto:
    return telling(tensor, [])


def of_a_node(tensor: TensorProto) -> ModelProto:
    return telling(None, [helper.make_node("Constant", [], ["w"], value=tensor)])


def of_a_branch(tensor: TensorProto) -> ModelProto:
    value = helper.make_tensor_value_info("out", TensorProto.UINT8, [None])
    branch = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["out"])], "branch", [], [value], [tensor]
    )
    yes = helper.make_node(
        "Constant", [], ["yes"], value=helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    )
    return telling(
        None, [yes, helper.make_node("If", ["yes"], ["w"], then_branch=branch, else_branch=branch)]
    )


def of_a_function(tensor: TensorProto) -> ModelProto:
    model = telling(None, [helper.make_node("Told", [], ["w"], domain="own")])
    model.opset_import.append(helper.make_opsetid("own", 1))
    constant = helper.make_node("Constant", [], ["w"], value=tensor)
    model.functions.append(
        helper.make_function("own", "Told", [], ["w"], [constant], [helper.make_opsetid("", 17)])
    )
    return model


def sparse(tensor: TensorProto) -> SparseTensorProto:
    places = helper.make_tensor("places", TensorProto.INT64, tensor.dims, range(tensor.dims[0]))
    return SparseTensorProto(values=tensor, indices=places, dims=tensor.dims)


def of_a_sparse_tensor(tensor: TensorProto) -> ModelProto:
    model = telling(None, [])
    model.graph.sparse_initializer.append(sparse(tensor))
    return model


def of_a_sparse_constant(tensor: TensorProto) -> ModelProto:
    return telling(None, [helper.make_node("Constant", [], ["w"], sparse_value=sparse(tensor))])


def of_the_training(tensor: TensorProto) -> ModelProto:
    model = telling(helper.make_tensor("w", TensorProto.UINT8, [1], [1]), [])
    model.training_info.add().initialization.initializer.append(tensor)
    return model


@pytest.mark.parametrize(
    "made", [of_the_graph, of_a_node, of_a_branch, of_a_function, of_a_sparse_tensor, of_a_sparse_constant,
             of_the_training], ids=lambda each: each.__name__,
)  # fmt: skip
def test_a_tensor_in_another_file_is_refused(
    made: Callable[[TensorProto], ModelProto], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen from the folder of the model and from the current one, the key is there."""
    identity.create(tmp_path / "north", name="north")
    monkeypatch.chdir(tmp_path / "north")
    length = Path("key.pem").stat().st_size
    for location in ("key.pem", str(Path("key.pem").absolute()), "../north/key.pem", "./key.pem"):
        Path("model.onnx").write_bytes(made(elsewhere(location, length)).SerializeToString())
        for spec in ("model.onnx", str(tmp_path / "north" / "model.onnx")):
            with pytest.raises(
                ValueError, match=r"must be an ONNX model in one file: its tensor 'w' is in another file"
            ):
                load_model(spec)


@pytest.mark.parametrize("made", [of_the_graph, of_a_node, of_a_branch, of_a_function])
def test_such_models_answer_when_their_tensors_are_inside(
    made: Callable[[TensorProto], ModelProto], tmp_path: Path
) -> None:
    """So what is refused above is refused for where its tensor is."""
    (tmp_path / "model.onnx").write_bytes(
        made(helper.make_tensor("w", TensorProto.UINT8, [3], [7, 8, 9])).SerializeToString()
    )
    model = load_model(str(tmp_path / "model.onnx"))
    assert model.predict(np.array([[2.0], [0.0]])) == ["9", "7"]


def test_the_parts_that_are_followed_are_those_of_onnx() -> None:
    """onnx's own description of its messages: every way from a model to a tensor is known here."""
    names = {
        "ModelProto": "model", "TrainingInfoProto": "training", "FunctionProto": "function",
        "GraphProto": "graph", "NodeProto": "node", "AttributeProto": "attribute",
        "SparseTensorProto": "sparse tensor", "TensorProto": "tensor",
    }  # fmt: skip

    def holds_tensors(message: Descriptor, seen: tuple[str, ...] = ()) -> bool:
        return message.name == "TensorProto" or any(
            holds_tensors(field.message_type, (*seen, message.name))
            for field in message.fields
            if field.message_type is not None and field.message_type.name not in (*seen, message.name)
        )

    def parts(message: Descriptor) -> dict[int, str]:
        return {
            field.number: names[field.message_type.name]
            for field in message.fields
            if field.type == FieldDescriptor.TYPE_MESSAGE and holds_tensors(field.message_type)
        }

    for name, own in names.items():
        if name != "TensorProto":
            assert parts(getattr(onnx, name).DESCRIPTOR) == _PARTS[own], name
    fields = TensorProto.DESCRIPTOR.fields_by_name
    assert (fields["external_data"].number, fields["data_location"].number) == (13, 14)


def test_other_ways_to_write_the_same_model_are_no_way_round() -> None:
    """Protobuf takes a field again and again, and drops what is above 32 bits of a key."""
    whole = of_the_graph(elsewhere("key.pem", 3)).SerializeToString()
    with pytest.raises(ValueError, match="in another file"):
        check_self_contained(whole)
    inside = telling(helper.make_tensor("w", TensorProto.UINT8, [1], [1]), []).SerializeToString()
    check_self_contained(inside)
    with pytest.raises(ValueError, match="in another file"):
        check_self_contained(inside + whole)
    # data_location, with a bit that is dropped.
    late = bytes([0x70 | 0x80, 0x80, 0x80, 0x80, 0x10, 1])
    with pytest.raises(ValueError, match="damaged"):
        check_self_contained(b"\x3a\x08\x2a\x06" + late)
    for each in (whole[:-1], b"\xff" * 20, b"\x0b" + whole):
        with pytest.raises(ValueError, match="damaged"):
            check_self_contained(each)


def test_operators_of_other_libraries_are_unknown(tmp_path: Path) -> None:
    """A model file can ask for operators, and cannot bring the library that has them."""
    model = telling(None, [helper.make_node("PyOp", [], ["w"], domain="ai.onnx.contrib")])
    model.opset_import.append(helper.make_opsetid("ai.onnx.contrib", 1))
    model.metadata_props.add(key="ort_config", value='{"custom_op_libraries": ["./evil.so"]}')
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match=r"must be an ONNX model: .*PyOp"):
        load_model(str(tmp_path / "model.onnx"))


def test_a_model_in_onnxruntimes_own_format_is_refused(tmp_path: Path) -> None:
    import onnxruntime

    write_onnx(tmp_path / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "own.ort")
    onnxruntime.InferenceSession(tmp_path / "model.onnx", options, providers=["CPUExecutionProvider"])
    (tmp_path / "own.ort").rename(tmp_path / "own.onnx")
    with pytest.raises(ValueError, match=r"own\.onnx must be "):
        load_model(str(tmp_path / "own.onnx"))
