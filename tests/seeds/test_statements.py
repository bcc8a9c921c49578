"""Defaults, options and commands that the seeds name and no other test holds by itself."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from fakes import QUESTION, WordReranker, talker

from rag_core.catalog import RECIPES, Number, build
from rag_core.context import Context, Once
from rag_core.settings import Settings
from rag_core.stages import Bm25
from rag_core.templates import (
    ASPECT_SPECIFIC,
    CLARIFICATION,
    COMPLICATIONS,
    ENTITY_AWARE,
    ENTITY_EXPANSION,
    EXPANDED,
    PARAPHRASING,
    RETRIEVAL_CONDENSE,
    STANDALONE,
    SYNONYMS,
    TRANSFORM,
)
from rag_core.trace import metrics


def control(strategy: str, name: str) -> object:
    return next(control for control in RECIPES[strategy].controls if control.name == name)


def test_the_models_are_the_seeds():
    settings = Settings()
    assert (settings.answer_model, settings.rewriter_model, settings.judge_model) == (
        "gpt-4o",  # seeds 000 to 002
        "gpt-3.5-turbo",  # seeds 000 and 001
        "gpt-4o",  # seed 004
    )


def test_models_that_seeds_name_and_this_lab_does_not_bundle_can_be_set(monkeypatch: pytest.MonkeyPatch):
    for variable, field, value in (
        ("RAG_EMBEDDING", "embedding", "openai:text-embedding-3-small"),  # seeds 002 and 004
        ("RAG_RERANKER", "reranker", "cross-encoder/ms-marco-MiniLM-L-6-v2"),  # seed 004
        ("RAG_RERANKER", "reranker", "mixedbread-ai/mxbai-rerank-large-v1"),  # seed 003
        ("RAG_REWRITER_MODEL", "rewriter_model", "llama-3.1-8b-instruct"),  # seed 004
    ):
        monkeypatch.setenv(variable, value)
        assert getattr(Settings(), field) == value


@pytest.mark.parametrize("temperature", [0.1, 0.3, 0.5])
def test_the_temperatures_of_seed_001_can_be_set(full: Context, temperature: float):
    llm = talker()
    ctx = Context(**{**vars(full), "llms": dict.fromkeys(full.llms, llm), "shared": Once()})
    build(("multi_query", {"rewriter_temperature": temperature})).run(QUESTION, ctx)
    sent = {(prompt.purpose, prompt.template.temperature) for prompt in llm.prompts}
    assert sent == {("rewrite", temperature), ("answer", 0.0)}


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (
            STANDALONE,
            ("stand on its own", "complete, specific and clear", "clinical words", "antenatal care"),
        ),
        (SYNONYMS, ("exact clinical terms", "other names", "meaning must not change")),
        (EXPANDED, ("complications, prevention, care", "special cases", "mother and baby")),
        (COMPLICATIONS, ("what can go wrong", "more at risk", "signs warn")),
        (PARAPHRASING, ("different words", "same meaning")),
        (ASPECT_SPECIFIC, ("one aspect",)),
        (ENTITY_AWARE, ("conditions, drugs, tests and procedures",)),
        (CLARIFICATION, ("what is vague",)),
        (ENTITY_EXPANSION, ("full name", "abbreviation", "synonym")),
        (RETRIEVAL_CONDENSE, ("fewest words",)),
        (TRANSFORM, ("terminology of clinical documents",)),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else "",
)
def test_each_template_asks_for_what_its_seed_asks_for(template, words: tuple[str, ...]):
    asked = template.fill(question="Q", form="sentence").render()
    for wanted in words:
        assert wanted in asked
    assert "pregnancy, birth and the time after it" in template.system


def test_keywords_are_first_made_a_full_question():
    asked = PARAPHRASING.fill(question="anti-D dose", form="keywords").render()
    assert "Form of the question: keywords." in asked
    assert "first make a full question of them, with the background they imply" in asked
    assert "when it is a sentence, treat it as it stands" in asked


def test_bm25_is_okapi_with_rank_bm25s_defaults():
    assert (Bm25().k1, Bm25().b) == (1.5, 0.75)
    defaults = {name: RECIPES["bm25"].build().controls[name] for name in ("k1", "b")}
    assert defaults == {"k1": 1.5, "b": 0.75}


@pytest.mark.parametrize(
    ("strategy", "name"),
    [
        ("hybrid_rrf", "mmr_lambda"),
        ("contextual", "vector_weight"),
        ("contextual", "bm25_weight"),
        ("rag_msr", "alpha"),
        ("rag_msr", "theta"),
    ],
)
def test_shares_go_from_nothing_to_all(strategy: str, name: str):
    found = control(strategy, name)
    assert isinstance(found, Number)
    assert (found.min, found.max) == (0, 1)


def test_costs_are_split_by_rewriting_and_answering(full: Context):
    told = metrics(build("multi_query").run(QUESTION, full).calls)
    assert (told["rewrite_cost"], told["answer_cost"], told["total_cost"]) == (0.75, 0.25, 1.0)
    assert (told["rewrite_input_tokens"], told["rewrite_output_tokens"]) == (300, 30)
    assert (told["answer_input_tokens"], told["answer_output_tokens"]) == (100, 10)
    assert (told["total_input_tokens"], told["total_output_tokens"]) == (400, 40)


@pytest.fixture
def commanded(full: Context, monkeypatch: pytest.MonkeyPatch) -> list:
    """The strategies that `rag query` built, run on fakes."""
    built: list = []

    def run(question: str, strategy):
        built.append(strategy)
        return strategy.run(question, full, engine={"llm": "told"})

    monkeypatch.setattr("rag_core.cli.app._lab", lambda corpus: SimpleNamespace(run=run))
    return built


@pytest.mark.parametrize(
    ("flags", "values"),
    [
        (["--search-type", "bm25"], {"search_type": "bm25"}),
        (["--search-type", "vector"], {"search_type": "vector"}),
        (
            ["--search-type", "hybrid", "--vector-weight", "0.7", "--bm25-weight", "0.3"],
            {"search_type": "hybrid", "vector_weight": 0.7, "bm25_weight": 0.3},
        ),
        (["--transform"], {"transform": True}),
        (["--rerank"], {"rerank": True}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_flags_of_seed_003(rag, commanded: list, flags: list[str], values: dict[str, object]):
    ran = rag("query", QUESTION, *flags, "--json")
    assert ran.code == 0, ran.err
    (built,) = commanded
    assert built == build(("contextual", values))
    assert ran.json["strategy"] == "contextual"


def test_show_details_prints_every_stage_with_its_time(rag, commanded: list):
    ran = rag("query", QUESTION, "--search-type", "hybrid", "--set", "k_candidates=20", "--show-details")
    assert ran.code == 0, ran.err
    for stage in ("Bm25 ∥ Dense", "Rrf", "Top", "Write"):
        (line,) = [line for line in ran.out.splitlines() if line.strip().startswith(f"{stage} ")]
        assert " ms " in line
    assert "passages: 20, 20" in ran.out


def test_a_plain_query_is_hybrid_search_of_contextual_passages():
    controls = build("contextual").controls
    assert (controls["search_type"], controls["enriched"]) == ("hybrid", True)
    assert (controls["transform"], controls["rerank"]) == (False, False)


def test_the_rerankers_scale_is_on_the_passages(full: Context):
    ctx = Context(**{**vars(full), "reranker": WordReranker("offline_scorer")})
    trace = build(("contextual", {"rerank": True})).run(QUESTION, ctx)
    assert {found.scale for found in trace.ranking} == {"offline_scorer"}
