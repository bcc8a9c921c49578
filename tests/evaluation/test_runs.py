import dataclasses
import json
import threading

import numpy as np
import pytest
from helpers.judged import JUDGED, finish, opened
from helpers.small import DOCUMENTS

from rag_core import evaluation as ev
from rag_core.catalog import RECIPES
from rag_core.documents.benchmark import Benchmark, Question
from rag_core.evaluation.run_folder import RunFolder
from rag_core.evaluation.sweep import sweep
from rag_core.pipeline.cached_index import without
from rag_core.pipeline.strategy import Strategy
from rag_core.prompts.prompt import Template
from rag_core.runtime.context import Context
from rag_core.stages import Dense, ReciprocalRankFusion, Retrieve, Retriever, TransformStage
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import ConfigError, RagError, Stopped
from rag_core.values.types import Hit, Passage, Query


def test_every_measured_question_gets_a_record_of_every_stage(tmp_path, services, strategies):
    run = opened(tmp_path / "run", strategies)
    steps = finish(run, strategies, services)
    assert (steps[0].done, steps[0].total, steps[0].seconds_left) == (0, 6, None)
    assert [step.done for step in steps] == list(range(7))
    assert set(run.records["bm25"]) == {"q1", "q2", "q3"}, "q4 has no relevant document and no metric"
    record = run.records["hybrid"]["q1"]
    assert [stage.stage for stage in record.stages] == ["Bm25 ∥ Dense", "ReciprocalRankFusion", "Top", "Top"]
    assert [lane.retriever for lane in record.stages[0].lanes] == ["bm25", "dense"]
    assert {lane.retriever for stage in record.stages[1:] for lane in stage.lanes} == {""}
    assert record.ranked == record.stages[-1].lanes[0].documents
    assert len(record.ranked) == len(set(record.ranked)), "a document stands once, at its best passage"
    trace = strategies["hybrid"].run("cats sleep", services)
    assert record.ranked == tuple(dict.fromkeys(hit.passage.doc_id for hit in trace.ranking))
    assert all(len(records) == len(run.judged.measured) for records in run.records.values())


def test_a_run_read_back_is_the_run_that_was_written(tmp_path, services, strategies):
    run = opened(tmp_path / "run", strategies)
    finish(run, strategies, services)
    again = RunFolder.open(tmp_path / "run")
    assert again.records == run.records
    assert again.judged == JUDGED


@dataclasses.dataclass(frozen=True)
class Fixed(Retriever):
    """Finds these passages, "document/passage", with these scores, whatever is asked."""

    found: tuple[tuple[str, float], ...]
    scale = "external"
    name = "fixed"

    def search(self, query: Query, ctx: Context) -> list[Hit]:
        return [Hit(Passage(one, one[0], one, one), score, "external") for one, score in self.found]


def runs_of(run):
    """As `rag_core.evaluate` leaves its results."""
    results = ev.conclude(run, ev.choose_metrics())
    results._run = run
    return results.runs()


def rankings(folder, services, found):
    """`Results.runs` of question q1, by the label of what is found."""
    fixed = {label: Strategy(label, (Retrieve((Fixed(hits),)),)) for label, hits in found.items()}
    with opened(folder, fixed) as run:
        finish(run, fixed, services)
        runs = runs_of(run)
    assert all(set(one) == {"q1", "q2", "q3"} for one in runs.values())
    assert {label: [*one["q1"]] for label, one in runs.items()} == {
        label: [*records["q1"].ranked] for label, records in run.records.items()
    }
    assert RunFolder.open(folder).records == run.records
    return {label: one["q1"] for label, one in runs.items()}


def test_rankings_keep_their_scores_so_that_other_tools_can_fuse_them(tmp_path, services):
    """As ranx's fuse(norm="min-max", method="sum"): by ranks b would be last of three, by scores it is first."""
    words = (("a/1", 10.0), ("b/1", 9.0), ("b/2", 8.0), ("c/1", 0.0))
    vectors = (("c/1", 0.5), ("b/1", 0.4), ("a/1", 0.0))
    runs = rankings(tmp_path / "run", services, {"words": words, "vectors": vectors})
    assert runs == {"words": {"a": 10.0, "b": 9.0, "c": 0.0}, "vectors": {"c": 0.5, "b": 0.4, "a": 0.0}}
    fused = dict.fromkeys("abc", 0.0)
    for scores in runs.values():
        low, high = min(scores.values()), max(scores.values())
        for name, score in scores.items():
            fused[name] += (score - low) / (high - low)
    assert fused == pytest.approx({"a": 1 + 0, "b": 9 / 10 + 4 / 5, "c": 0 + 1})


