"""Writes rag_core/models/minilm.onnx: all-MiniLM-L6-v2's network with its weights left in model.safetensors.

Run `python -m helpers.minilm_graph` in tests/. The fused operators are onnxruntime's (domain com.microsoft). Field
numbers are those of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), wire types those of
https://protobuf.dev/programming-guides/encoding; the package `onnx` is not needed.
"""

import json
import struct
from pathlib import Path

from rag_core.models.minilm import GRAPH, MODEL, location, minilm_folder

FUSED, FLOAT, INT32, INT64 = "com.microsoft", 1, 6, 7
NOT_READ = ("embeddings.position_ids", "pooler.")  # tensors that do not contribute to the vectors


def field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(number: int) -> bytes:
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


def fields(number: int, values) -> bytes:
    return b"".join(field(number, value) for value in values)


def attribute(name: str, value: float) -> bytes:
    whole = isinstance(value, int)
    return field(1, name) + field(3 if whole else 2, value) + field(20, 2 if whole else 1)


def tensor(name: str, about: dict, start: int) -> bytes:
    begin, end = about["data_offsets"]
    place = {"location": location(MODEL).decode(), "offset": str(start + begin), "length": str(end - begin)}
    entries = (field(1, key) + field(2, value) for key, value in place.items())
    return fields(1, about["shape"]) + field(2, FLOAT) + field(8, name) + fields(13, entries) + field(14, 1)


def value(name: str, kind: int, shape: tuple) -> bytes:
    sizes = fields(1, (field(2 if isinstance(size, str) else 1, size) for size in shape))
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, sizes)))


def graph(weights: Path, layers: int = 6, heads: int = 12, size: int = 384, epsilon: float = 1e-12) -> bytes:
    """The encoder of Devlin et al., "BERT", NAACL 2019, as transformers' BertModel computes it."""
    nodes: list[bytes] = []

    def add(operator: str, inputs: list[str], output: str, domain: str = "", **attributes: float) -> str:
        # EmbedLayerNormalization has a second output, which must be named even if unused
        outputs = [output, f"{output}.unused"] if operator == "EmbedLayerNormalization" else [output]
        described = fields(5, (attribute(*item) for item in attributes.items()))
        nodes.append(fields(1, inputs) + fields(2, outputs) + field(4, operator) + described + field(7, domain))
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
    add("Reshape", [x, "shape"], "vectors")
    with weights.open("rb") as file:  # https://huggingface.co/docs/safetensors
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    stored = {name: about for name, about in header.items() if not name.startswith(("__", *NOT_READ))}
    flat = field(1, 2) + field(2, INT64) + field(8, "flat") + field(9, struct.pack("<2q", -1, size))
    body = (
        fields(1, nodes)
        + field(2, "bert")
        + fields(5, [flat, *(tensor(name, about, 8 + length) for name, about in stored.items())])
        + fields(11, (value(name, INT32, ("texts", "length")) for name in ("ids", "types", "mask")))
        + field(12, value("vectors", FLOAT, ("texts", "length", size)))
    )
    opsets = [field(1, domain) + field(2, version) for domain, version in (("", 20), (FUSED, 1))]
    return field(1, 10) + field(7, body) + fields(8, opsets)  # the format of ONNX 1.16, the first with Gelu


if __name__ == "__main__":
    GRAPH.write_bytes(graph(minilm_folder() / MODEL))
