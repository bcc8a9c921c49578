"""What became of uploaded files: the failed ones first, each with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

import rag_core
from pages.shared import foreign
from pages.shared.foreign import escape

WORDS = {"failed": "not added", "added": "added", "changed": "replaced", "unchanged": "unchanged"}
CSS = {"failed": "rl-low rl-refused", "added": "rl-high", "changed": "rl-high", "unchanged": "rl-low"}


def draw(title: str, files: Sequence[rag_core.FileOutcome]) -> None:
    """Draw a line with the counts, then a table.

    Args:
        title: of the upload, as Markdown.
    """
    counted = Counter(one.status for one in files)
    said = ", ".join(f"{counted[status]:d} {WORDS[status]}" for status in WORDS if counted[status])
    message = f"{title}: {foreign.label(said)}."
    if counted["failed"] == len(files):
        st.error(message)
    elif counted["failed"]:
        st.warning(message)
    else:
        st.success(message)
    told = [one for one in files if one.status == "failed" or one.reason or one.hidden or one.orders]
    if told:
        foreign.draw(table(sorted(told, key=lambda one: one.status != "failed")))
    if smooth := [one for one in files if one not in told]:
        foreign.draw(
            f'<details class="rl-files"><summary>The other {len(smooth):d} files</summary>{table(smooth)}</details>'
            if told
            else table(smooth)
        )


def table(files: Sequence[rag_core.FileOutcome]) -> str:
    """One row per file."""
    rows = "".join(
        f'<tr><td>{escape(one.name)}</td><td><span class="rl-label {CSS[one.status]}">{WORDS[one.status]}</span></td>'
        f"<td>{_notes(one)}</td></tr>"
        for one in files
    )
    return (
        '<table class="rl-table rl-files"><thead><tr><th>File</th><th>Result</th><th>Why, and what to know</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )


def _notes(one: rag_core.FileOutcome) -> str:
    """The reason, what the file hides, and whether it gives orders."""
    notes = []
    if one.reason:
        reason = one.reason if one.status == "failed" else f"Not all of it: {one.reason}"
        notes.append(escape(f"{reason[:1].upper()}{reason[1:].rstrip('.')}."))
    if one.documents > 1:
        notes.append(f"{one.documents:d} documents.")
    if one.orders:
        notes.append(f"<b>{escape(rag_core.GIVES_ORDERS)}</b>")
    if one.hidden:
        pieces = "".join(f"<li>{escape(piece)}</li>" for piece in one.hidden)
        notes.append(
            f'<details><summary>Hidden from readers, not indexed ({len(one.hidden):d})</summary><ul class="rl-hidden">'
            f"{pieces}</ul></details>"
        )
    return "<br>".join(notes)