def test_equal_scores_and_those_out_of_order_are_lowered_to_keep_the_order(tmp_path, services):
    """Tools sort by score, and break ties by names, each its own way."""
    found = (("b/1", 1.0), ("b/2", 0.9), ("c/1", 0.8), ("d/1", 0.8), ("e/1", 0.0))
    ties = rankings(tmp_path / "ties", services, {"ties": found})["ties"]
    assert (ties["b"], ties["c"], ties["e"]) == (1.0, 0.8, 0.0)
    assert np.float32(ties["c"]) > np.float32(ties["d"]) == pytest.approx(0.8)
    run = opened(tmp_path / "run", {"x": Strategy("x", (Retrieve((Fixed(found),)),))})
    up = ev.Record.of("q1", Strategy("x", (Retrieve((Fixed((("a/1", 3.0), ("b/1", 2.0))),)),)).run("q", services))
    for name, scores in (("q1", (2.0, 3.0)), ("q2", ()), ("q3", (3.0, -4.0))):
        run.append("x", dataclasses.replace(up, question=name, scores=scores))
    runs = runs_of(run)["x"]
    assert runs["q1"]["a"] == 2.0
    assert 2.0 > runs["q1"]["b"] == pytest.approx(2.0)
    assert runs["q2"] == {"a": 1.0, "b": 0.5}, "a record without scores"
    assert runs["q3"] == {"a": 3.0, "b": -4.0}


def test_no_question_is_asked_twice(tmp_path, services, strategies, embedder):
    run = opened(tmp_path / "run", strategies)
    finish(run, strategies, services)
    asked = len(embedder.asked)
    run.close()
    (only,) = finish(opened(tmp_path / "run", strategies), strategies, services)
    assert (only.done, only.total) == (6, 6)
    assert len(embedder.asked) == asked


def test_a_strategy_is_timed_alone_and_shares_calls_only_when_asked(tmp_path, services, embedder):
    both = ev.build_strategies({"a": "simple_semantic", "b": ("hybrid_rrf", {"mmr": False})})
    for share, calls in ((False, 6), (True, 3)):
        embedder.asked.clear()
        run = opened(tmp_path / str(share), both)
        list(ev.evaluate(run, both, lambda: services, share=share))
        assert len(embedder.asked) == calls


@dataclasses.dataclass(frozen=True)
class Broken(TransformStage):
    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        if "dogs" in question.text:
            raise RuntimeError("no dogs")
        return (question,)


def test_a_failed_question_is_counted_and_is_in_no_figure(tmp_path, services):
    broken = {
        "broken": Strategy("broken", (Broken(), Retrieve((Dense(k=3),)), ReciprocalRankFusion())),
        "dense": Strategy("dense", (Retrieve((Dense(k=3),)),)),
    }
    run = opened(tmp_path / "run", broken)
    finish(run, broken, services)
    results = ev.conclude(run, ev.choose_metrics(["hit@5"]))
    row = results.strategies["broken"]
    assert (row.queries, row.failed) == (2, 1)
    assert "no dogs" in row.failures[0]
    dense = ev.scores(run, ev.parse_metric("hit@5"))["dense"]
    assert row.metrics["hit@5"].mean == pytest.approx((dense["q1"] + dense["q3"]) / 2)
    assert results.comparisons[0].n == 2
    fates = {change.question: change for change in ev.changes(run, ev.parse_metric("hit@5"), "dense", "broken")}
    assert fates["q2"].verdict == "failed"
    assert fates["q2"].score is None

    run.close()
    again = opened(tmp_path / "run", broken)
    mended = {"broken": broken["dense"], "dense": broken["dense"]}
    asked = [step.latest for step in ev.evaluate(again, mended, lambda: services) if step.latest]
    assert [(label, record.question) for label, record in asked] == [("broken", "q2")]


PAID = Template(name="paid", purpose="rewrite", system="", text="{question}")


@dataclasses.dataclass(frozen=True)
class Paying(TransformStage):
    """Asks a model that costs a quarter of a dollar a call, and fails when it says so."""

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        if "fail" in ctx.complete(PAID.fill(question=question.text)):
            raise RagError("It failed.")
        return (question,)


PAYING = {"paying": Strategy("paying", (Paying(), Retrieve((Dense(k=3),)), ReciprocalRankFusion()))}


