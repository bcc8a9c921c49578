"""NLTK's Punkt (Kiss and Strunk 2006), which finds where sentences end, without the rest of NLTK.

`import nltk` loads scipy, pandas and scikit-learn for parts that we do not use: a second and 160 MB. Punkt needs none of
them, so it is imported below a package whose own start is left out. What other code imports as `nltk` is not touched.
"""

import functools
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODELS = {"en": "english", "es": "spanish"}  # ISO 639-1 code -> name of Punkt's model

_lock = threading.RLock()


def splitter(language: str) -> Any:
    """NLTK's `PunktTokenizer` for a language; the English one for a language without a model here."""
    with _lock:  # two threads must not load it at once
        loaded = _load()
    return loaded.get(language, loaded["en"])


@functools.cache
def trained() -> Path:
    """The folder of NLTK's stop words and sentence models that LlamaIndex ships, found without importing either."""
    spec = importlib.util.find_spec("llama_index")
    places = spec.submodule_search_locations if spec else None
    folders = [Path(place, "core", "_static", "nltk_cache") for place in places or ()]
    return next(folder for folder in folders if folder.is_dir())


@functools.cache
def _load() -> Mapping[str, Any]:
    with _nltk_not_started():
        importlib.import_module("nltk.data").path.insert(0, str(trained()))
        punkt = importlib.import_module("nltk.tokenize.punkt")
        return {language: punkt.PunktTokenizer(model) for language, model in MODELS.items()}


@contextmanager
def _nltk_not_started() -> Iterator[None]:
    """Let parts of NLTK be imported without the whole, and forget them at the end; nothing if it is loaded already."""
    spec = importlib.util.find_spec("nltk")
    if spec is None or "nltk" in sys.modules:
        yield
        return
    sys.modules["nltk"] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
            del sys.modules[name]
