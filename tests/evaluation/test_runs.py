"""Running strategies over judged questions: records, resuming, results, regressions, estimates."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from helpers.judged import JUDGED, opened
from helpers.small import DOCUMENTS, ROOT, ScriptedLlm, WordEmbedder

from rag_core import evaluation as ev
from rag_core.data.benchmark import JUDGED_BY_AUTHORS
from rag_core.evaluation.records import Record, StageRanking, StageRecord
from rag_core.evaluation.run_folder import RunFolder
from rag_core.indexing import CorpusIndex
from rag_core.models import RehearsedLlm
from rag_core.pipeline.strategy import Strategy
from rag_core.prompts.prompt import Template
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.stages import Dense, ReciprocalRankFusion, Retrieve, TransformStage
from rag_core.values.errors import ConfigError, DataError, RagError, Stopped, StorageError
from rag_core.values.pricing import Price, PriceList
from rag_core.values.settings import Settings
from rag_core.values.types import Cost, Query


@pytest.fixture
def strategies() -> dict[str, Strategy]:
    return ev.build_strategies({"bm25": "bm25", "hybrid": ("hybrid_rrf", {"mmr": False})})


def finish(run: RunFolder, strategies: Mapping[str, Strategy], services: Services) -> list[ev.RunProgress]:
    return list(ev.evaluate(run, strategies, lambda: services))


def test_every_measured_question_gets_a_record_of_every_stage(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy]
) -> None:
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
    assert run.finished


def test_a_run_read_back_is_the_run_that_was_written(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy]
) -> None:
    run = opened(tmp_path / "run", strategies)
    finish(run, strategies, services)
    again = RunFolder.open(tmp_path / "run")
    assert again.records == run.records
    assert again.judged == JUDGED


def test_no_question_is_asked_twice(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy], embedder: WordEmbedder
) -> None:
    run = opened(tmp_path / "run", strategies)
    finish(run, strategies, services)
    asked = len(embedder.asked)
    (only,) = finish(opened_again(tmp_path / "run", run, strategies), strategies, services)
    assert (only.done, only.total) == (6, 6)
    assert len(embedder.asked) == asked


def opened_again(folder: Path, run: RunFolder, strategies: Mapping[str, Strategy]) -> RunFolder:
    run.close()
    return opened(folder, strategies)


def test_a_strategy_is_timed_alone_and_shares_calls_only_when_asked(
    tmp_path: Path, services: Services, embedder: WordEmbedder
) -> None:
    both = ev.build_strategies({"a": "simple_semantic", "b": ("hybrid_rrf", {"mmr": False})})
    for share, calls in ((False, 6), (True, 3)):
        embedder.asked.clear()
        run = opened(tmp_path / str(share), both)
        list(ev.evaluate(run, both, lambda: services, share=share))
        assert len(embedder.asked) == calls


@dataclasses.dataclass(frozen=True)
class Broken(TransformStage):
    """Fails on one question."""

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        if "dogs" in question.text:
            raise RuntimeError("no dogs")
        return (question,)


def test_a_failed_question_is_counted_and_is_in_no_figure(tmp_path: Path, services: Services) -> None:
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
    fates = {
        change.question: change for change in ev.changes(run, ev.parse_metric("hit@5"), "dense", "broken")
    }
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


def test_a_question_that_failed_keeps_its_calls_and_so_does_each_later_attempt(
    tmp_path: Path, services: Services
) -> None:
    """Three questions at $0.25: one fails, is asked again and fails, and again and succeeds: 5 calls."""
    paying = {"paying": Strategy("paying", (Paying(), Retrieve((Dense(k=3),)), ReciprocalRankFusion()))}
    for attempt, replies in enumerate((("fine", "fail", "fine"), ("fail",), ("fine",)), start=1):
        run = opened(tmp_path / "run", paying)
        llm = ScriptedLlm(*replies, cost_usd=0.25)
        asked = dataclasses.replace(services, llms={"rewrite": llm})
        steps = list(ev.evaluate(run, paying, lambda services=asked: services))  # type: ignore[misc]
        assert len(llm.prompts) == len(replies) == len(steps) - 1
        row = ev.conclude(run, ev.choose_metrics(["hit@5"])).strategies["paying"]
        calls = 2 + attempt
        assert row.cost_usd == pytest.approx(calls * 0.25)
        assert [call.count for call in row.calls if call.purpose == "rewrite"] == [calls]
        assert row.failed == (0 if attempt == 3 else 1)
        run.close()
        assert RunFolder.open(run.folder).records == run.records, "what is on disk says the same"


def test_a_question_that_was_stopped_keeps_its_calls_and_is_asked_again(
    tmp_path: Path, services: Services
) -> None:
    stop = threading.Event()

    class Stopping(ScriptedLlm):
        def stream(self, prompt, stopped):  # type: ignore[no-untyped-def]
            stop.set()
            yield from super().stream(prompt, stopped)

    paying = {"paying": Strategy("paying", (Paying(), Retrieve((Dense(k=3),)), ReciprocalRankFusion()))}
    run = opened(tmp_path / "run", paying)
    first = dataclasses.replace(services, llms={"rewrite": Stopping("fine", cost_usd=0.25)})
    with pytest.raises(Stopped):
        list(ev.evaluate(run, paying, lambda: first, stop=stop))
    (record,) = run.records["paying"].values()
    assert (record.error, record.cost.usd) == ("The run was stopped. Finished results are kept.", 0.25)
    again = dataclasses.replace(services, llms={"rewrite": ScriptedLlm("fine", cost_usd=0.25)})
    list(ev.evaluate(run, paying, lambda: again))
    assert sum(one.cost.known for one in run.records["paying"].values()) == pytest.approx(4 * 0.25)
    assert not any(one.error for one in run.records["paying"].values())


def test_a_run_that_nobody_watches_any_more_keeps_what_was_under_way(
    tmp_path: Path, services: Services
) -> None:
    """The consumer leaves after the first record; the questions on the other threads are kept too."""
    together = threading.Barrier(3)

    class Met(ScriptedLlm):
        def stream(self, prompt, stopped):  # type: ignore[no-untyped-def]
            together.wait(20)
            yield from super().stream(prompt, stopped)

    paying = {"paying": Strategy("paying", (Paying(), Retrieve((Dense(k=3),)), ReciprocalRankFusion()))}
    run = opened(tmp_path / "run", paying)
    asked = dataclasses.replace(services, llms={"rewrite": Met("fine", cost_usd=0.25)})
    steps = ev.evaluate(run, paying, lambda: asked, workers=3)
    next(steps)
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert sum(one.cost.known for one in run.records["paying"].values()) == pytest.approx(3 * 0.25)


def test_the_json_has_the_fixed_shape(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy]
) -> None:
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


def test_own_run_files_come_back_in_the_same_order(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy]
) -> None:
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


def test_a_question_that_a_run_file_leaves_out_scores_0(tmp_path: Path) -> None:
    path = tmp_path / "some.trec"
    path.write_text("q1 Q0 a 1 9.5 x\nq1 Q0 e 2 9.0 x\n")
    manifest = ev.describe_run(JUDGED, {}, depth=None, engine={}, source="", run_files={"some": path})
    run = RunFolder.create(tmp_path / "run", manifest, JUDGED)
    ev.take_run_file(run, "some", path)
    assert ev.scores(run, ev.parse_metric("ndcg@10"))["some"] == {"q1": 1.0, "q2": 0.0, "q3": 0.0}


def test_another_run_in_the_same_folder_is_refused(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy]
) -> None:
    opened(tmp_path / "run", strategies).close()
    other = ev.build_strategies({"bm25": ("bm25", {"k1": 2}), "hybrid": ("hybrid_rrf", {"mmr": False})})
    with pytest.raises(ConfigError, match="holds another run: different strategies"):
        opened(tmp_path / "run", other)
    changed = dataclasses.replace(JUDGED, checksum="x")
    with pytest.raises(ConfigError, match="different checksum"):
        opened(tmp_path / "run", strategies, changed)


def test_a_run_folder_is_let_go_however_its_use_ends(tmp_path: Path, strategies: dict[str, Strategy]) -> None:
    with pytest.raises(RuntimeError), opened(tmp_path / "run", strategies):
        raise RuntimeError("broken off")
    other = dataclasses.replace(JUDGED, checksum="x")
    with pytest.raises(ConfigError, match="holds another run") as refused:
        opened(tmp_path / "run", strategies, other)
    with opened(tmp_path / "run", strategies):
        assert refused.value, "while the refusal is still at hand"
    closer = opened(tmp_path / "run", strategies)
    thread = threading.Thread(target=closer.close)
    thread.start()
    thread.join()
    opened(tmp_path / "run", strategies).close()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path, strategies: dict[str, Strategy]) -> None:
    opened(tmp_path / "run", strategies).close()
    script = "import sys, time; from filelock import FileLock; held = FileLock(sys.argv[1]); held.acquire(); print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "run" / "LOCK")], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "held"
    with pytest.raises(StorageError, match="is being written by another run") as refused:
        opened(tmp_path / "run", strategies)
    assert "stop it where it was started" in refused.value.next_step
    holder.kill()
    holder.wait()
    assert (tmp_path / "run" / "LOCK").exists()
    opened(tmp_path / "run", strategies).close()


def test_two_processes_do_not_write_one_run(tmp_path: Path, strategies: dict[str, Strategy]) -> None:
    held = opened(tmp_path / "run", strategies)
    with pytest.raises(StorageError, match="is being written by another run"):
        opened(tmp_path / "run", strategies)
    held.close()
    opened(tmp_path / "run", strategies)


@pytest.mark.parametrize("label", ["a b", "a/b", "", "../x"])
def test_a_label_must_be_a_file_name(tmp_path: Path, label: str) -> None:
    with pytest.raises(ConfigError, match="cannot be labelled"):
        opened(tmp_path / "run", ev.build_strategies({label: "bm25"}))


def test_a_broken_record_names_file_and_line(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy]
) -> None:
    run = opened(tmp_path / "run", strategies)
    finish(run, strategies, services)
    path = run.folder / "records" / "bm25.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + '{"question": "q2"}\n' + lines[2])
    with pytest.raises(DataError, match=r"bm25\.jsonl, line 2: not a record"):
        RunFolder.open(tmp_path / "run")


def test_stopping_keeps_what_is_measured(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy]
) -> None:
    run = opened(tmp_path / "run", strategies)
    stop = threading.Event()

    def stop_after_the_first() -> None:
        for step in ev.evaluate(run, strategies, lambda: services, stop=stop):
            if step.done:
                stop.set()

    with pytest.raises(Stopped):
        stop_after_the_first()
    assert 0 < sum(map(len, run.records.values())) < 6
    finish(run, strategies, services)
    assert run.finished


CHILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from helpers.small import DOCUMENTS, WordEmbedder
from helpers.judged import JUDGED, opened
from rag_core import evaluation as ev
from rag_core.runtime.services import Services
from rag_core.indexing import CorpusStore
from rag_core.values.labels import LabelRules

home, folder, kill_after = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
embedder = WordEmbedder()
index = CorpusStore(home, "animals", embedder).open()
services = lambda: Services(index=index, embedder=embedder, llms={{}}, labels=LabelRules({{}}))
strategies = ev.build_strategies({{"bm25": "bm25", "hybrid": ("hybrid_rrf", {{"mmr": False}})}})
run = opened(folder, strategies)
for step in ev.evaluate(run, strategies, services):
    if step.done == kill_after:
        os.kill(os.getpid(), signal.SIGKILL)
ev.conclude(run, ev.choose_metrics())
"""


