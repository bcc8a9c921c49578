"""What is asked consent for is never less than what is sent: in eval, in sweeps and in answers."""

import dataclasses
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.behaviours import Reply
from helpers.judged import GRADES, JUDGED, QUESTIONS, opened
from helpers.openai_server import OpenAIServer, role_of
from helpers.provider_lab import listed, obliging, provider_lab
from helpers.small import DOCUMENTS, WordEmbedder

import rag_core
from rag_core import RECIPES
from rag_core import evaluation as ev
from rag_core.documents.benchmark import Benchmark
from rag_core.evaluation.answers import check_answers, with_answers
from rag_core.evaluation.records import Record
from rag_core.evaluation.run_folder import RunFolder
from rag_core.indexing import CorpusStore, OfflineEnricher, SourceFiles
from rag_core.lab.lab import Lab
from rag_core.language.thesaurus import Thesaurus
from rag_core.models import RehearsedLlm, load_embedder
from rag_core.models.rehearsal import REPLY_TOKENS
from rag_core.pipeline.strategy import Strategy
from rag_core.prompts.prompt import Template
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.stages import Dense, ReciprocalRankFusion, Retrieve, TransformStage
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import ConfigError, MissingResource
from rag_core.values.pricing import Price, PriceList
from rag_core.values.settings import Settings
from rag_core.values.types import Cost, Hit, Query

DEV = Benchmark("animals", "dev", QUESTIONS[:2], GRADES, "dev")
TEST = Benchmark("animals", "test", QUESTIONS, GRADES, "test")
EVERY = list(RECIPES)


def stubborn(body: dict[str, Any]) -> Reply:
    """Obliging, but the first reply to every prompt for JSON is none; the second gives full marks."""
    message = body.get("messages", [{}, {"content": ""}])[-1]["content"]
    if role_of(body) in ("judge", "") and message and "refused" not in message:
        return Reply("I cannot say.", usage=(300, 10))
    return obliging(body)


@pytest.fixture(scope="module")
def enriched_store(indexed_documents: Path, tmp_path_factory: pytest.TempPathFactory) -> CorpusStore:
    """DOCUMENTS indexed, with contexts; only read by these tests."""
    home = tmp_path_factory.mktemp("enriched") / "home"
    shutil.copytree(indexed_documents, home)
    store = CorpusStore(home, "animals", WordEmbedder())
    index = store.open()
    store.enriched.follow(index, OfflineEnricher(Thesaurus(())))
    return store


@pytest.fixture
def lab(server, enriched_store, embedder, labels) -> Lab:
    return provider_lab(server, enriched_store, embedder, labels)


class Sure:
    """An offline measure that finds every passage relevant."""

    name = key = "sure"
    embedder = WordEmbedder()

    def relevance(self, question: str, hits: Sequence[Hit]) -> list[float]:
        return [0.9] * len(hits)

    chances = relevance


def sent(server: OpenAIServer) -> Counter[str]:
    """Calls the server was asked for, by purpose."""
    return Counter("embed" if "input" in r.body else r.role or "judge" for r in server.requests)


def check_agreed(server: OpenAIServer, agreed: ev.CostEstimate) -> None:
    assert sent(server).total() > 0
    assert sent(server) <= Counter(agreed.calls)


# What comes at once is asked for no oftener than what comes at the second try: one strategy will do.
@pytest.mark.parametrize(
    ("name", "choose"), [*((name, stubborn) for name in EVERY if RECIPES[name].calls), ("rag_msr", obliging)]
)
def test_an_evaluation_sends_no_more_than_was_agreed(server, lab, tmp_path, name, choose):
    server.choose = choose
    strategies = ev.build_strategies({"one": name, "other": (name, {"k_final": 2})})
    manifest = ev.describe_run(TEST, strategies, depth=None, engine=lab.engine, source="builtin")
    run = RunFolder.create(tmp_path / "run", manifest, TEST)
    agreed = ev.estimate(ev.plan_of(run, strategies, share=True), lab.rehearsal())
    assert server.requests == []
    list(ev.evaluate(run, strategies, lab.services, share=True))
    if any(call != "answer" for call in RECIPES[name].calls):
        check_agreed(server, agreed)
    assert ev.estimate(ev.plan_of(run, strategies, share=True), lab.rehearsal()).free, "all is measured"


