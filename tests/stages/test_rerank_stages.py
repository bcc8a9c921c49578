import math
import threading
from dataclasses import replace

import pytest
from helpers.fakes import QUESTION, Scores, Told, WordReranker, refused, score, talker
from helpers.looping import for_each
from helpers.plane import Plane, context, cos, hit, ranking
from hypothesis import given
from hypothesis import strategies as st

from rag_core.catalog import build
from rag_core.prompts.prompt import Prompt
from rag_core.runtime.context import Context
from rag_core.runtime.run import Limits
from rag_core.stages import (
    Blend,
    LlmRerank,
    Mmr,
    Rerank,
    RerankStage,
    Threshold,
)
from rag_core.values.errors import ConfigError, ProviderError, StageError
from rag_core.values.types import Hit, Query, Ranking, State, Vote

SECONDS = 20  # to wait for what must come; nothing waits this long when it does
Reply = str | Exception


def judging(replies: dict[str, Reply | tuple[Reply, ...]], **more: object) -> tuple[Context, Told]:
    """A context whose judge replies by passage id; in turn, where there are several replies."""
    turns = {name: list(said) if isinstance(said, tuple) else [said] for name, said in replies.items()}

    def reply(prompt: Prompt) -> Reply:
        (source,) = prompt.fields["sources"]
        left = turns[source.id]
        return left.pop(0) if len(left) > 1 else left[0]

    llm = Told({"judge_passage": reply})
    return context(Plane(), llms={"judge": llm}, **more), llm


def scores_of(stage: RerankStage, ids: str, ctx: Context) -> dict[str, float]:
    state = replace(State.start("question"), rankings=(ranking(ids),))
    return {found.id: found.score for found in stage(state, ctx).ranking}


class TestRescore:
    def test_every_ranking_is_scored_against_its_own_query(self):
        reranker = WordReranker()
        ctx = context(Plane(), reranker=reranker)
        one, two = Query("text of a"), Query("b alone")
        state = replace(State.start("question"), rankings=(ranking("ab", one), ranking("bc", two)))
        first, second = Rerank()(state, ctx).rankings
        assert [(found.id, found.score) for found in first] == [("a", 3.0), ("b", 2.0)]
        assert [(found.id, found.score) for found in second] == [("b", 1.0), ("c", 0.0)]
        assert first.hits[0].votes == (Vote("Rerank", "text of a", 1, 3.0, "cross_encoder"),)
        assert reranker.asked == [("text of a", ("a", "b")), ("b alone", ("b", "c"))]

    @pytest.mark.parametrize("search_type", ["bm25", "vector", "hybrid"])
    def test_one_ranking_is_scored_against_the_question_whatever_was_searched_with(self, full, search_type):
        reranker = WordReranker()
        settings = {"transform": True, "rerank": True, "search_type": search_type}
        trace = build(("contextual", settings)).run(QUESTION, replace(full, reranker=reranker))
        assert [query.text for query in trace.final.queries] == ["feline canine sleep"]
        assert [query for query, _ in reranker.asked] == [QUESTION]

    def test_after_hyde_the_question_is_what_counts(self):
        """The passage searched with lies at 90°, the question at 0°: of a (10°) and b (80°), a is relevant."""
        reranker = WordReranker()
        plane = Plane(question=0, a=10, b=80, supposed=90)
        ctx = context(plane, reranker=reranker)
        state = replace(State.start("question"), rankings=(ranking("ba", Query("supposed")),))
        (first, _) = Mmr(2, 1.0)(state, ctx).ranking
        assert first.id == "a"
        Rerank()(state, ctx)
        assert [query for query, _ in reranker.asked] == ["question"]

    @pytest.mark.parametrize("scale", ["cross_encoder", "offline_scorer"])
    def test_the_scale_says_whose_scores_they_are(self, scale):
        ctx = context(Plane(), reranker=WordReranker(scale))
        state = replace(State.start("question"), rankings=(ranking("ab"),))
        assert {found.scale for found in Rerank()(state, ctx).ranking} == {scale}

    def test_nothing_found_is_nothing_to_score(self):
        reranker = WordReranker()
        ctx = context(Plane(), reranker=reranker)
        assert scores_of(Rerank(), "", ctx) == {}
        assert reranker.asked == []

    @pytest.mark.parametrize("scores", [(1.0,), (1.0, 2.0, 3.0), (1.0, math.nan), (math.inf, 1.0), ()], ids=str)
    def test_a_score_too_few_or_none_at_all_is_an_error_that_was_paid_for(self, scores):
        ctx = context(Plane(), reranker=Scores(scores))
        with pytest.raises(ProviderError, match="scores gave no usable score for each of 2 passages"):
            scores_of(Rerank(), "ab", ctx)
        assert [call.cost_usd for call in ctx.meter.calls] == [0.5]

    def test_without_a_reranker_the_strategy_says_what_is_missing(self):
        with pytest.raises(ConfigError, match="No reranker is set"):
            scores_of(Rerank(), "ab", context(Plane()))


