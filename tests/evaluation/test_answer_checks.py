import json
import math
import threading
import tomllib
from collections.abc import Sequence

import pytest
from helpers.answers import answered, passage
from helpers.behaviours import Reply, Status
from helpers.looping import for_each
from helpers.openai_server import OpenAIServer
from helpers.processes import word_engines
from helpers.small import ROOT

from rag_core.catalog import build
from rag_core.cli import show_evaluation
from rag_core.documents.benchmark import Benchmark, Question, read_builtin
from rag_core.evaluation.answer_scores import (
    AnswerCheck,
    AnswerScores,
    CheckedAnswer,
    Judgement,
    check,
    parse_judgement,
)
from rag_core.evaluation.answers import check_answers, ragas_rows, write_ragas
from rag_core.evaluation.statistics import wilson
from rag_core.lab.engines import load_engines
from rag_core.lab.lab import Lab
from rag_core.models.llm import load_openai
from rag_core.prompts.prompt import NO_EVIDENCE
from rag_core.testing import ScriptedLlm
from rag_core.values.answers import Claim, Grounded
from rag_core.values.errors import ConfigError, InputError, ProviderError, StorageError
from rag_core.values.message import NOTICE
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
from rag_core.values.trace import Step, Trace
from rag_core.values.types import Passage, State


def checked(abstained: bool) -> CheckedAnswer:
    trace = answered("Cats purr.", passage("Cats purr when they are happy."), abstained=abstained)
    return CheckedAnswer(trace, check(trace))


class TestAbstentions:
    def test_precision_recall_and_share_answered(self):
        # outside: o1 abstained, o2 answered, o3 failed; inside: i1 abstained, i2, i3, i4 answered, i5 failed
        failed = ProviderError("down")
        outcomes = {
            "o1": checked(True), "o2": checked(False), "o3": failed,
            "i1": checked(True), "i2": checked(False), "i3": checked(False), "i4": checked(False), "i5": failed,
        }  # fmt: skip
        found = AnswerScores.of(outcomes, {"o1", "o2", "o3"}).abstention
        assert found.precision == wilson(1, 2)
        assert found.recall == wilson(1, 2)
        assert found.answered == wilson(3, 4)
        assert found.wrongly_declined == wilson(1, 4)

    def test_a_share_without_cases_is_none(self):
        answered_all = AnswerScores.of({"o1": checked(False)}, {"o1"}).abstention
        assert answered_all.precision is None
        assert answered_all.recall == wilson(0, 1)
        assert answered_all.answered is None
        assert wilson(0, 0) is None

    def test_wilsons_interval_written_out(self):
        # (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n) with p = 8/10, n = 10, z = 1.959964
        z, p, n = 1.959964, 0.8, 10
        centre, half = p + z**2 / (2 * n), z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        found = wilson(8, 10)
        assert found.mean == 0.8
        assert found.low == pytest.approx((centre - half) / (1 + z**2 / n), abs=1e-6)
        assert found.high == pytest.approx((centre + half) / (1 + z**2 / n), abs=1e-6)


ANIMALS = Benchmark(
    name="animals",
    split="test",
    questions=tuple(
        Question(identity, text, "en", "clear", "routine")
        for identity, text in [
            ("q1", "Do cats purr when they are happy?"),
            ("q2", "Do dogs bark at strangers?"),
            ("q3", "Do fish graze on a meadow?"),
            ("q4", "Do birds sing at dawn?"),
        ]
    ),
    qrels={"q1": {"a": 2, "e": 1, "b": 0}, "q2": {"b": 1}, "q3": {"a": 0}, "q4": {"c": 1}},
    checksum="0" * 16,
)
BM25 = {"bm25": ("bm25", {"k_final": 2})}


class Quotes:
    """A grounder that supports what a passage says word for word."""

    def ground(self, claims: Sequence[Claim], passages: Sequence[Passage], language: str) -> list[Grounded]:
        texts = [passage.text for passage in passages]
        return [
            Grounded(*one, "supported" if any(one.text.rstrip(".") in text for text in texts) else "unsupported")
            for one in claims
        ]


@pytest.fixture
def animals(read_only_store, embedder, labels):
    """A lab over conftest's documents with a scripted answer model and, optionally, a judge."""

    def make(answer, judge=None) -> Lab:
        models = {"answer": answer} | ({"judge": judge} if judge else {})
        engines = word_engines(labels=labels, embedder=embedder, paid=models, grounder=Quotes())
        return Lab(Settings(llm="offline"), "animals", engines, read_only_store)

    return make


