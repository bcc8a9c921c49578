import dataclasses

from helpers.judged import JUDGED, opened

from rag_core import evaluation as ev
from rag_core.evaluation.records import Record
from rag_core.evaluation.run_folder import RunFolder
from rag_core.models import RehearsedLlm
from rag_core.models.rehearsal import REPLY_TOKENS
from rag_core.pipeline.strategy import Strategy
from rag_core.prompts.prompt import Template
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.stages import Dense, ReciprocalRankFusion, Retrieve, TransformStage
from rag_core.testing import ScriptedLlm
from rag_core.values.pricing import Price, PriceList
from rag_core.values.types import Cost, Query

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
