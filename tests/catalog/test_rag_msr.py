"""The whole of seed 004's third step: judging, blending, the threshold, and labels beside them."""

from dataclasses import replace

import pytest
from helpers.fakes import QUESTION, Told, talker

from rag_core.catalog import build
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.values.trace import Trace, metrics


class TestRagMsr:
    """The whole of seed 004's third step."""

    def run(self, services: Services, llm: Told, question: str = QUESTION, **values: object) -> Trace:
        return build(("rag_msr", values)).run(
            question, replace(services, llms=dict.fromkeys(services.llms, llm))
        )

    def test_the_scores_of_every_step_are_the_passages_votes(self, full):
        best = self.run(full, talker()).ranking.hits[0]
        stages = [vote.stage for vote in best.votes]
        assert list(dict.fromkeys(stages)) == ["Dense", "Rerank", "MaxFusion", "LlmRerank", "Blend"]
        assert [vote.scale for vote in best.votes][-4:] == ["cross_encoder", "judge", "cosine", "s_final"]
        judge, blend = best.vote("LlmRerank"), best.vote("Blend")
        assert judge
        assert best.score == blend.score
        cosine = (blend.score - 0.6 * judge.score) / 0.4
        (question,) = Context(full).embed((QUESTION,))
        assert cosine == pytest.approx(float(full.index.vectors([best.id])[0] @ question), abs=1e-5)

    def test_the_judges_reason_is_kept_and_in_the_json(self, full):
        trace = self.run(full, talker())
        (first, *_) = trace.as_json()["contexts"]
        notes = {vote["stage"]: vote["note"] for vote in first["votes"]}
        assert notes["LlmRerank"] == "It shares words."
        assert notes["Blend"] == "", "the judge's reason is not the blend's"
        (judged,) = [vote for vote in first["votes"] if vote["stage"] == "LlmRerank"]
        assert (judged["scale"], judged["terms"]) == ("judge", [])

    def test_a_reply_without_a_reason_is_a_score_all_the_same(self, full):
        trace = self.run(full, talker(judge_passage='{"score": 90}'))
        assert {hit.vote("LlmRerank").note for hit in trace.ranking} == {""}

    def test_a_rerankers_tokens_are_not_a_language_models(self, full):
        trace = self.run(full, talker())
        assert [call.purpose for call in trace.calls].count("rerank") == 3
        told = metrics(trace.calls)
        assert (told["total_input_tokens"], told["total_output_tokens"]) == (13 * 100, 13 * 10)
        assert told["usage_source"] == "provider"
        assert told["total_cost"] == pytest.approx(13 * 0.25)
