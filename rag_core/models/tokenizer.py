"""Token counts, without network access."""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path
from typing import Any

FALLBACK = "o200k_base"  # for models that tiktoken does not know


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


@functools.cache
def _encoding(model: str) -> Any:
    # LlamaIndex ships the encodings; otherwise tiktoken would download them.
    spec = importlib.util.find_spec("llama_index.core")
    if spec and spec.origin:
        cache = Path(spec.origin).parent / "_static" / "tiktoken_cache"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(cache))
    import tiktoken

    return tiktoken.get_encoding(encoding_name(model) or FALLBACK)
