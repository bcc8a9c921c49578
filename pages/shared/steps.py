"""What a job, or the engine while it starts, is doing."""

from __future__ import annotations

from pages.drawing.translate import declared, translated

TITLES = {
    "measuring": declared("measuring"),
    "computing intervals": declared("computing intervals"),
    "sweeping": declared("trying settings"),
    "running again from scratch": declared("running the best again from scratch"),
    "opening the documents": declared("opening the documents"),
    "opening the index": declared("opening the index"),
    "waiting for your consent": declared("waiting for your consent"),
    "waiting for the earlier one to stop": declared("waiting for the earlier one to stop"),
    "waiting for an earlier change to end": declared("waiting for an earlier change to end"),
    "waiting for another process to write the index": declared(
        "waiting for another process to write the index"
    ),
    "waiting for the models": declared("waiting for the models"),
    "waiting": declared("waiting"),
    "reading files": declared("reading files"),
    "checking answers": declared("checking answers"),
    "split": declared("cutting into passages"),
    "enrich": declared("writing contexts"),
    "embed": declared("embedding passages"),
    "lexical": declared("indexing words"),
    "sentences": declared("reading sentences"),
    "store": declared("storing passages"),
    "check": declared("checking the index"),
    "commit": declared("putting the index in place"),
    "ready": declared("ready"),
    "loading the embedding model": declared("loading the embedding model"),
    "loading the language tools": declared("loading the language tools"),
    "loading the answer engine": declared("loading the answer engine"),
    "asking a first question": declared("asking a first question"),
}


def title(name: str) -> str:
    """A step in words, with its count if it has one ("embed 5/20"); one without a title by its name."""
    what, _, count = name.rpartition(" ")
    if "/" in count:
        return f"{title(what)} {count}"
    return translated(TITLES.get(name, name))
