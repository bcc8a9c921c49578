import doctest
import importlib
import threading

import numpy as np
import pytest
from helpers.looping import for_each
from helpers.small import ROOT
from helpers.stage_classes import STAGE_CLASSES

from rag_core.catalog import RECIPES
from rag_core.evaluation import metrics
from rag_core.prompts.templates import HYPOTHETICAL, MULTI_QUERY
from rag_core.stages.select import mmr_split
from rag_core.testing import (
    PASSAGES,
    BagOfWords,
    MemoryIndex,
    ScriptedLlm,
    WordOverlap,
    sample_context,
    sample_services,
)
from rag_core.values.errors import ProviderError

GOOD = RECIPES["bm25"]


def test_the_collection_has_two_passages_that_tie_and_two_of_equal_text():
    assert len(PASSAGES) == len({one.id for one in PASSAGES}) == 1 + len({one.text for one in PASSAGES}) == 13
    assert PASSAGES[10].text == PASSAGES[12].text
    index, embedder = MemoryIndex(), BagOfWords()
    (vector,), _ = embedder.embed(("Horses sleep",))
    first, second, *_ = index.dense(vector, 12)
    assert (first.id, second.id, first.score) == ("p11", "p12", second.score)
    assert [hit.id for hit in index.lexical("stable", 5, 1.5, 0.75)] == ["p11", "p12", "p13"]
    assert index.lexical("xylophone", 5, 1.5, 0.75) == []
    assert np.allclose(np.linalg.norm(index.vectors(list(index.passages)), axis=1), 1)
    with pytest.raises(KeyError):
        index.vectors(["elsewhere"])
    assert MemoryIndex(()).dense(vector, 3) == MemoryIndex(()).lexical("cats", 3, 1.5, 0.75) == []


def test_the_scripted_model_replies_by_rule_or_as_it_was_set():
    services = sample_services()
    ctx = sample_context(services)
    (hit, *_) = services.index.lexical("cats purr", 1, 1.5, 0.75)
    trace = GOOD.build().run("Do cats purr?", services)
    assert trace.answer.text.endswith("[1].")
    assert ctx.rerank("cats purr", [hit])[0] == [2.0]
    set_to = ScriptedLlm(ProviderError("No.", "Wait."), templates={"hypothetical": "Cats purr."})
    context = sample_context(sample_services(llm=set_to))
    assert context.complete(HYPOTHETICAL.fill(question="q")) == "Cats purr."
    with pytest.raises(ProviderError):
        context.complete(MULTI_QUERY[0].fill(question="q"))
    assert [prompt.template.name for prompt in set_to.prompts] == ["hypothetical", MULTI_QUERY[0].name]


def test_the_scripted_model_stops():
    stop = threading.Event()
    replies = ScriptedLlm("one two three").stream(HYPOTHETICAL.fill(question="q"), stop.is_set)
    assert next(replies) == "one "
    stop.set()
    (bill,) = replies
    assert bill.output_tokens == 1
    assert WordOverlap().scale == "cross_encoder"


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
    metrics.average_precision, metrics.seed_ndcg, mmr_split,
]  # fmt: skip


@for_each("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_shows_what_comes_out(example):
    told: list[str] = []
    ran = doctest.DocTestRunner().run(example, out=told.append)
    assert ran.failed == 0, "".join(told)


@for_each("one", [*STAGE_CLASSES, *FORMULAS], ids=lambda one: one.__name__)
def test_every_stage_and_formula_has_an_example(one):
    assert ">>> " in (one.__doc__ or "")