class TestReport:
    def test_every_count_and_ratio(self, animals):
        replies = (
            "Cats purr when they are happy [1]. Lions roar at every visitor [1][7].",
            ProviderError("down.", "Wait."),
            f"{NO_EVIDENCE}. Nothing on meadows.",
            "Birds sing at dawn [1].",
        )
        seen = []
        report = check_answers(animals(ScriptedLlm(*replies)), ANIMALS, BM25, progress=lambda *step: seen.append(step))
        found = json.loads(json.dumps(report.as_json()))
        assert (found["data"], found["split"], found["left"]) == ("animals", "test", 0)
        scores = found["strategies"]["bm25"]
        assert list(scores) == [
            "questions", "answered", "abstained", "failed", "failures", "sentences", "supported", "weak",
            "unsupported", "support_rate", "citations", "valid_citations", "citation_validity", "abstention", "judge", "verdicts", "baselines",
            "cost_usd",
        ]  # fmt: skip
        assert scores.pop("failures") == {"q2": "bm25: stage Generate failed: down. Wait."}
        one_in_two, two_in_two = wilson(1, 1), wilson(2, 2)
        assert scores.pop("abstention") == {
            "precision": 1.0, "precision_low": one_in_two.low, "precision_high": 1.0, "precision_n": 1,
            "recall": 1.0, "recall_low": one_in_two.low, "recall_high": 1.0, "recall_n": 1,
            "answered": 1.0, "answered_low": two_in_two.low, "answered_high": 1.0, "answered_n": 2,
        }  # fmt: skip
        assert scores == {
            "questions": 4, "answered": 2, "abstained": 1, "failed": 1,
            "sentences": 3, "supported": 2, "weak": 0, "unsupported": 1, "support_rate": 2 / 3,
            "citations": 4, "valid_citations": 3, "citation_validity": 3 / 4,
            "judge": None, "verdicts": None, "baselines": {}, "cost_usd": 3 * 0.25,
        }  # fmt: skip
        assert seen == [("checking answers", done, 4) for done in range(5)]

    def test_the_command_prints_every_score(self, animals, capsys):
        replies = ("Cats purr when they are happy [1].", ProviderError("down.", "Wait."), NO_EVIDENCE)
        show_evaluation.answers(check_answers(animals(ScriptedLlm(*replies)), ANIMALS, BM25, limit=3).scores)
        assert capsys.readouterr().out.splitlines() == [
            "",
            "bm25",
            "  3 questions: 1 answered, 1 abstained, 1 failed",
            "  citations that name a passage   100.0% of 1",
            "  sentences a passage supports    100.0% of 1 (0 weak, 0 unsupported)",
            "  abstentions that were right     1.00 (0.21–1.00, n 1)",
            "  outside questions abstained on  1.00 (0.21–1.00, n 1)",
            "  other questions answered        1.00 (0.21–1.00, n 1)",
            "  failed: bm25: stage Generate failed: down. Wait.",
            "  cost $0.5000",
        ]

    def test_a_question_that_cannot_be_asked_is_a_failure_of_that_question_alone(self, animals):
        odd = Question("q0", "?!", "en", "clear", "routine")
        judged = Benchmark("animals", "test", (odd, *ANIMALS.questions), {"q0": {}, **ANIMALS.qrels}, "")
        outcomes = check_answers(animals(ScriptedLlm("Cats [1].")), judged, BM25).outcomes["bm25"]
        assert isinstance(outcomes["q0"], InputError)
        assert all(isinstance(outcomes[name], CheckedAnswer) for name in ("q1", "q2", "q3", "q4"))

    @pytest.mark.parametrize(
        ("limit", "digits"), [(None, "1234"), (9, "1234"), (4, "1234"), (2, "13"), (1, "1"), (0, "")]
    )
    def test_a_limit_takes_questions_from_the_whole_set(self, animals, limit, digits):
        report = check_answers(animals(ScriptedLlm("Cats [1].")), ANIMALS, BM25, limit=limit)
        assert list(report.outcomes["bm25"]) == [f"q{digit}" for digit in digits]

    def test_one_strategy_may_stand_under_two_labels(self, animals):
        two = {"narrow": ("bm25", {"k_final": 1}), "wide": ("bm25", {"k_final": 2})}
        report = check_answers(animals(ScriptedLlm("Cats [1].")), ANIMALS, two, limit=1)
        assert [len(report.outcomes[label]["q1"].trace.ranking) for label in two] == [1, 2]

    def test_a_stopped_run_keeps_what_it_had(self, animals):
        stop = threading.Event()

        def progress(what: str, done: int, total: int) -> None:
            if done == 2:
                stop.set()

        report = check_answers(animals(ScriptedLlm("Cats [1].")), ANIMALS, BM25, progress=progress, stop=stop)
        assert list(report.outcomes["bm25"]) == ["q1", "q2"]
        assert report.as_json()["left"] == 2

    @pytest.mark.parametrize(
        ("strategies", "problem"),
        [({}, "No strategy"), ({"x": "nope"}, "nope"), ({"bare": build("bm25").without_answer()}, "bare")],
    )
    def test_a_wrong_strategy_is_refused_before_anything_is_asked(self, animals, strategies, problem):
        llm = ScriptedLlm("Cats [1].")
        with pytest.raises(ConfigError, match=problem):
            check_answers(animals(llm), ANIMALS, strategies)
        assert not llm.prompts

    def test_a_judge_is_refused_without_a_model_for_it(self, animals):
        llm = ScriptedLlm("Cats [1].")
        with pytest.raises(ConfigError, match="cannot judge") as refused:
            check_answers(animals(llm), ANIMALS, BM25, judging=True)
        assert "OPENAI_API_KEY" in refused.value.next_step
        assert "RAG_JUDGE_MODEL" in refused.value.next_step
        assert not llm.prompts


