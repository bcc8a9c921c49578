"""What a result goes by: everything that can change it, and nothing is used again where that differs."""

from dataclasses import replace

import pytest
from helpers.behaviours import Reply
from helpers.judged import JUDGED
from helpers.openai_server import role_of, serve
from helpers.provider_lab import QUESTION, OverlapReranker, obliging, provider_lab
from helpers.small import DOCUMENTS, WordEmbedder

from rag_core import build
from rag_core import evaluation as ev
from rag_core.documents.documents import Document
from rag_core.evaluation.run_folder import RunFolder
from rag_core.indexing import CorpusStore, OfflineEnricher, SourceFiles
from rag_core.lab.lab import Lab
from rag_core.language.thesaurus import Concept, Thesaurus
from rag_core.models import load_embedder, load_openai
from rag_core.models.llm import wrap_custom_llm
from rag_core.pipeline.stream import collect, stream
from rag_core.runtime.run import Run
from rag_core.values.errors import ConfigError
from rag_core.values.labels import LabelRules, Thresholds
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
from rag_core.values.trace import Trace

FOUR = ["llm", "embedding", "reranker", "index"]


@pytest.fixture
def lab(server, index, store, embedder, labels) -> Lab:
    return provider_lab(server, store, embedder, labels)


def relabelled(labels: LabelRules) -> LabelRules:
    return LabelRules({("cosine", "en"): Thresholds(0.61, 0.3)})


class OtherWeights(WordEmbedder):
    weights = key = "words-2"


def test_the_four_names_come_first(lab):
    assert list(lab.engine)[:4] == FOUR
    assert [lab.engine[name] for name in FOUR] == [
        "gpt-4o", "words", "overlap", f"animals, {len(DOCUMENTS)} passages, generation 1"
    ]  # fmt: skip


@pytest.mark.parametrize("role", ["answer", "rewriter", "judge"])
def test_another_model_in_any_role_is_another_engine(server, store, embedder, labels, lab, role):
    other = provider_lab(server, store, embedder, labels, **{f"{role}_model": "my-local-model"})
    assert other.engine != lab.engine


@pytest.mark.parametrize("role", ["answer", "rewrite", "judge", "enrich"])
def test_the_same_name_on_another_server_is_another_engine(store, embedder, labels, lab, role):
    with serve() as second:
        theirs = provider_lab(second, store, embedder, labels).engines.paid[role]
        mixed = replace(lab.engines, paid={**lab.engines.paid, role: theirs})
        assert lab.with_engines(mixed).engine != lab.engine
        assert theirs.name == lab.engines.paid[role].name


def test_rerankers_labels_and_weights_are_told_apart(lab, labels):
    other = OverlapReranker()
    other.key = "overlap-2"
    changed = {
        "reranker": replace(lab.engines, reranker=other),
        "thresholds": replace(lab.engines, labels=relabelled(labels)),
        "rule": replace(lab.engines, labels=LabelRules({}, "rank")),
        "weights": replace(lab.engines, embedder=OtherWeights()),
    }
    found = {name: lab.with_engines(engines).engine for name, engines in changed.items()}
    assert all(engine != lab.engine for engine in found.values())
    assert len({str(engine) for engine in found.values()}) == len(found)


def test_an_enriched_index_that_comes_or_changes_is_another_engine(lab, store):
    plain = lab.engine
    store.enriched.follow(store.open(), OfflineEnricher(Thesaurus(())))
    enriched = lab.engine
    cat = Concept("cat", {"en": ("cat",), "es": ("gato",)}, {"en": (), "es": ()})
    store.enriched.follow(store.open(), OfflineEnricher(Thesaurus((cat,))))
    assert plain != enriched != lab.engine != plain


def test_other_documents_under_the_same_name_and_generation_are_another_engine(tmp_path, embedder, lab):
    """As after a state folder was deleted and as many other documents were indexed in its place."""
    before = lab.engine
    others = [replace(document, text=document.text.replace("Cats", "Lions")) for document in DOCUMENTS]
    store = CorpusStore(tmp_path / "other home", "animals", embedder)
    store.update(SourceFiles("test", others))
    after = Lab(lab.settings, "animals", lab.engines, store).engine
    assert after["index"] == before["index"]
    assert after != before


def test_the_same_documents_indexed_again_are_the_same_engine(tmp_path, embedder, lab):
    before = lab.engine
    store = CorpusStore(tmp_path / "other home", "animals", embedder)
    store.update(SourceFiles("test", list(DOCUMENTS)))
    assert Lab(lab.settings, "animals", lab.engines, store).engine == before


def test_a_key_in_a_servers_address_is_in_no_name():
    url = "https://me:secret@models.example:8443/v1/?api-key=secret"
    settings = Settings(openai_base_url=url, embedding="openai:text-embedding-3-small")
    assert load_openai(settings, "gpt-4o", PriceList({})).key == "gpt-4o at https://models.example:8443/v1"
    assert load_embedder(settings, PriceList({})).server == "https://models.example:8443/v1"


def test_a_callers_own_model_is_known_by_its_settings():
    from llama_index.llms.openai import OpenAI

    def key(**settings: object) -> str:
        return wrap_custom_llm(OpenAI(model="gpt-4o", **settings), PriceList({})).key

    cool = key(temperature=0.1, api_key="one")
    assert key(temperature=0.1, api_key="two") == cool
    assert key(temperature=0.9, api_key="one") != cool
    assert key(temperature=0.1, api_key="one", api_base="http://127.0.0.1:1/v1") != cool


