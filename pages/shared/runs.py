"""Measured runs in words: their questions and strategies, as the language of the visit names them."""

from __future__ import annotations

from pathlib import Path

from pages.shared.i18n import said, t
from pages.shared.measuring import BUILTIN_LABEL
from rag_core import evaluation as ev


def asked(data: str, split: str) -> str:
    """The questions of a run: "Built-in questions (test)"; those of a BEIR folder by the folder's name."""
    name = said(BUILTIN_LABEL) if data == ev.BUILTIN_DATA else data
    return t("{questions} ({split})", questions=name, split=split)


def strategies(manifest: ev.Manifest) -> dict[str, str]:
    """Label -> title and settings of each strategy of a run."""
    return {label: said(title) for label, title in ev.titles(manifest).items()}


def title(folder: Path) -> str:
    """A run in one line: when, on which questions, which strategies.

    Raises:
        RagError: its manifest cannot be read.
    """
    manifest = ev.Manifest.read(folder / "manifest.json")
    names = ", ".join(strategies(manifest).values())
    return f"{manifest.minute} · {asked(manifest.data, manifest.split)} · {names}"
