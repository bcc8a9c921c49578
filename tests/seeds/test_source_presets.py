"""The presets that are the sources' own settings: what they send and keep, with models and offline."""

import hashlib
from collections import Counter

import pytest
from helpers.fakes import QUESTION
from helpers.openai_server import OpenAIServer, Reply
from helpers.provider_lab import obliging, provider_lab

from rag_core import set_up
from rag_core.catalog import RECIPES, build
from rag_core.lab.lab import Lab
from rag_core.prompts.templates import PUBLISHED
from rag_core.values.model_choice import ModelChoice

SYMPTOMS = "¿Cuáles son los síntomas del parto prematuro?"
PRESETS = [
    "multi_query@source",
    "multi_query@source_with_complications",
    "hybrid_rrf@source",
    "contextual@source",
    "rag_msr@origin",
    "rag_msr@source",
    "rag_msr@source_function",
]
# SHA-256 of each template of Multi-Query Rewriter RAG, every run of white space as one space.
DIGESTS = {
    "standalone": "4b1cf3e5a492dc31",
    "synonyms": "d34bd34eab54ed25",
    "expanded": "ef586a7808cf3377",
    "complications": "a17d06e4e3f374a1",
}


def test_the_templates_are_the_sources_word_for_word():
    words = {name: " ".join(template.text.split()) for name, template in PUBLISHED.items()}
    assert {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in words.items()} == DIGESTS
    assert {template.system for template in PUBLISHED.values()} == {""}


@pytest.fixture
def server(server):
    server.choose = answered
    return server


def answered(body: dict) -> Reply:
    """A published template has no system message, which is what others are known by."""
    if len(body["messages"]) == 1:
        return Reply(f"Do cats and dogs share a house {hash(body['messages'][0]['content'])}?")
    if "form" in (body.get("response_format") or {}).get("json_schema", {}).get("schema", {}).get("properties", {}):
        return Reply('{"form": "sentence", "question": ""}')
    return obliging(body)


@pytest.fixture
def models(server: OpenAIServer, store, embedder, labels, index) -> Lab:
    return provider_lab(server, store, embedder, labels)


@pytest.mark.parametrize(("preset", "asked"), [("source", 3), ("source_with_complications", 4)])
def test_a_template_is_all_that_is_sent(server, models, preset, asked):
    trace = models.run(QUESTION, f"multi_query@{preset}")
    rewriting, (answering,) = (
        [one.body for one in server.requests if (len(one.body["messages"]) == 1) is alone] for alone in (True, False)
    )
    wanted = [one.text.replace("{question}", QUESTION) for one in list(PUBLISHED.values())[:asked]]
    assert sorted(body["messages"][0]["content"] for body in rewriting) == sorted(wanted)
    assert {(body["messages"][0]["role"], body["model"], body["temperature"]) for body in rewriting} == {
        ("user", "gpt-3.5-turbo", 0.3)
    }
    assert (answering["model"], answering["temperature"]) == ("gpt-4o", 0)
    assert trace.answer.citations


@pytest.mark.parametrize(("preset", "theta"), [("source", 0.2), ("source_function", 0.5)])
def test_rag_msr_with_its_models_and_theta(server, models, monkeypatch, preset, theta):
    """The judge gives 90 of 100: with α 0.4, S_final is at least 0.6 · 0.9 = 0.54, and nothing is cut."""
    llama = "meta-llama/Llama-3.1-8B-Instruct"
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("RAG_MODELS", llama)
    trace = models.run(QUESTION, f"rag_msr@{preset}")
    asked = Counter((one.role, one.body["model"]) for one in server.requests)
    assert asked["rewrite", llama] == 1 + 3  # the analysis, and three reformulations
    assert {model for role, model in asked if role != "rewrite"} == {"gpt-4o"}
    (kept,) = [step.after.ranking for step in trace.steps if step.stage == "Threshold"]
    assert trace.controls["theta"] == theta
    assert asked["judge", "gpt-4o"] == len(kept) == len(trace.ranking) <= 3 * 2


@pytest.mark.parametrize(
    ("offered", "rewriter"),
    [
        ("gpt-4o-mini, llama3.1:8b", "llama3.1:8b"),
        ("llama-3.1-8b-instant", "llama-3.1-8b-instant"),
        ("llama-3.1-70b-instruct, llama3.2:3b", ""),
        ("", ""),
    ],
)
def test_the_source_rewrites_with_its_model_where_that_is_offered(monkeypatch, offered, rewriter):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("RAG_MODELS", offered)
    assert set_up("rag_msr@source").models == ModelChoice(rewriter_model=rewriter)
    assert set_up("rag_msr@source", rewriter_model="gpt-4o-mini").models.rewriter_model == "gpt-4o-mini"
    assert not set_up("rag_msr").models


def test_origin_asks_no_judge(server, models):
    trace = models.run(QUESTION, "rag_msr@origin")
    assert Counter(one.role for one in server.requests) == {"rewrite": 3, "answer": 1}
    assert "Rerank" in [step.stage for step in trace.steps]


def test_what_is_the_sources_default_is_ours():
    for strategy in ("hybrid_rrf", "contextual"):
        assert build(f"{strategy}@source").fingerprint == build(strategy).fingerprint
    assert build("multi_query@source").controls["merge"] == "first"


@pytest.mark.parametrize("preset", PRESETS)
def test_each_runs_offline_without_a_remark_on_its_prompts(lab, preset):
    trace = lab.run(SYMPTOMS, preset)
    assert "Los cólicos parecidos a los de la menstruación" in trace.answer.text
    assert [warning for warning in trace.warnings if "cannot read" in warning] == []


def test_no_other_preset_is_called_after_a_source():
    found = [
        f"{recipe.name}@{preset.name.replace(' ', '_')}"
        for recipe in RECIPES.values()
        for preset in recipe.presets
        if preset.name.startswith(("source", "origin"))
    ]
    assert sorted(found) == sorted(PRESETS)
