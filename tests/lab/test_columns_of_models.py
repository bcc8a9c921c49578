from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.openai_server import OpenAIServer
from helpers.provider_lab import QUESTION, billed, owed, provider_lab
from helpers.small import DOCUMENTS, WordEmbedder

from rag_core.catalog.setup import Setup, set_up, titles_of
from rag_core.documents.documents import Document
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.lab.lab import Lab
from rag_core.pipeline.stream import Done, Failed, calls_of
from rag_core.values.errors import ConfigError, MissingResource, RagError, SettingsError
from rag_core.values.labels import LabelRules
from rag_core.values.model_choice import ModelChoice

MINI, UNPRICED = "gpt-4o-mini", "my-local-model"
WARD = [
    Document("w", "Ward cats", "en", "The ward has two cats and a dog that sleep in one house."),
    Document("v", "Ward birds", "en", "The ward has no birds at all."),
]


@pytest.fixture
def open_lab(
    server: OpenAIServer, read_only_store: CorpusStore, embedder: WordEmbedder, labels: LabelRules
) -> Callable[..., Lab]:
    return lambda **settings: provider_lab(server, read_only_store, embedder, labels, **settings)


@pytest.fixture
def lab(open_lab: Callable[..., Lab]) -> Lab:
    return open_lab()


@pytest.fixture
def two(lab: Lab, tmp_path: Path, embedder: WordEmbedder) -> Lab:
    """A lab with a second corpus beside its own."""
    beside = CorpusStore(tmp_path / "home", "ward", embedder)
    beside.update(SourceFiles("test", WARD))

    def other(corpus: str) -> Lab:
        if corpus != "ward":
            raise MissingResource(f"Corpus {corpus!r} has no index.", "Run `rag index`.")
        return Lab(lab.settings, "ward", lab.engines, beside)

    lab.others = other
    return lab


def asked(server: OpenAIServer) -> Counter[tuple[str, str]]:
    return Counter((one.role, one.body["model"]) for one in server.requests if "messages" in one.body)


class TestModels:
    def test_each_column_asks_its_own_model_at_its_own_price(self, lab, server):
        plain, mini, unpriced = lab.compare(
            QUESTION, ["bm25", ("bm25", {"model": MINI}), ("bm25", {"model": UNPRICED})]
        )
        assert asked(server) == {("answer", "gpt-4o"): 1, ("answer", MINI): 1, ("answer", UNPRICED): 1}
        # obliging's answers have 1,000 tokens in and 200 out; gpt-4o costs $2.5 and $10 a million, mini $0.15 and $0.6
        assert plain.cost_usd == pytest.approx((1000 * 2.5 + 200 * 10) / 1e6)
        assert mini.cost_usd == pytest.approx((1000 * 0.15 + 200 * 0.6) / 1e6)
        assert unpriced.cost_usd is None
        assert unpriced.as_json()["metrics"]["total_cost"] is None
        assert [one.engine["llm"] for one in (plain, mini, unpriced)] == ["gpt-4o", MINI, UNPRICED]
        assert billed(calls_of([plain, mini, unpriced])) == owed(server.requests)

    def test_the_model_is_part_of_what_identifies_a_column(self, lab):
        plain, mini = lab.compare(QUESTION, ["bm25", ("bm25", {"model": MINI})])
        assert plain.fingerprint == set_up("bm25").strategy.fingerprint
        chosen = set_up("bm25", model=MINI)
        assert mini.fingerprint == chosen.strategy.fingerprint_on(chosen.models) != plain.fingerprint
        assert mini.models == ModelChoice(MINI)
        assert mini.engine["answer_model"] != plain.engine["answer_model"]
        assert mini.as_json()["models"] == {"model": MINI}
        assert titles_of([plain, mini]) == ["BM25 keywords", f"BM25 keywords · model: {MINI}"]

    def test_rewriter_and_judge_follow_unless_set(self, lab, server):
        lab.run(QUESTION, "rag_msr", model=MINI)
        assert {model for _, model in asked(server)} == {MINI}
        server.requests.clear()
        lab.run(QUESTION, "rag_msr", model=MINI, rewriter_model="a", judge_model="b")
        assert set(asked(server)) == {("rewrite", "a"), ("judge", "b"), ("answer", MINI)}
        server.requests.clear()
        lab.run(QUESTION, "rag_msr", judge_model="b")
        assert set(asked(server)) == {("rewrite", "gpt-3.5-turbo"), ("judge", "b"), ("answer", "gpt-4o")}

    def test_without_a_provider_a_model_fails_its_column_alone(self, open_lab):
        offline = open_lab(openai_base_url=None)
        with pytest.raises(SettingsError, match="gpt-4o-mini needs a provider") as refused:
            offline.services(models=ModelChoice(MINI))
        assert "OPENAI_API_KEY" in refused.value.next_step

    def test_one_client_serves_every_question(self, lab):
        first, second = (lab.services(models=ModelChoice(MINI)).llms for _ in range(2))
        assert first["answer"] is second["answer"] is second["judge"]

    def test_a_what_if_stays_on_its_models(self, lab, server):
        trace = lab.run(QUESTION, "hyde", model=MINI)
        server.requests.clear()
        again = lab.what_if(trace, k_final=2)
        assert asked(server) == {("answer", MINI): 1}  # the hypothetical answer is not asked for again
        assert (again.models, len(again.ranking)) == (trace.models, 2)
        server.requests.clear()
        assert lab.what_if(trace, model="gpt-4o").models == ModelChoice("gpt-4o")
        assert {model for _, model in asked(server)} == {"gpt-4o"}

    def test_explanations_of_a_column_use_its_models(self, lab):
        trace = lab.run(QUESTION, "bm25", model=MINI)
        assert {one.control for one in lab.tipping_points(trace)} >= {"k_final"}
        missing = next(name for name in lab.passages if name not in {hit.id for hit in trace.ranking})
        assert lab.why_not(trace, missing).text