def test_a_question_that_failed_keeps_its_calls_and_so_does_each_later_attempt(tmp_path, services):
    """Three questions at $0.25: one fails, is asked again and fails, and again and succeeds: 5 calls."""
    for attempt, replies in enumerate((("fine", "fail", "fine"), ("fail",), ("fine",)), start=1):
        run = opened(tmp_path / "run", PAYING)
        llm = ScriptedLlm(*replies, cost_usd=0.25)
        asked = dataclasses.replace(services, llms={"rewrite": llm})
        steps = list(ev.evaluate(run, PAYING, lambda services=asked: services))  # type: ignore[misc]
        assert len(llm.prompts) == len(replies) == len(steps) - 1
        row = ev.conclude(run, ev.choose_metrics(["hit@5"])).strategies["paying"]
        calls = 2 + attempt
        assert row.cost_usd == pytest.approx(calls * 0.25)
        assert [call.count for call in row.calls if call.purpose == "rewrite"] == [calls]
        assert row.failed == (0 if attempt == 3 else 1)
        run.close()
        assert RunFolder.open(run.folder).records == run.records, "what is on disk says the same"


def test_a_question_that_was_stopped_keeps_its_calls_and_is_asked_again(tmp_path, services):
    stop = threading.Event()

    class Stopping(ScriptedLlm):
        def stream(self, prompt, stopped):  # type: ignore[no-untyped-def]
            stop.set()
            yield from super().stream(prompt, stopped)

    run = opened(tmp_path / "run", PAYING)
    first = dataclasses.replace(services, llms={"rewrite": Stopping("fine", cost_usd=0.25)})
    with pytest.raises(Stopped):
        list(ev.evaluate(run, PAYING, lambda: first, stop=stop))
    (record,) = run.records["paying"].values()
    assert (record.error, record.cost.usd) == ("The run was stopped. Finished results are kept.", 0.25)
    again = dataclasses.replace(services, llms={"rewrite": ScriptedLlm("fine", cost_usd=0.25)})
    list(ev.evaluate(run, PAYING, lambda: again))
    assert sum(one.cost.known for one in run.records["paying"].values()) == pytest.approx(4 * 0.25)
    assert not any(one.error for one in run.records["paying"].values())


def test_a_run_that_nobody_watches_any_more_keeps_what_was_under_way(tmp_path, services):
    """The consumer leaves after the first record; the questions on the other threads are kept too."""
    together = threading.Barrier(3)

    class Met(ScriptedLlm):
        def stream(self, prompt, stopped):  # type: ignore[no-untyped-def]
            together.wait(20)
            yield from super().stream(prompt, stopped)

    run = opened(tmp_path / "run", PAYING)
    asked = dataclasses.replace(services, llms={"rewrite": Met("fine", cost_usd=0.25)})
    steps = ev.evaluate(run, PAYING, lambda: asked, workers=3)
    next(steps)
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert sum(one.cost.known for one in run.records["paying"].values()) == pytest.approx(3 * 0.25)


def test_the_json_has_the_fixed_shape(tmp_path, services, strategies):
    run = opened(tmp_path / "run", strategies)
    finish(run, strategies, services)
    results = ev.conclude(run, ev.choose_metrics(["ndcg@10", "recall@10"])).as_json()
    assert {"data", "split", "queries", "strategies", "comparisons"} <= set(results)
    assert (results["data"], results["split"], results["queries"]) == ("animals", "test", 3)
    row = results["strategies"]["bm25"]
    assert set(row["metrics"]["ndcg@10"]) == {"mean", "ci_low", "ci_high"}
    assert row["fingerprint"] == strategies["bm25"].fingerprint
    assert row["seconds_per_query"] > 0
    assert row["cost_usd"] == 0
    assert results["comparisons"][0]["verdict"] == "too few to conclude: 3 questions."
    assert results["comparisons"][0]["p"] is None
    assert results["peak_memory_mb"] > 10
    assert json.loads((run.folder / "results.json").read_text()) == results
    assert set(results["groups"]["kind"]) == {"clear", "lay"}
    assert results["groups"]["kind"]["clear"]["queries"] == 2
    assert results["groups"]["language"] == {}, "one language is no grouping"


def test_own_run_files_come_back_in_the_same_order(tmp_path, services, strategies):
    run = opened(tmp_path / "run", strategies)
    finish(run, strategies, services)
    ev.conclude(run, ev.choose_metrics())
    path = run.folder / "runs" / "bm25.trec"
    manifest = ev.describe_run(JUDGED, {}, depth=None, engine={}, source="builtin", run_files={"other": path})
    other = RunFolder.create(tmp_path / "other", manifest, JUDGED)
    ev.take_run_file(other, "other", path)
    for question in ("q1", "q2", "q3"):
        assert other.records["other"][question].ranked == run.records["bm25"][question].ranked
    metric = ev.parse_metric("map")
    assert ev.scores(other, metric)["other"] == ev.scores(run, metric)["bm25"]
    assert ev.conclude(other, [metric]).strategies["other"].controls is None


