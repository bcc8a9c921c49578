"""What became of uploaded files: the failed ones first, each with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages.drawing import tables, untrusted
from pages.drawing.translate import declared, plural, t, translated
from pages.drawing.untrusted import escape
from rag_core.values.prompt_injection import GIVES_ORDERS

if TYPE_CHECKING:
    from rag_core.lab.adding import FileOutcome

WORDS = {
    "failed": declared("not added"),
    "added": declared("added"),
    "changed": declared("replaced"),
    "unchanged": declared("unchanged"),
}
CSS = {"failed": "rl-low rl-refused", "added": "rl-high", "changed": "rl-high", "unchanged": "rl-low"}


def draw(title: str, files: Sequence[FileOutcome]) -> None:
    """Draw a line with the counts, then a table.

    Args:
        title: of the upload, as Markdown.
    """
    counted = Counter(one.status for one in files)
    parts = (
        plural("{count} not added", "{count} not added", counted["failed"]) if counted["failed"] else "",
        plural("{count} added", "{count} added", counted["added"]) if counted["added"] else "",
        plural("{count} replaced", "{count} replaced", counted["changed"]) if counted["changed"] else "",
        plural("{count} unchanged", "{count} unchanged", counted["unchanged"])
        if counted["unchanged"]
        else "",
    )
    counts = ", ".join(filter(None, parts))
    message = f"{title}: {untrusted.label(counts)}."
    if counted["failed"] == len(files):
        st.error(message)
    elif counted["failed"]:
        st.warning(message)
    else:
        st.success(message)
    told = [one for one in files if one.status == "failed" or one.reason or one.hidden or one.orders]
    if told:
        untrusted.draw(table(sorted(told, key=lambda one: one.status != "failed")))
    if smooth := [one for one in files if one not in told]:
        untrusted.draw(
            f'<details class="rl-smooth"><summary>{plural("The other file", "The other {count} files", len(smooth))}</summary>{table(smooth)}</details>'
            if told
            else table(smooth)
        )


def table(files: Sequence[FileOutcome]) -> str:
    """One row per file."""
    rows = (
        (
            escape(one.name),
            f'<span class="rl-label {CSS[one.status]}">{translated(WORDS[one.status])}</span>',
            _notes(one),
        )
        for one in files
    )
    heads = (t("File"), t("Result"), t("Why, and what to know"))
    return f'<div class="rl-files">{tables.listed(heads, rows)}</div>'


def _notes(one: FileOutcome) -> str:
    """The reason, what of the file is not read, and whether it gives orders."""
    notes = []
    if one.reason:
        reason = translated(one.reason)
        if one.status != "failed":
            reason = t("Not all of it: {reason}", reason=reason)
        notes.append(escape(f"{reason[:1].upper()}{reason[1:].rstrip('.')}."))
    if one.documents > 1:
        notes.append(t("Its {count:d} entries are searched one by one.", count=one.documents))
    if one.orders:
        notes.append(f"<b>{escape(translated(GIVES_ORDERS))}</b>")
    if one.hidden:
        pieces = "".join(f"<li>{escape(piece)}</li>" for piece in one.hidden)
        notes.append(
            f"{t('In the file, but not read ({count:d}):', count=len(one.hidden))}"
            f'<ul class="rl-hidden">{pieces}</ul>'
        )
    return "<br>".join(notes)