class TestRagas:
    def report(self, animals):
        replies = ("Cats purr [1].", ProviderError("down"), NO_EVIDENCE, "Birds sing [1].")
        return check_answers(animals(ScriptedLlm(*replies)), ANIMALS, BM25)

    def test_rows_have_the_fields_of_a_single_turn_sample(self, animals):
        rows = list(ragas_rows(self.report(animals)))
        assert [row["question_id"] for row in rows] == ["q1", "q4"]  # neither a failure nor an abstention
        ranking = animals(ScriptedLlm("Yes.")).run("Do cats purr when they are happy?", *BM25.values()).ranking
        assert rows[0] == {
            "user_input": "Do cats purr when they are happy?",
            "response": "Cats purr [1].",
            "retrieved_contexts": [hit.passage.text for hit in ranking],
            "retrieved_context_ids": [hit.passage.doc_id for hit in ranking],
            "reference_context_ids": ["a", "e"],
            "strategy": "bm25",
            "question_id": "q1",
        }

    def test_a_file_of_json_lines_is_written(self, animals, tmp_path):
        report, path = self.report(animals), tmp_path / "ragas.jsonl"
        assert write_ragas(path, report) == 2
        assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == [
            {**row, "notice": NOTICE} for row in ragas_rows(report)
        ]

    def test_a_file_that_cannot_be_written_is_named(self, animals, tmp_path):
        with pytest.raises(StorageError, match="missing"):
            write_ragas(tmp_path / "missing" / "ragas.jsonl", self.report(animals))


GOOD = '{"faithfulness": 80, "relevance": 60.5}'
BAD = {
    "prose": "I would say 80.",
    "a score missing": '{"faithfulness": 80}',
    "too high": '{"faithfulness": 101, "relevance": 60}',
    "negative": '{"faithfulness": 80, "relevance": -1}',
    "nested": '{"scores": {"faithfulness": 80, "relevance": 60}}',
}  # what is no object and no score at all: tests/prompts/test_replies.py


class TestParse:
    @pytest.mark.parametrize("reply", [GOOD, f"```json\n{GOOD}\n```", GOOD[:-1] + ', "why": "x"}'])
    def test_scores_are_read(self, reply):
        assert parse_judgement(reply) == Judgement(80, 60.5)

    @for_each("reply", BAD.values(), ids=BAD)
    def test_anything_else_is_refused(self, reply):
        with pytest.raises(ValueError, match=r"JSON|not a number from 0 to 100"):
            parse_judgement(reply)