class TestJudge:
    def test_0_to_100_becomes_0_to_1(self):
        ctx, _ = judging({"a": score(0), "b": score(100), "c": score(62.5)})
        assert scores_of(LlmRerank(), "abc", ctx) == {"b": 1.0, "c": 0.625, "a": 0.0}

    def test_every_passage_is_asked_for_by_itself_with_the_question(self):
        ctx, llm = judging({"a": score(10), "b": score(20)})
        state = replace(State.start("question"), rankings=(ranking("ab"),))
        found = LlmRerank()(state, ctx).ranking
        assert {(found.scale, found.votes[-1].stage) for found in found} == {("judge", "LlmRerank")}
        asked = {prompt.render() for prompt in llm.prompts}
        assert len(asked) == 2
        for name in "ab":
            (prompt,) = [each for each in asked if f"text of {name}" in each]
            assert prompt.startswith("Question: question\n")
            assert prompt.count("<source ") == 1
            assert 'relevance="unknown"' in prompt  # no other score may sway it
        assert [(call.purpose, call.input_tokens) for call in ctx.meter.calls] == [("judge", 100)] * 2

    def test_the_criteria_of_the_seed_are_put_to_it(self):
        ctx, llm = judging({"a": score(10)})
        scores_of(LlmRerank(), "a", ctx)
        (prompt,) = llm.prompts
        for wanted in (
            "what the question is after",
            "clear and useful",
            "complete and specific",
            "as a whole",
        ):
            assert wanted in prompt.system
        assert "0 to 100" in prompt.system
        assert set(prompt.template.reply.model_fields) == {"reason", "score"}

    def test_all_are_asked_at_the_same_time(self):
        meeting = threading.Barrier(3)

        def together(prompt: Prompt) -> str:
            meeting.wait(timeout=SECONDS)
            return score(50)

        ctx = context(Plane(), llms={"judge": Told({"judge_passage": together})})
        assert scores_of(LlmRerank(), "abc", ctx) == dict.fromkeys("abc", 0.5)

    MALFORMED = (  # what else is malformed: tests/prompts/test_replies.py
        ("Very relevant, 90.", "it holds no JSON object"),
        (score("90 or so"), "score is '90 or so', not a number from 0 to 100"),
        (score(101), "score is 101, not a number from 0 to 100"),
        ('{"reason": "none"}', "score is None, not a number from 0 to 100"),
    )

    @for_each(("reply", "reason"), MALFORMED)
    def test_a_malformed_reply_is_asked_for_once_more_with_the_reason(self, reply, reason):
        ctx, llm = judging({"a": (reply, score(80)), "b": score(30)})
        assert scores_of(LlmRerank(), "ab", ctx) == {"a": 0.8, "b": 0.3}
        assert ctx.meter.warnings == []
        assert len(ctx.meter.calls) == 3
        again = [prompt for prompt in llm.prompts if prompt.fields["refused"]]
        assert [prompt.fields["refused"] for prompt in again] == [f"Your last reply was refused: {reason}.\n"]
        assert f"refused: {reason}." in again[0].render()

    @for_each(("reply", "reason"), MALFORMED)
    def test_malformed_twice_it_is_left_out_with_a_warning_and_never_a_score(self, reply, reason):
        ctx, llm = judging({"a": reply, "b": score(0)})
        assert scores_of(LlmRerank(), "ab", ctx) == {"b": 0.0}
        assert ctx.meter.warnings == [
            "1 of 2 passages could not be judged and were left out: "
            f"The judge's reply was malformed 2 times: {reason}. The last one: “{reply}”"
        ]
        assert len(llm.prompts) == len(ctx.meter.calls) == 3

    def test_a_refused_call_is_not_asked_again_here(self):
        """The provider's client has its own retries."""
        ctx, llm = judging({"a": refused("No quota."), "b": score(70)})
        assert scores_of(LlmRerank(), "ab", ctx) == {"b": 0.7}
        assert ctx.meter.warnings == ["1 of 2 passages could not be judged and were left out: No quota."]
        assert len(llm.prompts) == 2

    @pytest.mark.parametrize("reply", [refused("No quota."), "no idea"])
    def test_when_none_can_be_judged_the_run_fails(self, full, reply):
        llm = talker(judge_passage=reply)
        with pytest.raises(StageError, match="rag_msr: stage LlmRerank failed: no passage could be judged: "):
            build("rag_msr").run(QUESTION, replace(full, llms=dict.fromkeys(full.llms, llm)))
        assert llm.purposes["answer"] == 0


