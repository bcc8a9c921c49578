"""Defaults, options and commands that the seeds name and no other test holds by itself."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
from helpers.beir import beir_folder
from helpers.fakes import QUESTION, talker
from helpers.looping import for_each
from helpers.provider_lab import listed, provider_lab
from helpers.small import DOCUMENTS, WordEmbedder

from pages.shared import claims, shipped
from rag_core.catalog import RECIPES, Number, build
from rag_core.documents.benchmark import read_beir
from rag_core.evaluation.metrics import DEFAULT_METRICS, parse_metric
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.indexing.enrich import Enriched
from rag_core.language.analysis import language_of
from rag_core.models import Rerankers, load_embedder
from rag_core.offline.rewriting import Rewriter
from rag_core.prompts.templates import (
    ASPECT_SPECIFIC,
    CLARIFICATION,
    COMPLICATIONS,
    ENTITY_AWARE,
    ENTITY_EXPANSION,
    EXPANDED,
    MULTI_QUERY,
    PARAPHRASING,
    RETRIEVAL_CONDENSE,
    STANDALONE,
    SYNONYMS,
    TRANSFORM,
    Form,
)
from rag_core.runtime.run import Run
from rag_core.runtime.services import Services
from rag_core.values.errors import MissingResource
from rag_core.values.profile import read_profile
from rag_core.values.settings import Settings, read_settings


def control(strategy: str, name: str) -> object:
    return next(control for control in RECIPES[strategy].controls if control.name == name)


def test_the_models_are_the_seeds():
    settings = Settings()
    assert (settings.answer_model, settings.rewriter_model, settings.judge_model) == (
        "gpt-4o",  # seeds 000 to 002
        "gpt-3.5-turbo",  # seeds 000 and 001
        "gpt-4o",  # seed 004
    )


@pytest.mark.parametrize("temperature", [0.1, 0.3, 0.5])
def test_the_temperatures_of_seed_001_can_be_set(full, temperature):
    llm = talker()
    services = replace(full, llms=dict.fromkeys(full.llms, llm))
    build(("multi_query", {"rewriter_temperature": temperature})).run(QUESTION, services)
    sent = {(prompt.purpose, prompt.template.temperature) for prompt in llm.prompts}
    assert sent == {("rewrite", temperature), ("answer", 0.0)}


@for_each(
    ("template", "words"),
    [
        (
            STANDALONE,
            (
                "stand on its own",
                "complete, specific and clear",
                "setting it takes for granted",
                "technical words",
            ),
        ),
        (SYNONYMS, ("exact technical terms", "other names", "meaning must not change")),
        (EXPANDED, ("related aspects", "complications, prevention, care", "special cases")),
        (COMPLICATIONS, ("what can go wrong", "more at risk", "signs warn")),
        (PARAPHRASING, ("different words", "same meaning")),
        (ASPECT_SPECIFIC, ("one aspect",)),
        (ENTITY_AWARE, ("the entities that a good document on it would name",)),
        (CLARIFICATION, ("what is vague",)),
        (ENTITY_EXPANSION, ("full name", "abbreviation", "synonym")),
        (RETRIEVAL_CONDENSE, ("fewest words",)),
        (TRANSFORM, ("terminology of the documents",)),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else "",
)
def test_each_template_asks_for_what_its_seed_asks_for(template, words):
    prompt = template.fill(question="Q", form=Form("sentence")).about(read_profile(read_settings().data / "corpus"))
    for wanted in words:
        assert wanted in prompt.render()
    assert "questions about pregnancy, birth and the time after it for health professionals" in prompt.system
    assert "Keep to the subject." in prompt.system


def test_keywords_are_first_made_a_full_question():
    asked = PARAPHRASING.fill(question="anti-D dose", form=Form("keywords")).render()
    assert "Form of the question: keywords." in asked
    assert "first make a full question of them, with the background they imply" in asked
    assert "when it is a sentence, treat it as it stands" in asked


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
def test_shares_go_from_nothing_to_all(strategy, name):
    found = control(strategy, name)
    assert isinstance(found, Number)
    assert (found.min, found.max) == (0, 1)


@pytest.fixture
def commanded(full: Services, monkeypatch: pytest.MonkeyPatch) -> list:
    """The strategies that `rag query` built, run on fakes."""
    built: list = []

    def compare(question: str, columns, stop, country):
        strategies = [one.strategy for one in columns]
        built.extend(strategies)
        services, run = replace(full, engine={"llm": "told"}), Run(stop=stop)
        return [one.run(question, services, run) for one in strategies]

    monkeypatch.setattr(
        "rag_core.cli.app._lab",
        lambda corpus, asked: SimpleNamespace(compare=compare, enriched=full.enriched),
    )
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
def test_the_flags_of_seed_003(rag, commanded, flags, values):
    ran = rag("query", QUESTION, *flags, "--json")
    assert ran.code == 0, ran.err
    (built,) = commanded
    assert built == build(("contextual", values))
    assert ran.json["strategy"] == "contextual"


def test_a_plain_query_is_hybrid_search_and_any_flag_makes_it_contextual(rag, commanded):
    assert rag("query", QUESTION, "--json").json["strategy"] == "hybrid_rrf"
    assert commanded == [build("hybrid_rrf")]
    help_text = " ".join(rag("query", "--help").out.replace("│", " ").split())
    assert "A plain query runs hybrid_rrf." in help_text


def test_a_weight_that_one_search_does_not_use_is_named(rag, commanded):
    alone = rag("query", QUESTION, "--search-type", "bm25", "--vector-weight", "0.7", "--json")
    assert alone.code == 0
    assert "vector_weight has no effect" in alone.err
    assert rag("query", QUESTION, "--search-type", "hybrid", "--vector-weight", "0.7", "--json").err == ""


def test_show_details_prints_every_stage_with_its_time(rag, commanded):
    ran = rag("query", QUESTION, "--search-type", "hybrid", "--set", "k_candidates=20", "--show-details")
    assert ran.code == 0, ran.err
    for stage in ("Bm25 ∥ Dense", "ReciprocalRankFusion", "Top", "Generate"):
        (line,) = [line for line in ran.out.splitlines() if line.strip().startswith(f"{stage} ")]
        assert " ms " in line
    assert "passages: 20, 20" in ran.out


def test_multi_query_is_best_for_what_its_source_lists_and_says_what_it_costs():
    """Best For: ambiguous, incomplete, maximum recall, many synonyms. Trade-offs: cost, noise."""
    recipe = RECIPES["multi_query"]
    for best_for in (
        "ambiguous wording",
        "incomplete questions",
        "complex topics",
        "recall matters most",
        "many names",
    ):
        assert best_for in recipe.helps
    for trade_off in ("three more calls", "speculative rewrites"):
        assert trade_off in recipe.hurts


def test_question_and_passages_are_embedded_by_one_model(services, embedder, tmp_path):
    own = CorpusStore(tmp_path / "own", "animals", embedder)
    own.update(SourceFiles("test", list(DOCUMENTS)))
    services = replace(services, index=own.open())
    assert services.index.manifest.embedding == embedder.key
    passages = {text for texts in embedder.asked for text in texts}
    assert passages == {passage.indexed_text for passage in services.index.passages.values()}
    build("simple_semantic").run(QUESTION, services)
    assert (QUESTION,) in embedder.asked  # the same one reads the question

    class Other(WordEmbedder):
        key = weights = "other-1"

    assert CorpusStore(tmp_path / "home", "animals", Other()).open() is None  # its vectors would stand elsewhere


def test_a_context_finds_a_passage_whose_own_words_do_not(store, services):
    """What contexts are for; how much they bring is measured (`contextual_plain` in data/results.json)."""

    class Stamp:
        key = "stamp"
        own_prompt = ""

        def enrich(self, works, progress):
            return Enriched(tuple("About felines." if work.passages[0].doc_id == "a" else "" for work in works))

    store.enriched.follow(services.index, Stamp())
    both = replace(services, enriched=store.enriched.open())
    for enriched, found in ((True, ["a"]), (False, [])):
        values = {"search_type": "bm25", "enriched": enriched}
        trace = build(("contextual", values)).run("felines", both)
        assert [hit.passage.doc_id for hit in trace.ranking] == found
    measured = shipped.results().strategies
    assert measured["contextual"].fingerprint != measured["contextual_plain"].fingerprint


def test_the_four_methods_of_rag_msr_are_shown_with_its_figures_and_measured_both_ways():
    results = shipped.results()
    shown = claims.ablation(results)
    for label, figure in (
        ("msr_raw", 0.868), ("msr_reformulation", 0.849), ("msr_reranking", 0.763), ("msr_origin", 0.918),
    ):  # fmt: skip
        (row,) = [row for row in shown.split("<tr>") if f">{figure:.3f}<" in row]
        for metric in ("seed_ndcg@10", "ndcg@10"):
            score = results.strategies[label].metrics[metric]
            assert f"{score.mean:.3f}" in row


def test_the_order_of_the_four_methods_is_told_as_published_and_as_measured():
    results = shipped.results()
    shown = claims.order(results)
    assert "Origin RAG-MSR &gt; Raw Retrieval &gt; Reformulation Retrieval &gt; Reranking Retrieval" in shown
    scores = {name: results.strategies[label].metrics["ndcg@10"].mean for label, (name, _) in claims.ABLATION.items()}
    assert " &gt; ".join(sorted(scores, key=scores.__getitem__, reverse=True)) in shown
    assert "not reproduced with the offline engine" in shown
    as_published = results.model_copy(
        update={
            "strategies": {
                label: results.strategies[label].model_copy(
                    update={"metrics": dict.fromkeys(("ndcg@10", "seed_ndcg@10"), SimpleNamespace(mean=figure))}
                )
                for label, (_, figure) in claims.ABLATION.items()
            }
        }
    )
    assert "not reproduced" not in claims.order(as_published)


def test_the_time_and_cost_of_multi_query_stand_beside_what_was_measured():
    results = shipped.results()
    row = results.strategies["multi_query"]
    writing, searching, answering, total = claims.spent(results).split("<tbody>")[1].split("</tr>")[:4]
    assert "2–3 s" in writing
    assert f"{1000 * row.stage_seconds['1 Rewrite']:.1f} ms" in writing
    others = [taken for stage, taken in row.stage_seconds.items() if stage != "1 Rewrite"]
    assert sum(others) == pytest.approx(row.seconds_per_query - row.stage_seconds["1 Rewrite"], rel=0.01)
    assert f"{1000 * (row.seconds_per_query - row.stage_seconds['1 Rewrite']):.1f} ms" in searching
    assert answering.count("not measured") == 2
    assert "$0.004–0.008" in total
    assert total.endswith(">$0</td>")  # the offline engine is free


def test_a_beir_folder_is_measured_by_ndcg_at_1_3_5_and_10(tmp_path):
    """The layout nfcorpus comes in, and the cut-offs of RAG-MSR's experiment."""
    documents = [{"_id": name, "title": "", "text": f"Text {name}."} for name in "abc"]
    judged = read_beir(beir_folder(tmp_path / "set", [("q", "Which text?", {"b": 2})], documents), "test")
    for cutoff, expected in ((1, 0.0), (3, 1 / math.log2(3)), (5, 1 / math.log2(3)), (10, 1 / math.log2(3))):
        metric = parse_metric(f"ndcg@{cutoff}")
        assert metric.name in DEFAULT_METRICS
        assert metric(["a", "b", "c"], judged.qrels["q"]) == pytest.approx(expected)


