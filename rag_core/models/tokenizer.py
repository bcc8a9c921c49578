"""Token counts, without network access."""

import base64
import functools
import importlib.util
import io
import itertools
import os
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FALLBACK = "o200k_base"  # for models that tiktoken does not know
FEW = 2  # times that the vocabulary is read for the tokens of a few texts; after that it is loaded
LONGEST = 128  # bytes of a token of FALLBACK

_times = itertools.count()


def count_tokens(text: str, model: str = "gpt-4o") -> int:
    """The token count of a text in the model's encoding, or in `FALLBACK` if it is not an OpenAI model."""
    return len(_encoding(model).encode(text, disallowed_special=()))


def encoding_name(model: str) -> str | None:
    """The name of a model's encoding, "o200k_base" for example; None if it is not a known OpenAI model."""
    import tiktoken

    try:
        return tiktoken.encoding_name_for_model(model)
    except KeyError:
        return None


def count_fallback(texts: Sequence[str]) -> list[int]:
    """Token counts in `FALLBACK`; all of it takes 0.2 s and 45 MB: where little is counted, only its part is read."""
    encoding = _encoding(FALLBACK) if next(_times) >= FEW else _for(texts)
    return [len(encoding.encode(text, disallowed_special=())) for text in texts]


@functools.cache
def _encoding(model: str) -> Any:
    encoding = _tiktoken().get_encoding(encoding_name(model) or FALLBACK)
    encoding._mergeable_ranks = {}  # 30 MB; the encoder has its own copy
    return encoding


def _for(texts: Sequence[str]) -> Any:
    """`FALLBACK` with the tokens that these texts can have."""
    tiktoken = _tiktoken()
    import regex  # type: ignore[import-untyped]
    from tiktoken.load import read_file_cached
    from tiktoken_ext import openai_public as public  # type: ignore[import-untyped]

    def described(load: Any) -> dict[str, Any]:
        described = types.FunctionType(public.o200k_base.__code__, {**vars(public), "load_tiktoken_bpe": load})
        return described()  # type: ignore[no-any-return]

    words = regex.compile(described(lambda *args, **more: {})["pat_str"])
    # as tiktoken does
    texts = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    parts = {bytes([one]) for one in range(256)}
    for word in {word.encode() for text in texts for word in words.findall(text)}:
        for start in range(len(word)):
            parts.update(word[start:end] for end in range(start + 1, min(start + LONGEST, len(word)) + 1))
    wanted = set(map(base64.b64encode, parts))

    def load(url: str, expected_hash: str) -> dict[bytes, int]:
        lines = (line.split() for line in io.BytesIO(read_file_cached(url, expected_hash)))
        return {base64.b64decode(token): int(rank) for token, rank in lines if token in wanted}

    return tiktoken.Encoding(**described(load))


def _tiktoken() -> Any:
    """tiktoken, with the encodings that LlamaIndex ships; otherwise it would download them."""
    spec = importlib.util.find_spec("llama_index.core")
    if spec and spec.origin:
        cache = Path(spec.origin).parent / "_static" / "tiktoken_cache"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(cache))
    import tiktoken

    return tiktoken