def judged_hit(name: str, value: float) -> Hit:
    return replace(hit(name), votes=(Vote("LlmRerank", "question", 1, value, "judge"),), score=value, scale="judge")


def blended(alpha: float, plane: Plane, *hits: Hit) -> Ranking:
    state = replace(State.start("question"), rankings=(Ranking(Query("question"), hits),))
    return Blend(alpha)(state, context(plane)).ranking


class TestBlend:
    @pytest.mark.parametrize("alpha", [0.0, 0.4, 0.75, 1.0])
    def test_s_final_is_alpha_cosine_plus_the_rest_of_the_judge(self, alpha):
        plane = Plane(question=0, a=60, b=90, c=120)
        judge = {"a": 0.2, "b": 0.9, "c": 0.5}
        found = blended(alpha, plane, *(judged_hit(name, value) for name, value in judge.items()))
        degrees = {"a": 60, "b": 90, "c": 120}
        assert {each.id: each.score for each in found} == pytest.approx(
            {name: alpha * cos(degrees[name]) + (1 - alpha) * value for name, value in judge.items()},
            abs=1e-6,
        )
        assert {each.scale for each in found} == {"s_final"}

    def test_both_parts_are_votes_of_their_scale_and_alpha_is_shown(self):
        """α = 0.4: a is 0.4 · 0.5 + 0.6 · 0.9 = 0.74, b is 0.4 · 1 + 0.6 · 0.2 = 0.52."""
        a, b = blended(0.4, Plane(question=0, a=60, b=0), judged_hit("a", 0.9), judged_hit("b", 0.2))
        assert [(vote.stage, vote.scale, vote.rank) for vote in a.votes] == [
            ("LlmRerank", "judge", 1), ("Blend", "cosine", 2), ("Blend", "s_final", 1),
        ]  # fmt: skip
        assert [vote.score for vote in a.votes] == pytest.approx([0.9, 0.5, 0.74], abs=1e-6)
        assert [vote.score for vote in b.votes] == pytest.approx([0.2, 1.0, 0.52], abs=1e-6)
        assert [(term.name, term.weight) for term in a.votes[-1].terms] == [("cosine", 0.4), ("judge", 0.6)]
        assert [term.value for term in a.votes[-1].terms] == pytest.approx([0.5, 0.9], abs=1e-6)

    def test_the_defaults_worked_through(self):
        """α = 0.4: 0.4 · 0.5 + 0.6 · 0.75 = 0.20 + 0.45 = 0.65, and 0.4 · 0 + 0.6 · 0.9 = 0.54."""
        plane = Plane(question=0, a=60, b=90)
        hits = (judged_hit("a", 0.75), judged_hit("b", 0.9))
        state = replace(State.start("question"), rankings=(Ranking(Query("question"), hits),))
        found = Blend()(state, context(plane)).ranking
        assert [(each.id, pytest.approx(each.score, abs=1e-6)) for each in found] == [
            ("a", 0.65),
            ("b", 0.54),
        ]

    def test_the_last_judgement_counts_and_later_stages_are_not_taken_for_it(self):
        votes = (
            Vote("LlmRerank", "q", 1, 0.1, "judge"),
            Vote("LlmRerank", "q", 1, 0.9, "judge"),
            Vote("Rerank", "q", 1, 7.0, "cross_encoder"),
        )
        (found,) = blended(0.0, Plane(question=0, a=60), replace(hit("a"), votes=votes))
        assert found.score == 0.9

    def test_alpha_one_needs_no_judge_and_less_says_what_is_missing(self):
        plane = Plane(question=0, a=60)
        (found,) = blended(1.0, plane, hit("a"))
        assert found.score == pytest.approx(cos(60), abs=1e-6)
        with pytest.raises(ConfigError, match="have no judge's score"):
            blended(0.99, plane, hit("a"))


