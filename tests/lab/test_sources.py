"""Sources are named as a person can find them: a document's title and a section it has, never a number of ours."""

import inspect
import re
from collections.abc import Mapping

import pytest
from helpers.looping import for_each
from helpers.small import ROOT

from rag_core.catalog import RECIPES
from rag_core.values.settings import Settings

# The headings of the documents the strategies come from, as they are printed there.
SECTIONS: Mapping[str, frozenset[str]] = {
    "Multi-Query Rewriter RAG": frozenset(
        [
            "Pipeline Steps", "Query Rewriting Templates", "Core Processing Function",
            "Rewriter Model Temperature", "Number of Final Documents", "Query Weighting Strategy",
            "Comparison with Other Architectures", "Advanced", "Default Models",
        ]
    ),
    "Hybrid RRF module": frozenset(["Retrieval Settings", "Default Models"]),
    "Query System with Contextual Retrieval": frozenset(
        ["Query Transformation", "Rank Fusion", "Reranking", "Query Command Usage"]
    ),
    "RAG-MSR README": frozenset(
        [
            "Step 1",
            "Step 2",
            "Step 3",
            "LLM Scoring",
            "Experiment Results",
            "Reformulation Improvement",
            "Reformulation Error Analysis",
        ]
    ),
}  # fmt: skip
PUBLISHED = (
    "Robertson and Zaragoza 2009",
    "Gao et al. 2023",
    "Cormack et al. 2009",
    "RAG-MSR, README",
    "Nogueira et al. 2019",
)
READ = [
    *(ROOT / "rag_core").rglob("*.py"),
    *(ROOT / "pages").rglob("*.py"),
    ROOT / "app.py",
    ROOT / "README.md",
    ROOT / "data" / "README.md",
]


@for_each("path", READ, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_source_is_called_by_a_number(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"(?i)\bseeds?(?:'s)? 00\d.*|\bthe seeds?\b.*", text) == []


def told() -> dict[str, str]:
    """Every line of the catalog and the settings that may name a source."""
    lines = {"settings": " ".join(inspect.getsource(Settings).split())}
    for recipe in RECIPES.values():
        lines[f"{recipe.name} source"] = recipe.source
        lines |= {f"{recipe.name}.{control.name}": control.help for control in recipe.controls}
        lines |= {f"{recipe.name}@{preset.name}": preset.help for preset in recipe.presets}
    return lines


@pytest.mark.parametrize(("title", "sections"), SECTIONS.items(), ids=SECTIONS)
def test_a_section_that_is_named_is_one_of_its_document(title, sections):
    named = {
        section.strip()
        for line in told().values()
        for section in re.findall(re.escape(title) + r", ([A-Z][\w ]*)", line)
    }
    assert named
    assert {section for section in named if not any(section.startswith(known) for known in sections)} == set()


@for_each("recipe", RECIPES.values(), ids=RECIPES)
def test_a_strategy_names_a_document_or_a_paper(recipe):
    assert recipe.name == "ensemble" or any(title in recipe.source for title in (*SECTIONS, *PUBLISHED))
    assert recipe.source.startswith("Ours: ") == (recipe.name == "ensemble")
