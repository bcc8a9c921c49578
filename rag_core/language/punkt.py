"""NLTK's Punkt (Kiss and Strunk 2006), which finds where sentences end, without the rest of NLTK.

`import nltk` loads scipy, pandas and scikit-learn, a second and 160 MB, for parts that we do not use. Punkt needs none
of them, so it is imported below a package whose own start is left out; other imports of `nltk` are not touched.
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
    """NLTK's Punkt for a language; the English one for a language without a model here."""
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
        punkt = importlib.import_module("nltk.tokenize.punkt")
        models = trained() / "tokenizers" / "punkt_tab"
        read = {language: _parameters(punkt.PunktParameters(), models / model) for language, model in MODELS.items()}
        return {language: punkt.PunktSentenceTokenizer(parameters) for language, parameters in read.items()}


def _parameters(parameters: Any, folder: Path) -> Any:
    """What is known of a language, from the files of its model; NLTK's reader of them takes ten times as long."""

    def rows(name: str) -> list[list[str]]:
        return [line.split("\t") for line in (folder / name).read_text(encoding="utf-8").splitlines()]

    parameters.collocations = {(first, second) for first, second in rows("collocations.tab")}
    parameters.sent_starters = {word for (word,) in rows("sent_starters.txt")}
    parameters.abbrev_types = {word for (word,) in rows("abbrev_types.txt")}
    parameters.ortho_context.update((word, int(number)) for word, number in rows("ortho_context.tab"))
    return parameters


@contextmanager
def _nltk_not_started() -> Iterator[None]:
    """Let parts of NLTK be imported without the whole, and forget them at the end; nothing if it is loaded already."""
    if "nltk" in sys.modules:
        yield
        return
    try:
        for package in ("nltk", "nltk.tokenize"):
            if spec := importlib.util.find_spec(package):
                sys.modules[package] = importlib.util.module_from_spec(spec)
        yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
            del sys.modules[name]