class TestJudge:
    """On a real server: the answer model says the same always, the judge is scripted."""

    @pytest.fixture
    def run(self, server, animals, monkeypatch):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        def ask(*replies, answer="Cats purr [1].", limit=1):
            script = list(replies)
            server.choose = lambda body: script.pop(0) if body["model"] == "gpt-4o" else Reply(answer)
            settings = Settings(timeout=20)
            prices = PriceList.read(settings.data / "prices.toml")
            writer, judge = (load_openai(settings, name, prices) for name in ("my-local-model", "gpt-4o"))
            report = check_answers(animals(writer, judge), ANIMALS, BM25, limit=limit, judging=True)
            assert not script
            return report.as_json()["strategies"]["bm25"]["judge"]

        return ask

    @staticmethod
    def judge_prompts(server: OpenAIServer) -> list[str]:
        return [request.messages[-1][1] for request in server.requests if request.body["model"] == "gpt-4o"]

    def test_means_are_over_the_judgements(self, run):
        found = run(Reply(GOOD), Reply('{"faithfulness": 100, "relevance": 60.5}'), limit=2)
        assert (found["n"], found["failed"], found["failures"]) == (2, 0, {})
        assert (found["faithfulness"], found["faithfulness_n"]) == (90, 2)
        assert 80 <= found["faithfulness_low"] <= 90 <= found["faithfulness_high"] <= 100
        assert (found["relevance"], found["relevance_low"], found["relevance_high"]) == (60.5, 60.5, 60.5)
        assert found["cost_usd"] == pytest.approx(2 * (1000 * 2.50e-6 + 200 * 10.00e-6))  # data/prices.toml

    @pytest.mark.parametrize("bad", [BAD["prose"], BAD["too high"]])
    def test_a_malformed_reply_is_asked_for_once_more_with_the_reason(self, server, run, bad):
        found = run(Reply(bad), Reply(GOOD))
        assert (found["n"], found["failed"], found["faithfulness"]) == (1, 0, 80)
        first, second = self.judge_prompts(server)
        assert "refused" not in first
        assert "Your last reply was refused: " in second
        assert found["cost_usd"] == pytest.approx(2 * 0.0045)  # both calls

    def test_without_a_single_judgement_there_is_no_mean(self, run):
        found = run(Reply("-"), Reply("-"))
        assert (found["n"], found["failed"]) == (0, 1)
        assert found["faithfulness"] is found["relevance"] is found["faithfulness_low"] is None

    @pytest.mark.parametrize("status", [Status(401), Status(400)], ids=["401", "400"])
    def test_a_refused_call_is_a_failure_with_its_reason(self, run, status):
        found = run(status, Reply(GOOD), limit=2)
        assert (found["n"], found["failed"], found["faithfulness"]) == (1, 1, 80)
        assert "gpt-4o" in found["failures"]["q1"]

    def test_abstentions_and_failures_are_not_judged(self, server, run):
        found = run(answer=NO_EVIDENCE)
        assert (found["n"], found["failed"]) == (0, 0)
        assert not self.judge_prompts(server)


class TestOffline:
    def test_every_sentence_the_offline_engine_quotes_is_supported_and_its_citations_are_valid(self, lab):
        demo = tomllib.loads((ROOT / "data" / "demo.toml").read_text(encoding="utf-8"))["question"]
        quoted = 0
        for question in demo:
            for trace in lab.compare(question["text"], ["bm25", "simple_semantic", "hybrid_rrf"]):
                found = check(trace)
                assert (found.weak, found.unsupported) == (0, 0)
                assert found.citations == found.valid_citations <= 2  # one a section
                assert (found.citations > 0) is (found.supported > 0)
                quoted += found.supported
        assert quoted > 50

    def test_questions_outside_the_collection_are_abstained_on(self, lab):
        judged = read_builtin(ROOT / "data", "test")
        outside = Benchmark(judged.name, "test", judged.unanswerable, judged.qrels, judged.checksum)
        found = check_answers(lab, outside, {"h": "hybrid_rrf"}).as_json()["strategies"]["h"]
        assert (found["failed"], found["abstention"]["recall_n"]) == (0, 30)
        assert found["abstention"]["recall"] >= 17 / 30  # 18 when measured; most of the others name pregnancy
        assert found["abstention"]["answered"] is None

    def test_the_judge_is_the_model_that_is_set_and_none_offline(self, server, monkeypatch):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("RAG_JUDGE_MODEL", "my-local-model")
        settings = Settings(embedding="openai:text-embedding-3-small", openai_api_key="k")
        engines = load_engines(settings)
        assert (engines.paid["answer"].name, engines.paid["judge"].name) == ("gpt-4o", "my-local-model")
        assert not load_engines(settings.model_copy(update={"llm": "offline"})).paid


CATS = passage("Cats purr when they are happy.")


def test_sentences_and_citations_are_counted():
    text = "Cats purr when they are happy [1]. Dogs bark at every stranger [1][2]. Cats purr."
    marked = [Grounded(0, 1, "", support) for support in ("supported", "unsupported", "supported", "weak")]
    found = check(answered(text, CATS, passage("Birds sing."), invalid=2, sentences=marked))
    assert found == AnswerCheck(supported=2, weak=1, unsupported=1, citations=5, valid_citations=3)
    assert found.sentences == 4


def test_an_abstention_says_nothing():
    assert check(answered("There is not enough evidence.", CATS, abstained=True)) == AnswerCheck()


def test_a_trace_without_an_answer_cannot_be_checked():
    trace = answered("Cats.", CATS)
    state = State(trace.final.question, (), trace.final.rankings)
    with pytest.raises(ValueError, match="no answer"):
        check(Trace("Why?", "s", {}, "f", (Step("Dense", "retrieve", {}, state, 0.0),)))
