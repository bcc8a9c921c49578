"""The whole of seed 004's third step: judging, blending, the threshold, and labels beside them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from helpers.fakes import QUESTION, Told, score, talker

from rag_core.catalog import build
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.values.labels import LabelRules, Thresholds
from rag_core.values.trace import Trace, metrics


class TestRagMsr:
    """The whole of seed 004's third step."""

    def run(self, services: Services, llm: Told, question: str = QUESTION, **values: object) -> Trace:
        return build(("rag_msr", values)).run(
            question, replace(services, llms=dict.fromkeys(services.llms, llm))
        )

    def test_nothing_above_theta_is_an_abstention_without_an_answer_call(self, full: Services):
        llm = talker(judge_passage=score(10))
        trace = self.run(full, llm)
        assert llm.purposes == {"rewrite": 3, "judge": 9}
        assert trace.answer
        assert trace.answer.abstained
        assert len(trace.ranking) == 0
        best = max(found.score for found in trace.steps[7].after.ranking)
        shown = math.floor(1000 * best) / 1000
        assert (
            trace.answer.reason
            == f"The best passage reaches {shown:.3f}, which is below the threshold θ = 0.5."
        )
        assert trace.answer.text == "There is not enough evidence in this collection to answer the question."

    def test_it_abstains_in_the_language_of_the_question(self, full: Services):
        trace = self.run(
            full, talker(judge_passage=score(0)), "¿Dónde duermen los gatos y los perros de noche?"
        )
        assert trace.answer
        assert trace.answer.text.startswith("No hay evidencia suficiente")
        assert trace.answer.reason.endswith("por debajo del umbral θ = 0.5.")

    def test_a_judge_that_was_never_measured_labels_by_its_own_scale_and_says_so(self, full: Services):
        turns = iter([100, 75, 74, 50, 49, 0, 90, 90, 90])
        llm = talker(judge_passage=lambda prompt: score(next(turns)))
        trace = self.run(full, llm, theta=0, k_final=9)
        given = sorted(
            (found.relevance.score, found.relevance.label) for found in trace.ranking if found.relevance
        )
        assert given == [
            (0 / 100, "Low"), (49 / 100, "Low"), (50 / 100, "Medium"), (74 / 100, "Medium"), (75 / 100, "High"),
            *[(90 / 100, "High")] * 3, (100 / 100, "High"),
        ]  # fmt: skip
        assert all(
            "Not calibrated for told" in found.relevance.rule for found in trace.ranking if found.relevance
        )
        sent = llm.prompts[-1].render()
        assert [sent.count(f'relevance="{label}"') for label in ("High", "Medium", "Low", "unknown")] == [
            5,
            2,
            2,
            0,
        ]

    def test_labels_come_from_the_judge_where_thresholds_were_fitted_for_it(self, full: Services):
        fitted = Thresholds(0.8, 0.5)
        rules = LabelRules({("cosine", full.embedder.key, "en"): fitted, ("judge", "told", "en"): fitted})
        turns = iter([90, 90, 90, 79, 79, 79, 90, 90, 90])
        llm = talker(judge_passage=lambda prompt: score(next(turns)))
        trace = self.run(replace(full, labels=rules), llm, theta=0, k_final=9)
        labels = [
            (found.relevance.label, found.relevance.scorer) for found in trace.ranking if found.relevance
        ]
        assert sorted(labels) == [("High", "judge")] * 6 + [("Medium", "judge")] * 3

    def test_the_scores_of_every_step_are_the_passages_votes(self, full: Services):
        best = self.run(full, talker()).ranking.hits[0]
        stages = [vote.stage for vote in best.votes]
        assert list(dict.fromkeys(stages)) == ["Dense", "Rerank", "MaxFusion", "LlmRerank", "Blend"]
        assert [vote.scale for vote in best.votes][-4:] == ["cross_encoder", "judge", "cosine", "s_final"]
        judge, blend = best.vote("LlmRerank"), best.vote("Blend")
        assert judge
        assert blend
        assert best.score == blend.score
        cosine = (blend.score - 0.6 * judge.score) / 0.4
        (question,) = Context(full).embed((QUESTION,))
        assert cosine == pytest.approx(float(full.index.vectors([best.id])[0] @ question), abs=1e-5)

    def test_the_judges_reason_is_kept_and_in_the_json(self, full: Services):
        trace = self.run(full, talker())
        (first, *_) = trace.as_json()["contexts"]
        notes = {vote["stage"]: vote["note"] for vote in first["votes"]}
        assert notes["LlmRerank"] == "It shares words."
        assert notes["Blend"] == "", "the judge's reason is not the blend's"
        (judged,) = [vote for vote in first["votes"] if vote["stage"] == "LlmRerank"]
        assert (judged["scale"], judged["terms"]) == ("judge", [])

    def test_a_reply_without_a_reason_is_a_score_all_the_same(self, full: Services):
        trace = self.run(full, talker(judge_passage='{"score": 90}'))
        assert {hit.vote("LlmRerank").note for hit in trace.ranking} == {""}

    def test_a_rerankers_tokens_are_not_a_language_models(self, full: Services):
        trace = self.run(full, talker())
        assert [call.purpose for call in trace.calls].count("rerank") == 3
        told = metrics(trace.calls)
        assert (told["total_input_tokens"], told["total_output_tokens"]) == (13 * 100, 13 * 10)
        assert told["usage_source"] == "provider"
        assert told["total_cost"] == pytest.approx(13 * 0.25)