def test_a_question_that_a_run_file_leaves_out_scores_0(tmp_path):
    path = tmp_path / "some.trec"
    path.write_text("q1 Q0 a 1 9.5 x\nq1 Q0 e 2 9.0 x\n")
    manifest = ev.describe_run(JUDGED, {}, depth=None, engine={}, source="", run_files={"some": path})
    run = RunFolder.create(tmp_path / "run", manifest, JUDGED)
    ev.take_run_file(run, "some", path)
    assert ev.scores(run, ev.parse_metric("ndcg@10"))["some"] == {"q1": 1.0, "q2": 0.0, "q3": 0.0}


def test_depth_raises_every_count_of_passages():
    deep = ev.build_strategies({"h": "hybrid_rrf"}, 100)["h"]
    counts = {name: value for name, value in deep.controls.items() if name.startswith("k_")}
    assert counts == dict.fromkeys(["k_bm25_candidates", "k_semantic_candidates", "k_rrf_pool", "k_final"], 100)
    assert deep.controls["rrf_k"] == 60
    shallow = ev.build_strategies({"h": ("hybrid_rrf", {"k_final": 50})}, 20)["h"]
    assert (shallow.controls["k_final"], shallow.controls["k_rrf_pool"]) == (50, 20), "never lowered"
    assert ev.build_strategies({"h": "hybrid_rrf"})["h"].controls["k_final"] == 5
    with pytest.raises(ConfigError, match="from 1 to 100"):
        ev.build_strategies({"h": "hybrid_rrf"}, 101)


def test_without_metrics_the_usual_ones_and_the_deep_one_where_it_means_something():
    assert "recall@100" not in [metric.name for metric in ev.choose_metrics()]
    assert ev.choose_metrics(depth=100)[-1].name == "recall@100"
    assert [metric.name for metric in ev.choose_metrics(["MRR", "mrr", "p@5"])] == ["mrr", "precision@5"]


def test_front_of_quality_and_time(tmp_path):
    points = [
        ev.Point("slow and good", 0.9, 2.0, 0.0),
        ev.Point("fast and fair", 0.7, 1.0, 0.0),
        ev.Point("slow and poor", 0.6, 2.0, 0.0),
        ev.Point("expensive and good", 0.9, 2.0, 0.1),
        ev.Point("as good within the clock's noise", 0.9, 2.1, 0.0),
    ]
    marked = {point.name: front for point, front in zip(points, ev.on_front(points), strict=True)}
    assert marked == {
        "slow and good": True,
        "fast and fair": True,
        "slow and poor": False,
        "expensive and good": False,
        "as good within the clock's noise": True,
    }


class TestAQuestionThatIsADocument:
    """As in ArguAna: document "a" asks what else there is on its matter, and never finds itself."""

    judged = Benchmark(
        "arguments", "test", (Question("a", DOCUMENTS[0].text, "en", "", ""),), {"a": {"e": 1}}, "0" * 16,
        also_documents=frozenset({"a"}),
    )  # fmt: skip
    once = RECIPES["bm25"].build(k_final=2).without_answer()

    def test_is_not_among_what_it_finds_and_another_takes_its_place(self, tmp_path, services):
        own = dataclasses.replace(self.judged, also_documents=frozenset())
        plain, without = (
            opened(tmp_path / name, {"once": self.once}, judged)
            for name, judged in (("plain", own), ("without", self.judged))
        )
        for run in (plain, without):
            finish(run, {"once": self.once}, services)
        assert plain.records["once"]["a"].ranked == ("a", "e")
        (stage, *_) = without.records["once"]["a"].stages
        assert "a" not in stage.lanes[0].documents
        assert without.records["once"]["a"].ranked == ("e", "f")

    def test_a_sweep_and_a_run_file_leave_it_out_too(self, tmp_path, services):
        metric = ev.parse_metric("mrr@10")
        nearest = RECIPES["simple_semantic"].build(k_final=1).without_answer()
        swept = sweep(self.judged, [self.once, nearest], metric, lambda: services)
        found = nearest.run(DOCUMENTS[0].text, without(services, "a")).ranking
        assert [hit.passage.doc_id for hit in found] == ["e"]
        assert swept.scores.tolist() == [[1.0], [1.0]]
        (tmp_path / "run.trec").write_text("a Q0 a 1 9.5 x\na Q0 e 2 9.0 x\n")
        manifest = ev.describe_run(
            self.judged, {}, depth=None, engine={}, source="", run_files={"x": tmp_path / "run.trec"}
        )
        run = RunFolder.create(tmp_path / "other", manifest, self.judged)
        ev.take_run_file(run, "x", tmp_path / "run.trec")
        assert ev.scores(run, metric)["x"] == {"a": 1.0}
