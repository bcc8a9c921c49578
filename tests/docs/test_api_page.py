"""The API page: made by pdoc from docstrings (`make api`), with every public name explained."""

import re

import pdoc
import pdoc.render

import rag_core

SKIPPED = {"NOTICE", "RECIPES", "Event"}  # values and a type, which have no docstring


def test_the_page_names_and_explains_every_public_name(tmp_path):
    pdoc.render.configure(docformat="google", show_source=False)
    pdoc.pdoc("rag_core", "!rag_core.", output_directory=tmp_path)
    page = (tmp_path / "rag_core.html").read_text(encoding="utf-8")
    sections = dict(re.findall(r'<section id="(\w+)">(.*?)(?=<section id="\w+">|</main>)', page, re.DOTALL))
    public = {*rag_core.__all__} - {"__version__"}
    assert public <= sections.keys()
    explained = {name for name, text in sections.items() if 'class="docstring"' in text}
    assert public - explained - SKIPPED == set()
    assert {path.name for path in tmp_path.iterdir()} == {"index.html", "rag_core.html", "search.js"}
