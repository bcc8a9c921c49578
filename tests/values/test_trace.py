import json
from dataclasses import replace

import pytest
from helpers.small import DOCUMENTS

from rag_core.catalog import build
from rag_core.documents.documents import Document
from rag_core.runtime.services import Services
from rag_core.testing import ScriptedLlm
from rag_core.values.trace import Step, Trace, metrics
from rag_core.values.types import ModelCall, State

# Seed 000's metrics dict.
SEED_METRICS = [
    "rewrite_input_tokens", "rewrite_output_tokens", "rewrite_cost",
    "answer_input_tokens", "answer_output_tokens", "answer_cost",
    "total_input_tokens", "total_output_tokens", "total_cost", "usage_source", "cost_source",
]  # fmt: skip
# Design 2.4: the keys of `rag query --json`.
FIELDS = [
    "question", "strategy", "controls", "fingerprint", "queries", "contexts", "answer", "steps", "metrics",
    "seconds", "warnings", "engine", "models", "triage", "country", "notice",
]  # fmt: skip
ENGINE = {"llm": "scripted", "embedding": "words", "reranker": None, "index": "animals"}
QUESTION = "Do cats sleep?"


def call(purpose: str, sent: int, received: int, cost: float | None, by: str = "provider") -> ModelCall:
    return ModelCall(purpose, "m", sent, received, cost, by)  # type: ignore[arg-type]


REWRITE_1 = call("rewrite", 10, 3, 0.5)
REWRITE_2 = call("rewrite", 20, 4, 0.25)
ANSWER = call("answer", 100, 50, 2.0)
EMBED = call("embed", 7, 0, 0.125, "tokenizer")


def of_calls(*groups: tuple[ModelCall, ...], seconds: float = 0.5) -> Trace:
    steps = tuple(Step("S", "answer", {}, State.start("q"), seconds, calls) for calls in groups)
    return Trace("q", "mine", {}, "0" * 12, steps)


@pytest.fixture
def trace(services: Services) -> Trace:
    return build(("hybrid_rrf", {"k_final": 3})).run(QUESTION, replace(services, engine=ENGINE))


def test_a_trace_as_json_has_exactly_the_fields_of_the_design(trace):
    shown = trace.as_json()
    assert list(shown) == FIELDS
    assert {tuple(query) for query in shown["queries"]} == {("text", "origin", "weight", "read_as")}
    assert {tuple(context) for context in shown["contexts"]} == {
        (
            "id", "doc_id", "title", "text", "source", "sources", "difference", "gives_orders",
            "differs_from", "age_years", "old", "rank", "score", "score_scale", "label", "votes",
        )
    }  # fmt: skip
    votes = [vote for context in shown["contexts"] for vote in context["votes"]]
    assert {tuple(vote) for vote in votes} == {("stage", "query", "rank", "score", "scale", "note", "terms")}
    assert list(shown["answer"]) == [
        "text", "citations", "invalid_citations", "sentences", "abstained", "reason", "notice", "remarks",
        "suggestions",
    ]  # fmt: skip
    assert {tuple(cited) for cited in shown["answer"]["citations"]} == {("n", "context_id", "quote", "supported")}
    assert {tuple(step) for step in shown["steps"]} == {
        ("stage", "kind", "params", "seconds", "searches", "calls", "started", "reused")
    }
    calls = [made for step in shown["steps"] for made in step["calls"]]
    assert {tuple(made) for made in calls} == {
        ("purpose", "model", "input_tokens", "output_tokens", "cost_usd", "counted_by", "started", "seconds", "shared")
    }  # fmt: skip
    searches = [search for step in shown["steps"] for search in step["searches"]]
    assert {tuple(search) for search in searches} == {("retriever", "query", "passages", "seconds", "started")}
    assert list(shown["engine"]) == ["llm", "embedding", "reranker", "index"]


def test_a_trace_survives_json_unchanged(trace):
    shown = trace.as_json()
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown


def test_the_contexts_are_the_ranking_in_order_with_every_vote(trace):
    shown = trace.as_json()["contexts"]
    texts: dict[str, Document] = {document.id: document for document in DOCUMENTS}
    assert [context["rank"] for context in shown] == [1, 2, 3]
    assert [context["id"] for context in shown] == [hit.id for hit in trace.ranking]
    for context, hit in zip(shown, trace.ranking, strict=True):
        document = texts[context["doc_id"]]
        assert (context["title"], context["text"]) == (document.title, document.text)
        assert (context["score"], context["score_scale"]) == (hit.score, "mmr")
        assert [vote["scale"] for vote in context["votes"]][-2:] == ["rrf", "mmr"]
        terms = context["votes"][-1]["terms"]
        assert context["score"] == pytest.approx(sum(term["weight"] * term["value"] for term in terms))
        assert context["label"] == hit.relevance.label
        assert [vote["stage"] for vote in context["votes"]][-2:] == ["ReciprocalRankFusion", "Mmr"]
        assert {vote["stage"] for vote in context["votes"]} <= {
            "Bm25",
            "Dense",
            "ReciprocalRankFusion",
            "Mmr",
        }


