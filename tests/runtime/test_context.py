import contextvars
import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from helpers.fakes import QUESTION, Told, WordReranker, refused, stopped
from helpers.plane import hit
from helpers.small import WordEmbedder

from rag_core.catalog import build
from rag_core.evaluation.answer_scores import Judgement, judge
from rag_core.pipeline.strategy import Strategy
from rag_core.pipeline.stream import collect, stream
from rag_core.prompts.prompt import Prompt, Template
from rag_core.runtime.context import Context
from rag_core.runtime.run import Budget, Limits, Once, Run
from rag_core.runtime.services import Services
from rag_core.values.errors import (
    ConfigError,
    LimitReached,
    MissingResource,
    ProviderError,
    RagError,
    StageError,
    Stopped,
)
from rag_core.values.trace import Trace
from rag_core.values.types import ModelCall, Passage, Vote

SECONDS = 20  # to wait for what must come; nothing waits this long when it does


def beside(ctx: Context) -> Context:
    """Another stage's context in the same run."""
    return Context(ctx.services, ctx.run)


@pytest.mark.parametrize("threads", [1, 8])
def test_a_value_is_computed_once_however_many_ask_and_a_failure_reaches_all(threads):
    once, ready, computed = Once(), threading.Barrier(threads), []
    got: list[tuple[str, object]] = []

    def work(fails: bool) -> object:
        computed.append(fails)
        if fails:
            raise ValueError("no")
        return "value"

    def ask(fails: bool) -> None:
        ready.wait(timeout=SECONDS)
        try:
            got.append(once.get(fails, lambda: work(fails)))
        except ValueError as error:
            got.append((str(error), None))

    for fails in (False, True):
        askers = [threading.Thread(target=ask, args=(fails,)) for _ in range(threads)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join(SECONDS)
    assert computed == [False, True]
    assert sorted(got, key=str) == sorted(
        [("value", True), *[("value", False)] * (threads - 1), *[("no", None)] * threads], key=str
    )


@pytest.mark.parametrize("items", [[], ["a"], ["a", "b", "c"]])
def test_items_are_mapped_in_their_order_with_the_callers_context_variables(ctx, items):
    tag = contextvars.ContextVar("tag", default="lost")
    tag.set("kept")
    assert ctx.map(lambda item: (item, tag.get()), items) == [(item, "kept") for item in items]


def test_the_calls_of_one_stage_run_at_the_same_time(ctx):
    meeting = threading.Barrier(3)
    assert sorted(ctx.map(lambda item: meeting.wait(timeout=SECONDS), ["a", "b", "c"])) == [0, 1, 2]


def test_a_failing_item_fails_the_map_after_all_have_ended(ctx):
    ended: list[str] = []

    def work(item: str) -> None:
        ended.append(item)
        if item == "a":
            raise ValueError("no a")

    with pytest.raises(ValueError, match="no a"):
        ctx.map(work, ["a", "b", "c"])
    assert sorted(ended) == ["a", "b", "c"]


def test_the_same_texts_are_embedded_once_and_what_differs_in_anything_on_its_own(ctx, embedder):
    embedder.asked.clear()
    first, again = ctx.embed(("cats",)), ctx.embed(["cats"])
    ctx.embed(("cats",), "passage")
    ctx.embed(("cats", "dogs"))
    assert first is again
    ctx.embed(("cats",), "passage", ("es",))
    assert embedder.asked == [("cats",), ("cats",), ("cats", "dogs"), ("cats",)]


def test_a_metered_copy_has_its_own_ledger_and_warnings(ctx):
    one, other = beside(ctx), beside(ctx)
    one.embed(("cats",))
    one.warn("careful")
    assert (len(one.meter.calls), one.meter.warnings) == (1, ["careful"])
    assert (other.meter.calls, other.meter.warnings, ctx.meter.calls, ctx.meter.warnings) == ([], [], [], [])


def named(model: object, key: str) -> object:
    model.key = key
    return model


@pytest.mark.parametrize(
    ("ask", "changed"),
    [
        (lambda ctx: ctx.embed(("cats",)), {"embedder": named(WordEmbedder(), "words-2")}),
        (lambda ctx: ctx.rerank("cats", [hit("a")]), {"reranker": named(WordReranker(), "words-2")}),
        (
            lambda ctx: ctx.complete(ASK.fill(what="x")),
            {"llms": {"answer": named(Told({"ask": "dogs"}, offline=True), "told elsewhere")}},
        ),
        (lambda ctx: ctx.complete(ASK.fill(what="x")), {"index": SimpleNamespace(name="another")}),
    ],
    ids=["embedder", "reranker", "model", "index"],
)
def test_work_is_shared_by_the_same_models_and_index_only(ctx, ask, changed):
    offline = Told({"ask": "cats"}, offline=True)
    ctx = Context(replace(ctx.services, reranker=WordReranker(), llms={"answer": offline}))
    same, other = beside(ctx), Context(replace(ctx.services, **changed), ctx.run)
    for one in (ctx, same, other):
        ask(one)
    assert [bool(one.meter.made) for one in (ctx, same, other)] == [True, False, True]


class TestRerank:
    @pytest.fixture
    def reranker(self) -> WordReranker:
        return WordReranker()

    @pytest.fixture
    def ctx(self, ctx, reranker) -> Context:
        return Context(replace(ctx.services, reranker=reranker))

    def test_the_same_passages_are_scored_once_a_question_and_billed_where_they_are_used(self, ctx, reranker):
        hits = [hit("a"), hit("b")]
        one, two = beside(ctx), beside(ctx)
        first, again = one.rerank("text", hits), two.rerank("text", hits)
        assert first == again == ([1.0, 1.0], "cross_encoder")
        assert len(reranker.asked) == 1
        assert one.meter.calls[0] is two.meter.calls[0]

    def test_passages_that_came_another_way_are_the_same_passages(self, ctx, reranker):
        ctx.rerank("text", [hit("a", 0.9)])
        ctx.rerank("text", [hit("a", 0.1).with_votes(Vote("Bm25", "q", 1, 3.0, "bm25"))])
        assert len(reranker.asked) == 1

    def test_another_query_order_or_context_is_scored_anew(self, ctx, reranker):
        situated = replace(hit("a"), passage=Passage("a", "a", "", "text of a", context="About a."))
        for query, hits in (
            ("text", [hit("a"), hit("b")]),
            ("other", [hit("a"), hit("b")]),
            ("text", [hit("b"), hit("a")]),
            ("text", [situated, hit("b")]),
        ):
            ctx.rerank(query, hits)
        assert len(reranker.asked) == 4

    def test_it_does_not_begin_once_the_run_was_stopped(self, ctx, reranker):
        with pytest.raises(Stopped):
            Context(ctx.services, stopped()).rerank("text", [hit("a")])
        assert reranker.asked == []


def test_the_enriched_index_is_searched_or_missed_by_name(full):
    assert Context(full).index_for(enriched=True) is full.enriched
    assert Context(full).index_for(enriched=False) is full.index
    with pytest.raises(MissingResource, match="'many' has no enriched index") as missing:
        Context(replace(full, enriched=None)).index_for(enriched=True)
    assert "rag index PATH --corpus many --enrich" in missing.value.next_step
    assert "enriched=false" in missing.value.next_step


ASK = Template("ask", "answer", "", "Say {what}")


class Breaking:
    """Says a word, is billed, and breaks off."""

    name = key = "breaking"
    offline = False

    def stream(self, prompt: Prompt, stop: object) -> Iterator[str | ModelCall]:
        yield "Cats"
        yield ModelCall(prompt.purpose, self.name, 50, 1, 0.75, "tokenizer")
        raise ProviderError("The stream broke off.")


class TestComplete:
    def test_the_same_prompt_is_asked_once_and_on_both_bills(self, ctx):
        llm = Told({"ask": "cats"})
        ctx = Context(replace(ctx.services, llms={"answer": llm}))
        one, two = beside(ctx), beside(ctx)
        assert one.complete(ASK.fill(what="x")) == two.complete(ASK.fill(what="x")) == "cats"
        assert len(llm.prompts) == 1
        assert one.meter.calls[0] is two.meter.calls[0]

    @pytest.mark.parametrize(
        "other",
        [replace(ASK, temperature=0.5), replace(ASK, system="Be brief."), replace(ASK, text="Tell {what}")],
        ids=["temperature", "system", "text"],
    )
    def test_a_prompt_that_differs_in_anything_is_asked_too(self, ctx, other):
        llm = Told({"ask": "cats"})
        ctx = Context(replace(ctx.services, llms={"answer": llm}))
        ctx.complete(ASK.fill(what="x"))
        ctx.complete(other.fill(what="x"))
        assert len(llm.prompts) == 2

    def test_a_call_that_broke_off_is_billed_and_its_words_are_no_reply(self, ctx):
        ctx = Context(replace(ctx.services, llms={"answer": Breaking()}))
        with pytest.raises(ProviderError, match="broke off"):
            ctx.complete(ASK.fill(what="x"))
        assert [call.cost_usd for call in ctx.meter.calls] == [0.75]

    def test_of_several_calls_a_refused_one_is_its_error_and_the_others_are_replies(self, ctx):
        llm = Told({"ask": "cats", "other": refused("No quota.")})
        ctx = Context(replace(ctx.services, llms={"answer": llm}))
        other = replace(ASK, name="other")
        first, second = ctx.complete_all([ASK.fill(what="x"), other.fill(what="x")])
        assert first == "cats"
        assert isinstance(second, ProviderError)

    @pytest.mark.parametrize("fault", [TypeError("a fault"), Stopped(), LimitReached("too many")])
    def test_a_fault_a_stop_and_a_limit_are_no_failed_call(self, ctx, fault):
        ctx = Context(replace(ctx.services, llms={"answer": Told({"ask": "cats", "other": fault})}))
        with pytest.raises(type(fault)):
            ctx.complete_all([ASK.fill(what="x"), replace(ASK, name="other").fill(what="x")])

    def test_prompts_that_wait_for_a_thread_are_not_sent_once_the_run_is_stopped(self, ctx):
        stop = threading.Event()

        def say(prompt: Prompt) -> str:
            stop.set()
            return "cats"

        llm = Told({"ask": say})
        services = replace(ctx.services, llms={"answer": llm}, workers=2)
        with pytest.raises(Stopped):
            Context(services, Run(stop=stop)).complete_all([ASK.fill(what=str(one)) for one in range(4)])
        assert len(llm.prompts) <= services.workers

    def test_a_purpose_without_a_model_is_named(self, ctx):
        with pytest.raises(ConfigError, match="No language model is set for 'judge'"):
            ctx.complete(replace(ASK, purpose="judge").fill(what="x"))


def paid(cost: float | None = 0.25, purpose: str = "answer") -> ModelCall:
    return ModelCall(purpose, "m", 1, 1, cost, "provider")


class TestBudget:
    @pytest.mark.parametrize(
        ("limits", "price", "calls", "says", "variable"),
        [
            (Limits(calls=2), 0.25, 2, "This run has made 2 language model calls", "RAG_MAX_CALLS"),
            (Limits(cost_usd=0.5), 0.25, 2, r"has cost \$0.5000; its limit is \$0.5", "RAG_MAX_COST_USD"),
            (Limits(calls=3, cost_usd=0.01), None, 3, "made 3", "RAG_MAX_CALLS"),  # an unknown price
        ],
    )
    def test_a_call_is_made_until_as_many_were_or_the_limit_was_spent(self, limits, price, calls, says, variable):
        budget = Budget()
        for _ in range(calls):
            budget.start_call(limits)
            budget.spend([paid(price)])
        with pytest.raises(LimitReached, match=says) as reached:
            budget.start_call(limits)
        assert variable in reached.value.next_step

    def test_one_call_that_several_stages_use_is_spent_once(self):
        budget, limits, embedding = Budget(), Limits(cost_usd=0.5), paid(0.4, "embed")
        for _ in range(5):
            budget.spend([embedding])
        budget.start_call(limits)
        budget.spend([paid(0.4)])
        with pytest.raises(LimitReached, match=r"\$0.8000"):
            budget.start_call(limits)

    def test_without_limits_there_are_none(self):
        budget, limits = Budget(), Limits()
        calls = 0
        for _ in range(1000):
            budget.start_call(limits)
            budget.spend([paid(100.0)])
            calls += 1
        assert calls == 1000

    def test_a_stage_taken_over_counts_its_language_model_calls_and_every_price(self):
        budget, limits = Budget(), Limits(calls=3, cost_usd=10)
        budget.add_reused([paid(1, "rewrite"), paid(1, "rewrite"), paid(1, "embed"), paid(1, "rerank")])
        budget.start_call(limits)
        with pytest.raises(LimitReached, match="made 3"):
            budget.start_call(limits)
        budget, limits = Budget(), Limits(cost_usd=4)
        budget.add_reused([paid(1, "rewrite"), paid(1, "rewrite"), paid(1, "embed"), paid(1, "rerank")])
        with pytest.raises(LimitReached, match=r"\$4.0000"):
            budget.start_call(limits)


def settled(strategies: list[object], services: Services) -> list[Trace | RagError]:
    built = [build(one) for one in strategies]  # type: ignore[arg-type]
    return collect(stream(QUESTION, built, services))


class TestLimitsOfARun:
    """3 rewrites and 1 answer, at 0.25 $ each, are what multi_query takes."""

    def test_what_it_needs_is_enough_and_one_less_is_not(self, full):
        build("multi_query").run(QUESTION, replace(full, limits=Limits(calls=4, cost_usd=1.0)))
        with pytest.raises(StageError, match="stage Generate failed: This run has made 3 language") as failed:
            build("multi_query").run(QUESTION, replace(full, limits=Limits(calls=3)))
        sent = [call for call in failed.value.calls if call.of_language_model]
        assert [call.purpose for call in sent] == ["rewrite"] * 3
        assert isinstance(failed.value.__cause__, LimitReached)
        assert len(set(failed.value.calls)) == len(failed.value.calls)

    def test_limits_bind_outside_a_run_too(self, full):
        """As where an answer is judged, which is no run of a strategy."""
        ctx = Context(replace(full, limits=Limits(calls=1), llms={"answer": Told({"ask": "x"})}))
        ctx.complete(ASK.fill(what="cats"))
        with pytest.raises(LimitReached, match="made 1 language model call"):
            beside(ctx).complete(ASK.fill(what="dogs"))

    def test_each_judged_answer_has_the_limits_to_itself(self, full):
        trace = build("bm25").run(QUESTION, full)
        limited = replace(full, limits=Limits(calls=1))
        good = Told({"judge_answer": '{"faithfulness": 80, "relevance": 60}'})
        for _ in range(2):
            judgement, calls = judge(trace, Context(replace(limited, llms={"judge": good})))
            assert (judgement, len(calls)) == (Judgement(80, 60), 1)
        refused_twice, calls = judge(trace, Context(replace(limited, llms={"judge": Told({"judge_answer": "80"})})))
        assert isinstance(refused_twice, LimitReached), "the second attempt is one call too many"
        assert len(calls) == 1

    def test_every_run_has_its_own(self, full):
        services = replace(full, limits=Limits(calls=4))
        for _ in range(3):
            assert build("multi_query").run(QUESTION, services).answer

    @pytest.mark.parametrize(("calls", "kind"), [(4, Trace), (3, StageError)])
    def test_calls_that_columns_share_count_for_each(self, full, calls, kind):
        """Whichever column comes first, both take three rewrites and an answer, so both go or neither does."""
        twins = settled(["multi_query", ("multi_query", {"k_final": 3})], replace(full, limits=Limits(calls=calls)))
        assert [type(one) for one in twins] == [kind] * 2

    def test_retrieval_alone_asks_no_answer_of_the_limit(self, full):
        strategy: Strategy = build("multi_query").without_answer()
        trace = strategy.run(QUESTION, replace(full, limits=Limits(calls=3)))
        assert len(trace.ranking) == 8