def test_one_call_from_python_sends_nothing_until_it_is_agreed_to(server, lab, beir):
    server.choose = stubborn
    with pytest.raises(ConfigError, match=r"This run would cost .* Pass yes=True"):
        rag_core.evaluate(lab, "multi_query", beir)
    assert server.requests == []
    results = rag_core.evaluate(lab, "multi_query", beir, yes=True)
    assert sent(server)["rewrite"] >= results.queries == 3


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("multi_query", [{"k_final": 2}, {"k_final": 3, "rewriter_temperature": 0.7}]),
        ("rag_msr", [{"alpha": 0.1}, {"m_per_query": 1}, {"k_per_query": 3, "m_per_query": 3}]),
        ("hyde", [{"k_final": 2}, {"k_final": 3}]),
    ],
)
def test_a_sweep_sends_no_more_than_was_agreed(server, lab, name, settings):
    """Dev, test, and the settings that are run again from scratch, which pay for all of their calls."""
    server.choose = stubborn
    recipe, metric = RECIPES[name], ev.parse_metric("ndcg@10")
    agreed = ev.estimate(ev.plan(recipe, settings, DEV, TEST), lab.rehearsal())
    assert server.requests == []
    ev.tune(recipe, settings, metric, DEV, TEST, lab.services)
    check_agreed(server, agreed)
    on_dev_alone = ev.estimate([ev.plan(recipe, settings, DEV, TEST)[0]], lab.rehearsal())
    assert sent(server).total() > sum(on_dev_alone.calls.values())


def test_answers_and_their_judge_send_no_more_than_was_agreed(server, lab):
    server.choose = stubborn
    chosen = {name: name for name in EVERY}
    asked = ev.Workload(TEST.questions, list(with_answers(chosen).values()), judging=True)
    agreed = ev.estimate([asked], lab.rehearsal())
    assert server.requests == []
    report = check_answers(lab, TEST, chosen, judging=True)
    check_agreed(server, agreed)
    assert report.as_json()["strategies"]["rag_msr"]["failed"] == 0


def test_the_offline_engines_embeddings_by_a_paid_model_are_asked_for_and_billed(server, lab, tmp_path, labels):
    """Nothing is billed but embeddings: of questions and rewrites, and of the first passes for them."""
    wanted = Settings(openai_base_url=server.url, embedding="openai:text-embedding-3-small", llm="offline")
    embedder = load_embedder(wanted, listed())
    store = CorpusStore(tmp_path / "paid", "animals", embedder)
    report = store.update(SourceFiles("test", list(DOCUMENTS)))
    words = sum(len(text.split()) for r in server.requests for text in r.body["input"])
    assert report.cost.usd == pytest.approx(words * 0.02e-6), "indexing has its bill"
    store.enriched.follow(store.open(), OfflineEnricher(Thesaurus(())))
    engines = replace(lab.engines, embedder=embedder, paid={}, scorer=Sure())
    offline = Lab(wanted, "animals", engines, store)
    chosen = {name: name for name in ("simple_semantic", "multi_query", "hyde", "hybrid_rrf")}
    asked = ev.Workload(TEST.questions, list(with_answers(chosen).values()))
    server.requests.clear()
    agreed = ev.estimate([asked], offline.rehearsal())
    assert server.requests == []
    assert set(agreed.calls) == {"embed"}
    found = check_answers(offline, TEST, chosen)
    check_agreed(server, agreed)
    billed = [
        call
        for outcomes in found.outcomes.values()
        for outcome in outcomes.values()
        for call in outcome.calls
        if call.model == "text-embedding-3-small"
    ]
    tokens = sum(len(text.split()) for r in server.requests for text in r.body["input"])
    assert sum(call.input_tokens for call in dict.fromkeys(billed)) == tokens
    assert {call.counted_by for call in billed} == {"provider"}