def above(theta: float, *scores: float, question: str = "How do cats sleep in winter?") -> State:
    hits = tuple(replace(hit(f"p{i}"), score=value) for i, value in enumerate(scores))
    state = State.start(question)
    rankings = (Ranking(state.question, hits),)
    return Threshold(theta)(replace(state, rankings=rankings), context(Plane()))


class TestAtLeast:
    def test_the_threshold_itself_is_enough(self):
        state = above(0.5, 0.9, 0.5, math.nextafter(0.5, 0), 0.1)
        assert [found.score for found in state.ranking] == [0.9, 0.5]
        assert state.shortfall == ""

    @pytest.mark.parametrize(
        ("question", "said"),
        [
            (
                "How do cats sleep in winter?",
                "The best passage reaches 0.432, which is below the threshold θ = 0.5.",
            ),
            (
                "¿Cómo duermen los gatos en invierno?",
                "El mejor pasaje alcanza 0.432, por debajo del umbral θ = 0.5.",
            ),
            (
                "Comment dorment les chats en hiver ?",
                "The best passage reaches 0.432, which is below the threshold θ = 0.5.",
            ),
        ],
    )
    def test_when_nothing_is_left_it_says_how_near_the_best_came(self, question, said):
        assert above(0.5, 0.4321, 0.1, question=question).shortfall == said

    @pytest.mark.parametrize(
        ("best", "shown"), [(0.49996, "0.499"), (math.nextafter(0.5, 0), "0.499"), (-0.2, "-0.200")]
    )
    def test_the_best_is_never_shown_as_reaching_what_it_missed(self, best, shown):
        assert f"reaches {shown}, which is below the threshold θ = 0.5" in above(0.5, best).shortfall

    def test_nothing_found_at_all_is_no_shortfall(self):
        assert above(0.5).shortfall == ""

    @given(st.lists(st.floats(-1, 1), max_size=6), st.floats(0, 1), st.floats(0, 1))
    def test_a_higher_threshold_keeps_a_part_of_what_a_lower_one_keeps(self, scores, one, two):
        low, high = sorted((one, two))
        fewer, more = above(high, *scores).ranking.hits, above(low, *scores).ranking.hits
        assert set(fewer) <= set(more)
        assert all(found.score >= high for found in fewer)


def test_the_limit_of_a_run_is_no_malformed_reply(full):
    """3 rewrites and 2 judgements are made; judging by half of the passages would be another result."""
    with pytest.raises(StageError, match="stage LlmRerank failed: This run has made 5 language model calls") as failed:
        build("rag_msr").run(QUESTION, replace(full, limits=Limits(calls=5), workers=1))
    assert [call.purpose for call in failed.value.calls if call.of_language_model].count("judge") == 2