def test_what_was_asked_and_set_is_in_the_trace(trace):
    shown = trace.as_json()
    assert (shown["question"], shown["strategy"]) == (QUESTION, "hybrid_rrf")
    assert shown["controls"] == {
        "k_bm25_candidates": 15, "k_semantic_candidates": 15, "rrf_k": 60, "k_rrf_pool": 10,
        "mmr": True, "mmr_lambda": 0.7, "k_final": 3, "deduplicate": True, "answer_prompt": "answer",
    }  # fmt: skip
    assert shown["queries"] == [{"text": QUESTION, "origin": "question", "weight": 1.0, "read_as": None}]
    assert shown["fingerprint"] == build(("hybrid_rrf", {"k_final": 3})).fingerprint
    assert shown["engine"] == ENGINE


def test_the_answer_and_its_citations_are_in_the_trace(trace):
    answer = trace.as_json()["answer"]
    assert answer["text"] == "Cats purr [1]. They sleep [2]."
    assert [cited["n"] for cited in answer["citations"]] == [1, 2]
    assert [cited["context_id"] for cited in answer["citations"]] == [hit.id for hit in trace.ranking][:2]
    assert (answer["abstained"], answer["reason"]) == (False, "")


def test_without_an_answer_stage_there_is_no_answer_and_no_label(services):
    shown = build("bm25").without_answer().run(QUESTION, services).as_json()
    assert shown["answer"] is None
    assert shown["contexts"] != []
    assert {context["label"] for context in shown["contexts"]} == {None}


def test_an_abstention_is_in_the_trace(services):
    shown = build("bm25").run("zebra xylophone", services).as_json()
    assert shown["contexts"] == []
    assert (shown["answer"]["abstained"], shown["answer"]["citations"]) == (True, [])
    assert shown["answer"]["reason"] == "No passage was found for this question."


def test_warnings_of_every_stage_are_in_the_trace(services):
    told = replace(services, llms={"answer": ScriptedLlm("Cats sleep.")})
    shown = build(("hybrid_rrf", {"k_rrf_pool": 3, "k_final": 8})).run(QUESTION, told).as_json()
    assert shown["warnings"] == [
        "The answer cites none of its passages.",
        "k_final is 8, but k_rrf_pool passes on only 3.",
    ]


def test_the_metrics_have_exactly_the_keys_of_seed_000(trace):
    assert list(trace.as_json()["metrics"]) == SEED_METRICS
    assert list(metrics(())) == SEED_METRICS


def test_tokens_and_costs_are_summed_by_purpose():
    found = metrics((REWRITE_1, REWRITE_2, ANSWER))
    assert (found["rewrite_input_tokens"], found["rewrite_output_tokens"]) == (10 + 20, 3 + 4)
    assert (found["answer_input_tokens"], found["answer_output_tokens"]) == (100, 50)
    assert (found["rewrite_cost"], found["answer_cost"]) == (0.5 + 0.25, 2.0)
    assert (found["total_input_tokens"], found["total_output_tokens"]) == (30 + 100, 7 + 50)
    assert found["total_cost"] == 0.75 + 2.0


def test_embeddings_are_in_the_total_cost_but_not_in_the_token_totals():
    found = metrics((EMBED, ANSWER))
    assert (found["total_input_tokens"], found["total_output_tokens"]) == (100, 50)
    assert found["total_cost"] == 2.0 + 0.125


@pytest.mark.parametrize(
    ("calls", "unknown"),
    [
        ((call("rewrite", 1, 1, None), ANSWER), {"rewrite_cost", "total_cost"}),
        ((REWRITE_1, call("answer", 1, 1, None)), {"answer_cost", "total_cost"}),
        ((REWRITE_1, ANSWER, call("embed", 1, 0, None)), {"total_cost"}),
        ((REWRITE_1, ANSWER), set()),
    ],
    ids=["rewrite", "answer", "embedding", "none"],
)
def test_an_unknown_price_makes_its_sums_unknown_never_zero(calls, unknown):
    found = metrics(calls)
    assert {key for key, value in found.items() if value is None} == unknown
    assert found["cost_source"] == ("unknown" if unknown else "data/prices.toml")
    assert of_calls(calls).cost_usd == found["total_cost"]


def test_a_call_of_unknown_price_is_null_in_json(services):
    unpriced = ScriptedLlm("Cats sleep [1].", cost_usd=None)
    shown = build("bm25").run(QUESTION, replace(services, llms={"answer": unpriced})).as_json()
    answers = [made for step in shown["steps"] for made in step["calls"] if made["purpose"] == "answer"]
    assert [made["cost_usd"] for made in answers] == [None]
    assert shown["metrics"]["total_cost"] is None
    assert '"cost_usd": null' in json.dumps(shown)


@pytest.mark.parametrize(
    ("calls", "source"),
    [
        ((), "none"),
        ((EMBED,), "none"),
        ((ANSWER,), "provider"),
        ((call("answer", 1, 1, 0.0, "tokenizer"),), "tokenizer"),
        ((REWRITE_1, call("answer", 1, 1, 0.0, "tokenizer")), "provider+tokenizer"),
    ],
)
def test_the_usage_source_says_who_counted_the_language_models_tokens(calls, source):
    assert metrics(calls)["usage_source"] == source


def test_calls_and_seconds_are_those_of_all_steps():
    trace = of_calls((EMBED,), (), (REWRITE_1, ANSWER), seconds=0.25)
    assert trace.calls == (EMBED, REWRITE_1, ANSWER)
    assert trace.seconds == 0.75
    assert trace.cost_usd == 0.125 + 0.5 + 2.0
