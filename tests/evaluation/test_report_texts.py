"""Reports in Markdown: a label, a group or a title from a file is only ever text."""

import json
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from rag_core import evaluation as ev
from rag_core.evaluation.tables import BEGIN, END

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "data" / "results.json"
HOSTILE = (
    "a|b",
    "`code` `` more",
    "[link](https://evil.example)",
    "![picture](//evil.example/x.png)",
    "<img src=x onerror=alert(1)>",
    "first\nsecond\n\n# third",
    f"x {END} y",
    "**bold** _slanted_ ~~gone~~ \\",
    "| --- |",
    "\x1b[2Jgone",
    "# heading",
    "- item",
)
ALLOWED = {"p", "table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li"}


def renamed(value: Any, names: dict[str, str]) -> Any:
    """JSON with these texts replaced, as keys and as values, also inside longer texts."""
    if isinstance(value, dict):
        return {renamed(key, names): renamed(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new) if value.startswith((old, "multi")) else value
    return value


def tags(text: str) -> set[str]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    return {token.tag or token.type for token in (*tokens, *inline)} - {"text", "inline", "softbreak", "br"}


def columns(text: str) -> list[set[int]]:
    """For each table, the numbers of cells in its rows as Markdown counts them."""
    found: list[set[int]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            found.append(set())
        elif token.type == "tr_open":
            cells = 0
        elif token.type in ("td_open", "th_open"):
            cells += 1
        elif token.type == "tr_close":
            found[-1].add(cells)
    return found


@pytest.mark.parametrize("foreign", HOSTILE)
def test_a_foreign_label_group_and_title_are_text(foreign, tmp_path):
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    kinds = next(iter(stored["groups"].values()))
    names = {"hybrid_rrf": foreign, next(iter(kinds)): foreign, stored["data"]: foreign}
    changed = renamed(stored, names)
    assert changed != stored
    results = ev.Results.model_validate(changed)
    written, usual = ev.markdown(results), ev.markdown(ev.Results.read(FILE))
    assert tags(written) <= ALLOWED
    assert columns(written) == columns(usual)
    assert written.count("\n") <= usual.count("\n") + 1, "a renamed strategy has a line in the legend"
    assert "\x1b" not in written
    report = tmp_path / "report.md"
    report.write_text(f"{BEGIN}\n{END}\nAfter\n")
    for _ in range(2):
        ev.put_table(report, written)
    assert report.read_text(encoding="utf-8").count("After") == 1
    assert report.read_text(encoding="utf-8").count(END) == 1