def test_a_missing_enriched_index_is_said_before_anything_is_sent(server, store, index, embedder, labels):
    lab = provider_lab(server, store, embedder, labels)
    strategies = ev.build_strategies({"contextual": ("contextual", {"transform": True})})
    with pytest.raises(MissingResource) as missing:
        ev.estimate([ev.Workload(TEST.questions, list(strategies.values()))], lab.rehearsal())
    assert "no enriched index" in missing.value.message
    assert "rag index" in missing.value.next_step
    assert server.requests == []


def test_the_estimate_says_what_it_knows_of_the_price(server, store, index, embedder, labels):
    lab = provider_lab(server, store, embedder, labels, rewriter_model="my-local-model")
    asked = ev.Workload(QUESTIONS, list(ev.build_strategies({"m": "multi_query"}).values()))
    assert str(ev.estimate([asked], lab.rehearsal())) == "at most an unknown price for at most 12 rewrite calls"
    plain = ev.Workload(QUESTIONS, list(ev.build_strategies({"b": "bm25"}).values()))
    assert str(ev.estimate([plain], lab.rehearsal())) == "nothing"


ASK = Template(name="ask", purpose="rewrite", system="", text="Rewrite: {question}")


@dataclasses.dataclass(frozen=True)
class Asking(TransformStage):
    """Asks a language model for one rewrite."""

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        return (Query(ctx.complete(ASK.fill(question=question.text, sources=())), "ask"),)


def test_the_bill_is_told_before_anything_is_sent(tmp_path, services):
    """1 of 3 questions is measured: 2 calls are left, each as long as the longest question."""
    import datetime

    from rag_core.models.tokenizer import count_tokens

    asking = {"asking": Strategy("asking", (Asking(), Retrieve((Dense(k=3),)), ReciprocalRankFusion()))}
    plain = {"dense": Strategy("dense", (Retrieve((Dense(k=3),)),))}
    price = Price(1_000_000.0, 0.0, datetime.date(2026, 1, 1), "test")  # a dollar a token in
    longest = max(count_tokens(f"Rewrite: {q.text}", "dear") for q in JUDGED.measured)
    for prices, known in ((PriceList({"dear": price}), True), (PriceList({}), False)):
        rehearsal = dataclasses.replace(services, llms={"rewrite": RehearsedLlm("dear", prices)})
        run = opened(tmp_path / f"run{known}", asking)

        def bill(run: RunFolder = run, rehearsal: Services = rehearsal) -> ev.CostEstimate:
            return ev.estimate(ev.plan_of(run, asking, share=True), rehearsal)

        assert bill().calls == {"rewrite": 3}
        assert not bill().free
        assert bill().cost == (Cost(3.0 * longest) if known else Cost(unpriced=3))
        assert bill().unpriced == ((0, 0) if known else (3 * longest, 3 * REPLY_TOKENS))
        run.append("asking", Record("q1"))
        run.append("asking", Record("q2", error="It failed."))
        assert bill().calls == {"rewrite": 2}, "what failed is asked again"
    llm = services.llms["rewrite"]
    assert isinstance(llm, ScriptedLlm)
    assert llm.prompts == [], "nothing was sent"
    free = opened(tmp_path / "free", plain)
    assert ev.estimate(ev.plan_of(free, plain, share=True), services).free


def test_a_bill_shares_equal_calls_only_among_strategies_that_a_question_still_goes_to(tmp_path, services):
    """Two strategies ask the same; one has q1 already: q1 costs the other a call of its own."""
    twins = {
        name: Strategy(name, (Asking(), Retrieve((Dense(k=k),)), ReciprocalRankFusion()))
        for name, k in (("a", 2), ("b", 3))
    }
    rehearsal = dataclasses.replace(services, llms={"rewrite": RehearsedLlm("dear", PriceList({}))})
    run = opened(tmp_path / "run", twins)
    for share, calls in ((True, 3), (False, 6)):
        assert ev.estimate(ev.plan_of(run, twins, share=share), rehearsal).calls == {"rewrite": calls}
    run.append("a", Record("q1"))
    run.append("a", Record("q2"))
    assert ev.estimate(ev.plan_of(run, twins, share=True), rehearsal).calls == {"rewrite": 3}
    assert ev.estimate(ev.plan_of(run, twins, share=False), rehearsal).calls == {"rewrite": 4}
