"""The examples in docstrings run, and show what they say."""

import doctest
import importlib

from helpers.looping import for_each
from helpers.small import ROOT
from helpers.stage_classes import STAGE_CLASSES

from rag_core.evaluation import metrics
from rag_core.stages.select import mmr_order

MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "rag_core").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
EXAMPLES = [
    example
    for name in MODULES
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
    if example.examples
]
FORMULAS = [
    metrics.ndcg, metrics.recall, metrics.precision, metrics.hit, metrics.reciprocal_rank,
    metrics.average_precision, metrics.seed_ndcg, mmr_order,
]  # fmt: skip


@for_each("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_shows_what_comes_out(example):
    told: list[str] = []
    ran = doctest.DocTestRunner().run(example, out=told.append)
    assert ran.failed == 0, "".join(told)


@for_each("one", [*STAGE_CLASSES, *FORMULAS], ids=lambda one: one.__name__)
def test_every_stage_and_formula_has_an_example(one):
    assert "Example:\n" in (one.__doc__ or "")
    assert ">>> " in (one.__doc__ or "")