def test_models_the_sources_name_are_asked_by_their_names(server, store, index, embedder, labels):
    """An Ollama or vLLM server is one base URL away; the embedding model of both modules likewise."""
    lab = provider_lab(server, store, embedder, labels, rewriter_model="llama-3.1-8b-instruct")
    lab.run(QUESTION, "rag_msr", theta=0, dynamic_analysis="off")
    models = {request.role: request.body["model"] for request in server.requests}
    assert models == {"rewrite": "llama-3.1-8b-instruct", "judge": "gpt-4o", "answer": "gpt-4o"}
    settings = Settings(embedding="openai:text-embedding-3-small", openai_base_url=server.url, openai_api_key="sk-test")
    load_embedder(settings, listed()).embed(["cats"])
    assert server.requests[-1].body["model"] == "text-embedding-3-small"


@pytest.mark.parametrize("name", ["cross-encoder/ms-marco-MiniLM-L-6-v2", "mixedbread-ai/mxbai-rerank-large-v1"])
def test_the_sources_rerankers_are_loaded_by_their_names(name, monkeypatch):
    """Here, where no model hub answers, the message names the one that is missing."""
    monkeypatch.setattr("rag_core.models.sentence_models.hub_reachable", lambda: False)
    monkeypatch.setenv("RAG_RERANKER", name)
    with pytest.raises(MissingResource, match=name):
        Rerankers(read_settings(), None).of_settings()