def test_what_if_writes_the_rewrites_anew_when_another_model_writes_them(server, store, embedder, labels, lab):
    """Model A's rewrites are not shown as model B's."""
    old = lab.run(QUESTION, "multi_query")
    other = provider_lab(server, store, embedder, labels, rewriter_model="my-local-model")
    server.requests.clear()
    new = other.what_if(old, weight_step=0.1)
    assert [request.body["model"] for request in server.requests if request.role == "rewrite"] == ["my-local-model"] * 3
    assert not any(step.reused for step in new.steps)
    server.requests.clear()
    same = lab.what_if(old, weight_step=0.1)
    assert [request.role for request in server.requests] == ["answer"]
    assert same.steps[0].reused


def test_columns_by_other_models_share_no_first_stages(full):
    """Two streams over one store of shared work, as by two models under one name."""
    run, strategy = Run(), build("simple_semantic")
    one = replace(full, engine={"embedding_model": "words-1"})
    strategy.run(QUESTION, one, run)
    again = strategy.run(QUESTION, one, run)
    other = strategy.run(QUESTION, replace(one, engine={"embedding_model": "words-2"}), run)
    assert [step.reused for step in again.steps] == [True, True]
    assert [step.reused for step in other.steps] == [False, False]


class TestRuns:
    """An evaluation is continued by the engine it was begun with, and by no other."""

    def manifest(self, lab: Lab) -> ev.Manifest:
        strategies = ev.build_strategies({"multi": "multi_query"})
        return ev.describe_run(JUDGED, strategies, depth=None, engine=lab.engine, source="builtin")

    def test_another_rewriter_begins_a_new_folder(self, server, store, embedder, labels, lab, tmp_path):
        settings = lab.settings.model_copy(update={"home": tmp_path / "state"})
        first = ev.folder_for(self.manifest(lab), settings)
        RunFolder.create(first, self.manifest(lab), JUDGED).close()
        other = provider_lab(server, store, embedder, labels, rewriter_model="my-local-model")
        assert ev.folder_for(self.manifest(lab), settings) == first
        assert ev.folder_for(self.manifest(other), settings) != first
        with pytest.raises(ConfigError, match="holds another run: different rewriter"):
            RunFolder.create(first, self.manifest(other), JUDGED)

    def test_an_index_that_changes_on_the_way_ends_the_run(self, lab, store, tmp_path):
        strategies = ev.build_strategies({"one": "bm25"})
        manifest = ev.describe_run(JUDGED, strategies, depth=None, engine=lab.engine, source="builtin")
        run = RunFolder.create(tmp_path / "run", manifest, JUDGED)
        more = Document("g", "Geese", "en", "Geese walk in a row.")
        store.update(SourceFiles("test", [*DOCUMENTS, more]))
        with pytest.raises(ConfigError, match="begun with another engine: index, index_content changed"):
            list(ev.evaluate(run, strategies, lab.services))
        assert run.records["one"] == {}


def test_a_trace_says_who_wrote_and_judged(lab, server):
    server.choose = lambda body: Reply('{"reason": "x", "score": 90}') if role_of(body) == "judge" else obliging(body)
    (trace,) = collect(lab.stream(QUESTION, ["rag_msr"]))
    assert isinstance(trace, Trace)
    shown = trace.as_json()["engine"]
    assert shown["llm"] == "gpt-4o"
    assert shown["rewriter"] == f"gpt-3.5-turbo at {server.url}"
    assert shown["judge"] == shown["answer_model"] == f"gpt-4o at {server.url}"


def test_a_stream_without_an_engine_says_none(services):
    (trace,) = collect(stream(QUESTION, [build("bm25")], services))
    assert isinstance(trace, Trace)
    assert trace.engine == {}


class TestCountry:
    """Whose guidance leads is part of what a result goes by."""

    def test_another_country_is_another_engine_and_none_is_the_same_as_before(self, lab):
        engines = [lab.services(country).engine for country in ("", "GB", "US")]
        assert engines[0] == lab.engine
        assert len({str(engine) for engine in engines}) == 3
        assert lab.services("gb").engine == engines[1]

    def test_the_setting_is_the_default(self, server, index, store, embedder, labels):
        ours = provider_lab(server, store, embedder, labels, country="gb")
        assert ours.services().country == ours.engine["country"] == "GB"
        assert ours.services("").country == ""

    def test_nothing_is_reused_for_another_country_and_what_if_keeps_it(self, lab):
        (old,) = lab.compare(QUESTION, ["simple_semantic"], country="GB")
        assert old.country == "GB"
        assert lab.what_if(old, k_final=3).country == "GB"

        def reused(country: str) -> list[bool]:
            (again,) = collect(lab.stream(QUESTION, ["simple_semantic"], reuse=[old], country=country))
            assert isinstance(again, Trace)
            return [step.reused for step in again.steps]

        assert reused("GB") == [True, True]
        assert reused("US") == reused("") == [False, False]

    def test_two_countries_over_one_store_of_shared_work_share_no_stage(self, full):
        run, strategy = Run(), build("simple_semantic")
        strategy.run(QUESTION, replace(full, engine={"country": "GB"}), run)
        other = strategy.run(QUESTION, replace(full, engine={"country": "US"}), run)
        assert not any(step.reused for step in other.steps)
