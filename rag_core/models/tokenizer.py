"""Token counts, without network access."""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path
from typing import Any


def count_tokens(text: str, model: str = "gpt-4o") -> int:
    """The token count of a text in the model's encoding, or in o200k_base if it is not an OpenAI model."""
    return len(_encoding(model).encode(text, disallowed_special=()))


@functools.cache
def _encoding(model: str) -> Any:
    # LlamaIndex ships the encodings; otherwise tiktoken would download them.
    spec = importlib.util.find_spec("llama_index.core")
    if spec and spec.origin:
        cache = Path(spec.origin).parent / "_static" / "tiktoken_cache"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(cache))
    import tiktoken

    try:
        return tiktoken.encoding_for_model(model)
    except KeyError:
        return tiktoken.get_encoding("o200k_base")