def test_each_search_has_its_own_time(full):
    class Slow(WordEmbedder):
        def embed(self, texts: Sequence[str], kind: str = "query", languages: Sequence[str] = ()):
            time.sleep(0.2)
            return super().embed(texts, kind, languages)

    one_by_one = replace(full, embedder=Slow(), workers=1)
    trace = build("contextual").run(QUESTION, one_by_one)
    (step,) = [step for step in trace.as_json()["steps"] if step["kind"] == "retrieve"]
    seconds = {search["retriever"]: search["seconds"] for search in step["searches"]}
    assert list(seconds) == ["bm25", "dense"]
    assert seconds["bm25"] > 0
    assert seconds["dense"] >= 0.2
    assert sum(seconds.values()) <= step["seconds"]  # neither has the other's time in it


@for_each(
    ("question", "document"),
    [
        ("¿Qué debo hacer si tengo contracciones?", "es-contracciones-cuando-ir-al-hospital"),
        ("¿Cuáles son los síntomas del parto prematuro?", "es-parto-prematuro-sintomas"),
        ("¿Qué es la diabetes gestacional?", "es-diabetes-gestacional"),
        ("¿Cuáles son los riesgos de la cesárea?", "es-cesarea-riesgos"),
        ("¿Qué cuidados necesito en el embarazo?", "es-control-prenatal"),
        ("¿Qué es la epidural?", "es-epidural-en-el-parto"),
    ],
)
def test_the_sources_spanish_examples_are_answered_from_their_document(lab, question, document):
    """And from it alone; two were declined, or answered beside the question."""
    trace = lab.run(question, "hybrid_rrf")
    assert trace.answer.reason == ""
    cited = {trace.ranking.hits[one.n - 1].passage.doc_id for one in trace.answer.citations}
    assert cited == {document}


def test_a_spanish_question_is_rewritten_in_spanish():
    """The source's own example; a language model is told to, the offline engine has Spanish wordings."""
    asked = "¿Qué debo hacer si tengo contracciones?"
    rewriter = Rewriter(WordEmbedder(), None, None)
    for template in MULTI_QUERY:
        assert "- Write in the language of the question." in template.system
        assert language_of(rewriter.rewrite(template.name, asked)) == "es"
    assert "complicaciones" in rewriter.rewrite("expanded", asked)
    assert "complications" in rewriter.rewrite("expanded", "What should I do about contractions?")
