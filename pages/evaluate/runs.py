"""Measured runs in words: their questions and strategies, as the language of the visit names them."""

from __future__ import annotations

from pages.drawing.translate import t, translated
from rag_core import evaluation as ev


def asked(data: str, split: str) -> str:
    """The questions of a run: "Built-in questions (test)"; those of a BEIR folder by the folder's name."""
    return t("{questions} ({split})", questions=translated(ev.data_title(data)), split=split)


def strategies(manifest: ev.Manifest) -> dict[str, str]:
    """Label -> title and settings of each strategy of a run."""
    return {label: translated(title) for label, title in ev.titles(manifest).items()}