@pytest.mark.parametrize("killed_after", [0, 3, 6])
def test_a_killed_run_goes_on_and_ends_as_if_it_had_not_been(
    tmp_path: Path, index: CorpusIndex, services: Services, strategies: dict[str, Strategy], killed_after: int
) -> None:
    child = textwrap.dedent(CHILD).format(tests=str(Path(__file__).parents[1]))
    arguments = [sys.executable, "-c", child, str(tmp_path / "home"), str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    killed = subprocess.run(
        [*arguments, str(killed_after)], env=environment, capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert not (tmp_path / "run" / "results.json").exists()
    held = RunFolder.open(tmp_path / "run")
    assert sum(map(len, held.records.values())) == killed_after
    for path in (tmp_path / "run" / "records").glob("*.jsonl"):  # and a write that was cut off
        with path.open("a") as file:
            file.write('{"question": "q9", "stag')
    done = subprocess.run([*arguments, "-1"], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    straight = opened(tmp_path / "straight", strategies)
    finish(straight, strategies, services)
    resumed = RunFolder.open(tmp_path / "run")
    metric = ev.parse_metric("ndcg@10")
    assert ev.scores(resumed, metric) == ev.scores(straight, metric)
    results = ev.stored_results(resumed)
    assert results is not None
    assert results.queries == 3


def test_an_unfinished_run_is_continued_and_a_finished_one_is_not(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_core.values.settings import read_settings

    settings = read_settings(home=tmp_path / "state")
    manifest = ev.describe_run(JUDGED, strategies, depth=None, engine={}, source="builtin")
    first = ev.folder_for(manifest, settings)
    assert first.name.endswith(manifest.identity)
    run = RunFolder.create(first, manifest, JUDGED)
    assert ev.folder_for(manifest, settings) == first
    finish(run, strategies, services)
    ev.conclude(run, ev.choose_metrics())
    assert ev.past_runs(settings) == [first]
    deeper = manifest.model_copy(update={"depth": 7})
    assert not ev.folder_for(deeper, settings).name.endswith(manifest.identity)
    assert ev.run_title(first).endswith("animals test · BM25 keywords, Hybrid RRF + MMR · mmr off")


def test_depth_raises_every_count_of_passages() -> None:
    deep = ev.build_strategies({"h": "hybrid_rrf"}, 100)["h"]
    counts = {name: value for name, value in deep.controls.items() if name.startswith("k_")}
    assert counts == dict.fromkeys(
        ["k_bm25_candidates", "k_semantic_candidates", "k_rrf_pool", "k_final"], 100
    )
    assert deep.controls["rrf_k"] == 60
    shallow = ev.build_strategies({"h": ("hybrid_rrf", {"k_final": 50})}, 20)["h"]
    assert (shallow.controls["k_final"], shallow.controls["k_rrf_pool"]) == (50, 20), "never lowered"
    assert ev.build_strategies({"h": "hybrid_rrf"})["h"].controls["k_final"] == 5
    with pytest.raises(ConfigError, match="from 1 to 100"):
        ev.build_strategies({"h": "hybrid_rrf"}, 101)


def test_without_metrics_the_usual_ones_and_the_deep_one_where_it_means_something() -> None:
    assert "recall@100" not in [metric.name for metric in ev.choose_metrics()]
    assert ev.choose_metrics(depth=100)[-1].name == "recall@100"
    assert [metric.name for metric in ev.choose_metrics(["MRR", "mrr", "p@5"])] == ["mrr", "precision@5"]


def hand_made(tmp_path: Path, lists: Mapping[str, Mapping[str, tuple[str, ...]]]) -> RunFolder:
    """A run of given rankings."""
    manifest = ev.describe_run(JUDGED, {}, depth=None, engine={}, source="")
    files = {label: ev.RunFile(run_file=f"{label}.trec", fingerprint="") for label in lists}
    run = RunFolder.create(tmp_path / "made", manifest.model_copy(update={"strategies": files}), JUDGED)
    for label, ranked in lists.items():
        for question, documents in ranked.items():
            run.append(label, Record.ranking(question, documents))
    return run


def test_what_became_of_each_question(tmp_path: Path) -> None:
    run = hand_made(
        tmp_path,
        {
            "old": {"q1": ("a", "e"), "q2": ("x", "b"), "q3": ("c", "x")},
            "new": {"q1": ("e", "a"), "q2": ("b", "x"), "q3": ("c", "y")},
        },
    )
    fates = ev.changes(run, ev.parse_metric("ndcg@10"), "old", "new")
    assert [(fate.question, fate.verdict) for fate in fates] == [
        ("q1", "worse"),
        ("q3", "different"),
        ("q2", "better"),
    ]
    assert {fate.verdict for fate in ev.changes(run, ev.parse_metric("ndcg@10"), "old", "old")} == {"same"}


def test_front_of_quality_and_time(tmp_path: Path) -> None:
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


ASK = Template(name="ask", purpose="rewrite", system="", text="Rewrite: {question}")


@dataclasses.dataclass(frozen=True)
class Asking(TransformStage):
    """Asks a language model for one rewrite."""

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        return (Query(ctx.complete(ASK.fill(question=question.text, sources=())), "ask"),)


def test_the_bill_is_told_before_anything_is_sent(tmp_path: Path, services: Services) -> None:
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
        run.append("asking", Record("q1"))
        run.append("asking", Record("q2", error="It failed."))
        assert bill().calls == {"rewrite": 2}, "what failed is asked again"
    llm = services.llms["rewrite"]
    assert isinstance(llm, ScriptedLlm)
    assert llm.prompts == [], "nothing was sent"
    free = opened(tmp_path / "free", plain)
    assert ev.estimate(ev.plan_of(free, plain, share=True), services).free


def test_a_bill_shares_equal_calls_only_among_strategies_that_a_question_still_goes_to(
    tmp_path: Path, services: Services
) -> None:
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


def test_stage_effects_are_paired_differences(tmp_path: Path) -> None:
    """One relevant document of q2 at ranks 1 and 2: nDCG 1 and 1 / log2(3)."""
    run = hand_made(tmp_path, {"s": {}})

    def record(
        question: str, lexical: tuple[str, ...], dense: tuple[str, ...], fused: tuple[str, ...]
    ) -> Record:
        first = StageRecord(
            "Bm25 ∥ Dense", "retrieve", 0.1,
            (StageRanking("question", "Bm25", "", lexical), StageRanking("question", "Dense", "", dense)),
        )  # fmt: skip
        return Record(
            question,
            (
                first,
                StageRecord("ReciprocalRankFusion", "fuse", 0.1, (StageRanking("question", "", "", fused),)),
            ),
        )

    run.append("s", record("q2", ("b", "x"), ("x", "b"), ("b", "x")))
    run.append("s", record("q3", ("x",), ("c", "f"), ("c", "f")))
    lexical, dense, fused = ev.stage_effects(run, "s", ev.parse_metric("ndcg@10"))
    half = 1 / 1.584962500721156
    assert (lexical.lane, dense.lane, fused.lane) == ("Bm25", "Dense", "")
    assert (lexical.effect, dense.effect, fused.effect) == ("", "", "order")
    assert lexical.score.mean == pytest.approx((1 + 0) / 2)
    assert (lexical.documents, dense.documents) == ((2 + 1) / 2, (2 + 2) / 2)
    assert dense.score.mean == pytest.approx((half + 1) / 2)
    assert lexical.change is None
    assert fused.before == "Bm25 ∥ Dense Dense", "the better of the two that were fused"
    assert fused.change is not None
    assert fused.change.mean == pytest.approx(((1 - half) + 0) / 2)
    assert fused.change.n == 2


def one_lane(stage: str, kind: str, *documents: str) -> StageRecord:
    return StageRecord(stage, kind, 0.1, (StageRanking("question", "", "", documents),))


def test_reordering_is_not_charged_with_what_a_cut_takes(tmp_path: Path) -> None:
    """q1: a is graded 2, e 1. MMR moves e before a, and drops the rest of the list with the other hit."""
    run = hand_made(tmp_path, {"s": {}})
    stages = (
        one_lane("ReciprocalRankFusion", "fuse", "x", "a", "y", "e"),
        one_lane("Mmr", "select", "a", "x"),
    )
    run.append("s", Record("q1", stages))
    first, cut, order = ev.stage_effects(run, "s", ev.parse_metric("ndcg@10"))
    log2 = {2: 1.0, 3: 1.584962500721156, 5: 2.321928094887362}
    ideal = 2 / log2[2] + 1 / log2[3]  # a, then e; gains are the grades
    whole, short, moved = 2 / log2[3] + 1 / log2[5], 2 / log2[3], 2 / log2[2]
    assert [row.effect for row in (first, cut, order)] == ["", "cut", "order"]
    assert first.score.mean == pytest.approx(whole / ideal)
    assert cut.change is not None
    assert cut.change.mean == pytest.approx((short - whole) / ideal), "e is lost by the cut alone"
    assert order.change is not None
    assert order.change.mean == pytest.approx((moved - short) / ideal), "and a is gained by the order alone"
    assert (first.documents, cut.documents, order.documents) == (4, 2, 2)


def test_a_cut_alone_is_no_reordering_and_a_longer_list_is_its_own_row(tmp_path: Path) -> None:
    run = hand_made(tmp_path, {"s": {}})
    stages = (
        one_lane("Dense", "retrieve", "x", "a"),
        one_lane("ReciprocalRankFusion", "fuse", "a", "x", "e"),
        one_lane("Top", "select", "a", "x"),
        one_lane("Again", "select", "a", "x"),
    )
    run.append("s", Record("q1", stages))
    rows = ev.stage_effects(run, "s", ev.parse_metric("recall@10"))
    assert [(row.stage, row.effect) for row in rows] == [
        ("Dense", ""), ("ReciprocalRankFusion", "order"), ("ReciprocalRankFusion", "more"), ("Top", "cut"), ("Again", "order"),
    ]  # fmt: skip
    assert [row.change.mean for row in rows if row.change] == [0, 1 / 2, -1 / 2, 0]


def test_rewrite_effects_count_irrelevant_and_unique_finds(tmp_path: Path) -> None:
    run = hand_made(tmp_path, {"s": {}})
    lanes = (
        StageRanking("synonyms", "Dense", "x", ("a", "f", "x")),
        StageRanking("expanded", "Dense", "y", ("a", "e")),
    )
    run.append("s", Record("q1", (StageRecord("Dense", "retrieve", 0.1, lanes),)))
    synonyms, expanded = ev.rewrite_effects(run, "s")
    assert (synonyms.origin, synonyms.error_rate, synonyms.unique_relevant) == (
        "synonyms",
        pytest.approx(2 / 3),
        0,
    )
    assert (expanded.origin, expanded.error_rate, expanded.unique_relevant) == ("expanded", 0.0, 1)
    assert ev.rewrite_effects(hand_made(tmp_path / "other", {"one": {"q1": ("a",)}}), "one") == []


def test_rewrite_effects_can_be_counted_for_keywords_alone(tmp_path: Path) -> None:
    """Rewrites go wrong more often on short questions: both figures can be set side by side."""
    asked = dataclasses.replace(
        JUDGED,
        questions=tuple(
            dataclasses.replace(question, text=text)
            for question, text in zip(JUDGED.questions, ("cats sleep", "Do cats sleep?"), strict=False)
        ),
    )
    run = hand_made(tmp_path, {"s": {}})
    run.judged = asked
    first, second = (question.id for question in asked.questions)
    for question, documents in ((first, ("x", "y")), (second, ("x", max(JUDGED.qrels[second])))):
        lanes = (
            StageRanking("synonyms", "Dense", "s", documents),
            StageRanking("expanded", "Dense", "e", documents),
        )
        run.append("s", Record(question, (StageRecord("Dense", "retrieve", 0.1, lanes),)))
    for form, questions in (("keywords", 1), ("sentence", 1), ("", 2)):
        assert [effect.questions for effect in ev.rewrite_effects(run, "s", form)] == [questions] * 2
    assert ev.rewrite_effects(run, "s", "keywords")[0].error_rate == 1.0
    assert ev.rewrite_effects(run, "s", "sentence")[0].error_rate < 1.0


def test_who_judged_is_in_manifest_and_results(tmp_path: Path, services: Services) -> None:
    chosen = ev.build_strategies({"bm25": "bm25"})
    judged = dataclasses.replace(JUDGED, judged_by="Two midwives judged.")
    with opened(tmp_path / "run", chosen, judged) as run:
        finish(run, chosen, services)
        assert ev.conclude(run, ev.choose_metrics()).judged_by == "Two midwives judged."
    assert RunFolder.open(tmp_path / "run").judged == judged
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    del manifest["judged_by"]  # as an older version wrote it
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    assert RunFolder.open(tmp_path / "run").judged.judged_by == JUDGED_BY_AUTHORS


def test_differences_of_two_runs_are_named(tmp_path: Path, strategies: dict[str, Strategy]) -> None:
    one = opened(tmp_path / "one", strategies)
    other = opened(tmp_path / "two", strategies, dataclasses.replace(JUDGED, checksum="other"))
    assert ev.differences(one, one) == []
    (told,) = ev.differences(one, other)
    assert "judgements differ" in told


def test_titles_come_from_where_the_documents_are(tmp_path: Path, strategies: dict[str, Strategy]) -> None:
    folder = tmp_path / "beir"
    folder.mkdir()
    rows = [{"_id": one.id, "title": one.title, "text": one.text} for one in DOCUMENTS]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    manifest = ev.describe_run(JUDGED, strategies, depth=None, engine={}, source=str(folder))
    run = RunFolder.create(tmp_path / "run", manifest, JUDGED)
    assert ev.document_titles(run, Settings())["a"] == "Cats"
    (folder / "corpus.jsonl").unlink()
    assert ev.document_titles(run, Settings()) == {}


def test_no_strategy_is_an_error() -> None:
    with pytest.raises(RagError, match="No strategy was chosen"):
        ev.build_strategies({})


def test_sharing_a_context_factory_gives_each_question_its_own(
    tmp_path: Path, services: Services, strategies: dict[str, Strategy]
) -> None:
    made: list[int] = []

    def factory() -> Services:
        made.append(1)
        return services

    make: Callable[[], Services] = factory
    list(ev.evaluate(opened(tmp_path / "run", strategies), strategies, make, workers=2))
    assert len(made) == 3


def test_relevant_documents_outside_the_final_ranking_are_missed() -> None:
    record = Record.ranking("q", ["a", "b"])
    assert record.missed({"a": 2, "c": 1, "d": 0, "e": 2}) == ["c", "e"]
    assert Record("q").missed({"a": 1}) == ["a"]
