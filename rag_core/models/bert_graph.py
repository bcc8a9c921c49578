"""BERT's encoder as an ONNX graph without weights, written directly in ONNX's protocol buffers.

Field numbers are those of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto); wire types those
of https://protobuf.dev/programming-guides/encoding. The package `onnx` is not needed, and the graph of six layers
is made in 2 ms.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

IR_VERSION, OPSET = 10, 20  # from ONNX 1.16; the first opset with Gelu
FUSED = "com.microsoft"  # onnxruntime's own operators, one kernel for several of ONNX
FLOAT, INT32, INT64 = 1, 6, 7  # TensorProto.DataType
FLOAT_ATTRIBUTE, INT_ATTRIBUTE = 1, 2  # AttributeProto.AttributeType
EXTERNAL = 1  # TensorProto.DataLocation
INPUTS = (
    "ids",
    "types",
    "mask",
)  # (texts, length) each: word pieces, zeros, and 1 where there is a word piece
OUTPUT = "vectors"  # (texts, length, dimensions) of the last layer


class StoredTensor(NamedTuple):
    """Where a file has a tensor of 32-bit floats; offset and length in bytes."""

    shape: Sequence[int]
    offset: int
    length: int


def bert_graph(
    weights: Mapping[str, StoredTensor], file: str, layers: int, heads: int, epsilon: float
) -> bytes:
    """An ONNX model that computes the last layer's vectors of word pieces.

    Devlin et al., "BERT", NAACL 2019, as BertModel of transformers computes it at inference:

        x = norm(word + position + type)
        for each layer:
            x = norm(x + dense(attention(query(x), key(x), value(x))))
            x = norm(x + dense(gelu(dense(x))))

    Args:
        weights: the tensors, by their names in a saved BertModel.
        file: the name of their file; its folder is to be named when the graph is loaded.
        epsilon: added to the variance by `norm`, layer normalisation.
    """
    nodes: list[bytes] = []

    def add(operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: float) -> str:
        nodes.append(_node(operator, inputs, output, domain, attributes))
        return output

    def dense(x: str, name: str) -> str:
        return add("Gemm", [x, f"{name}.weight", f"{name}.bias"], f"{name}.out", transB=1)

    def norm(x: str, residual: str, name: str) -> str:
        inputs = [x, residual, f"{name}.weight", f"{name}.bias"]
        return add("SkipLayerNormalization", inputs, f"{name}.out", FUSED, epsilon=epsilon)

    tables = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
    scale = ["embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"]
    add("EmbedLayerNormalization", ["ids", "types", *tables, *scale], "embedded", FUSED, epsilon=epsilon)
    add("Shape", ["embedded"], "shape")
    x = add("Reshape", ["embedded", "flat"], "rows")  # Gemm takes (texts · length, dimensions)
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        parts = [dense(x, f"{layer}.attention.self.{part}") for part in ("query", "key", "value")]
        parts = [add("Reshape", [part, "shape"], f"{part}.3d") for part in parts]
        inputs = [*parts, "", "mask"]  # its third input, a bias, is already added
        attended = add("MultiHeadAttention", inputs, f"{layer}.attended", FUSED, num_heads=heads)
        attended = add("Reshape", [attended, "flat"], f"{layer}.attended.2d")
        output = f"{layer}.attention.output"
        x = norm(dense(attended, f"{output}.dense"), x, f"{output}.LayerNorm")
        inner = add("Gelu", [dense(x, f"{layer}.intermediate.dense")], f"{layer}.gelu")
        x = norm(dense(inner, f"{layer}.output.dense"), x, f"{layer}.output.LayerNorm")
    add("Reshape", [x, "shape"], OUTPUT)
    dimensions = weights[tables[0]].shape[1]
    graph = b"".join(
        [
            *(_field(1, node) for node in nodes),
            _field(2, "bert"),
            _field(5, _vector("flat", [-1, dimensions])),
            *(_field(5, _external(name, tensor, file)) for name, tensor in weights.items()),
            *(_field(11, _value(name, INT32, ("texts", "length"))) for name in INPUTS),
            _field(12, _value(OUTPUT, FLOAT, ("texts", "length", dimensions))),
        ]
    )
    opsets = [_field(1, domain) + _field(2, version) for domain, version in (("", OPSET), (FUSED, 1))]
    return _field(1, IR_VERSION) + _field(7, graph) + b"".join(_field(8, opset) for opset in opsets)


def _node(
    operator: str, inputs: Iterable[str], output: str, domain: str, attributes: Mapping[str, float]
) -> bytes:
    """A NodeProto. EmbedLayerNormalization has a second output, which must be named even if unused."""
    outputs = [output, f"{output}.unused"] if operator == "EmbedLayerNormalization" else [output]
    return b"".join(
        [
            *(_field(1, name) for name in inputs),
            *(_field(2, name) for name in outputs),
            _field(4, operator),
            *(_field(5, _attribute(name, value)) for name, value in attributes.items()),
            _field(7, domain),
        ]
    )


def _attribute(name: str, value: float) -> bytes:
    """An AttributeProto."""
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, INT_ATTRIBUTE)
    return _field(1, name) + _field(2, value) + _field(20, FLOAT_ATTRIBUTE)


def _vector(name: str, values: Sequence[int]) -> bytes:
    """A TensorProto of integers."""
    data = struct.pack(f"<{len(values)}q", *values)
    return _field(1, len(values)) + _field(2, INT64) + _field(8, name) + _field(9, data)


def _external(name: str, tensor: StoredTensor, file: str) -> bytes:
    """A TensorProto of floats whose values are in a file."""
    place = {"location": file, "offset": str(tensor.offset), "length": str(tensor.length)}
    return b"".join(
        [
            *(_field(1, size) for size in tensor.shape),
            _field(2, FLOAT),
            _field(8, name),
            *(_field(13, _field(1, key) + _field(2, value)) for key, value in place.items()),
            _field(14, EXTERNAL),
        ]
    )


def _value(name: str, kind: int, shape: Iterable[str | int]) -> bytes:
    """A ValueInfoProto; a dimension that is text can have any size."""
    sizes = b"".join(_field(1, _field(2 if isinstance(size, str) else 1, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, sizes)))


def _field(number: int, value: Any) -> bytes:
    """A field of a message: an integer, a float of 32 bits, or text or bytes with their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """A non-negative integer in base 128, lowest digit first; all but the last have the highest bit set."""
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])