class TestCorpora:
    def test_columns_search_their_own_corpus(self, two, server):
        here, there = two.compare(QUESTION, ["bm25", ("bm25", {"corpus": "ward"})])
        assert (here.corpus, there.corpus) == ("animals", "ward")
        assert {hit.passage.doc_id for hit in here.ranking} <= {one.id for one in DOCUMENTS}
        assert {hit.passage.doc_id for hit in there.ranking} <= {"w", "v"}
        assert titles_of([here, there]) == [
            "BM25 keywords · documents: animals",
            "BM25 keywords · documents: ward",
        ]
        assert two.why_not(there, there.ranking.hits[0].id).text

    def test_a_corpus_that_is_not_there_fails_its_column_alone(self, two):
        failed, done = sorted(
            (one for one in two.stream(QUESTION, [("bm25", {"corpus": "gone"}), "bm25"])
             if isinstance(one, Done | Failed)), key=lambda one: one.column,
        )  # fmt: skip
        assert isinstance(failed, Failed)
        assert isinstance(failed.error, MissingResource)
        assert isinstance(done, Done)

    def test_a_lab_without_others_says_so(self, lab):
        with pytest.raises(RagError, match="searches 'animals' alone"):
            lab.run(QUESTION, "bm25", corpus="ward")


class TestSetup:
    def test_one_declaration_for_names_values_and_setups(self):
        one = set_up("bm25", k1=1.2, model=MINI, corpus="ward")
        assert one == set_up(("bm25", {"k1": "1.2", "model": f" {MINI} ", "corpus": "ward"})) == set_up(one)
        assert isinstance(one, Setup)
        assert str(one) == f"BM25 keywords · k1 1.2 · model: {MINI} · documents: ward"
        assert set_up("bm25").runs_on == ""

    @pytest.mark.parametrize("values", [{"model": 3}, {"model": "x" * 201}, {"judge_model": "a\nb"}, {"corpus": 1}])
    def test_a_name_that_is_none_is_refused(self, values):
        with pytest.raises(ConfigError):
            set_up("bm25", **values)
