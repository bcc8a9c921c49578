"""Results: as they are stored, titled, compared and written as tables, in which a foreign name is only text."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.judged import JUDGED, opened
from helpers.small import ROOT
from helpers.stored_results import ROWS, SAMPLE, STORED, STRATEGIES, measured_again, rows
from markdown_it import MarkdownIt

from rag_core import evaluation as ev
from rag_core.catalog import RECIPES, StrategySpec
from rag_core.evaluation.records import Record
from rag_core.evaluation.run_folder import RunFolder
from rag_core.evaluation.tables import BEGIN, END
from rag_core.values.errors import DataError
from rag_core.values.settings import read_settings

FILE = ROOT / "data" / "results.json"


def test_the_shipped_results_are_written_as_they_were_read():
    results = ev.Results.read(FILE)
    written = json.dumps(results.as_json(), ensure_ascii=False, indent=2)
    assert written + "\n" == FILE.read_text(encoding="utf-8")


def test_the_files_of_a_run_are_written_as_they_were_read(tmp_path, services):
    strategies = ev.build_strategies({"bm25": "bm25", "dense": "simple_semantic"})
    with opened(tmp_path / "run", strategies) as run:
        list(ev.evaluate(run, strategies, lambda: services))
        results = ev.conclude(run, ev.choose_metrics())
    for model, name in ((ev.Manifest, "manifest.json"), (ev.Results, "results.json")):
        path = run.folder / name
        written = json.dumps(model.read(path).as_json(), ensure_ascii=False, indent=1)
        assert written == path.read_text(encoding="utf-8")
    assert ev.stored_results(RunFolder.open(run.folder)) == results
    assert "pairs" not in run.manifest.as_json(), "without pairs a manifest does not name them"


def test_the_file_of_a_sweep_is_written_as_it_was_read(tmp_path, services):
    recipe, settings = RECIPES["simple_semantic"], ev.grid({"k_final": (1, 3)})
    result = ev.tune(recipe, settings, ev.parse_metric("mrr"), JUDGED, JUDGED, lambda: services)
    path = ev.save_sweep(result, read_settings(home=tmp_path))
    assert ev.list_sweeps(read_settings(home=tmp_path)) == [path]
    written = json.dumps(ev.SweepResult.read(path).as_json(), ensure_ascii=False)
    assert written == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "problem"),
    [(None, "No such file"), ("{", "Invalid JSON"), ("[]", "cannot be read"), ("{}", "data: Field required")],
)
def test_a_damaged_file_is_named_with_what_is_wrong(tmp_path, text, problem):
    path = tmp_path / "results.json"
    if text is not None:
        path.write_text(text)
    for read in (ev.Results.read, ev.Manifest.read, ev.SweepResult.read):
        with pytest.raises(DataError, match=problem) as damaged:
            read(path)
        assert str(path) in damaged.value.message
        assert "again" in damaged.value.next_step


def test_the_leader_and_the_kind_a_strategy_gains_most_on():
    results = ev.Results.read(FILE)
    means = {label: row.metrics["ndcg@10"].mean for label, row in results.strategies.items()}  # type: ignore[union-attr]
    assert results.primary_means == means
    assert results.leader == max(means, key=lambda label: means[label])
    kinds = {kind: row.strategies for kind, row in results.groups["kind"].items()}
    alone = {kind: rows["bm25"]["ndcg@10"].mean for kind, rows in kinds.items()}  # type: ignore[union-attr]
    assert results.best_kind("bm25", "ndcg@10") == max(alone.items(), key=lambda item: item[1])
    gains = {kind: rows["hyde"]["ndcg@10"].mean - rows["bm25"]["ndcg@10"].mean for kind, rows in kinds.items()}  # type: ignore[union-attr]
    assert results.best_kind("hyde", "ndcg@10", "bm25") == max(gains.items(), key=lambda item: item[1])


def test_the_best_settings_along_one_and_two_controls(services):
    settings = ev.grid({"k_final": (1, 3), "k1": (1.0, 2.0)})
    result = ev.tune(RECIPES["bm25"], settings, ev.parse_metric("mrr"), JUDGED, JUDGED, lambda: services)
    rows = result.best_along("k_final")
    assert [row.controls["k_final"] for row in rows] == [1, 3, 5], "in the order of the values"
    for row in rows:
        same = [one for one in result.settings if one.controls["k_final"] == row.controls["k_final"]]
        assert row.score.mean == max(one.score.mean for one in same)
    pairs = [(row.controls["k_final"], row.controls["k1"]) for row in result.best_along("k_final", "k1")]
    assert pairs == [(1, 1.0), (1, 2.0), (3, 1.0), (3, 2.0), (5, 1.5)]
    assert result.gain == result.best.reported.mean - result.default.reported.mean
    assert sum(row.same for row in result.finalists) == len(result.front())


def manifest_of(chosen: Mapping[str, StrategySpec], depth: int | None = None) -> ev.Manifest:
    return ev.describe_run(JUDGED, ev.build_strategies(chosen, depth), depth=depth, engine={}, source="")


def test_a_label_is_shown_as_title_and_settings():
    chosen = {"hybrid_rrf.1": ("hybrid_rrf", {"mmr_lambda": 0.3, "k_final": 8}), "bm25": "bm25"}
    assert ev.titles(manifest_of(chosen)) == {
        "hybrid_rrf.1": "Hybrid RRF + MMR · λ 0.3, passages used 8",
        "bm25": "BM25 keywords",
    }
    # what the depth raised is no setting of a strategy
    chosen = {"hybrid": ("hybrid_rrf", {"rrf_k": 5}), "bm25": "bm25"}
    assert ev.titles(manifest_of(chosen, depth=100)) == {
        "hybrid": "Hybrid RRF + MMR · RRF k 5",
        "bm25": "BM25 keywords",
    }


def test_two_that_are_the_same_have_their_labels_too():
    assert ev.titles(manifest_of({"a": "bm25", "b": "bm25"})) == {
        "a": "BM25 keywords (a)",
        "b": "BM25 keywords (b)",
    }


def test_a_run_file_is_another_systems(tmp_path):
    path = tmp_path / "some.trec"
    path.write_text("q1 Q0 a 1 9.5 x\n")
    manifest = ev.describe_run(JUDGED, {}, depth=None, engine={}, source="", run_files={"some": path})
    assert ev.titles(manifest)["some"].startswith("some (rankings of another system")


def test_a_verdict_names_the_strategies_as_asked():
    """b is right on all of ten questions and a on none: p = 2 / 2^10 = 0.00195."""
    ids = [f"q{number}" for number in range(10)]
    (pair,) = ev.compare_all("MAP", {"a": dict.fromkeys(ids, 0.0), "b": dict.fromkeys(ids, 1.0)})
    words = "Title B is better than Title A by 1.000 MAP (95 % 1.000 to 1.000), probably real: p 0.002."
    assert ev.verdict(pair, {"a": "Title A", "b": "Title B"}) == words
    assert ev.verdict(pair) == pair.verdict == words.replace("Title B", "b").replace("Title A", "a")


def test_a_verdict_is_said_in_another_language_from_stored_figures():
    """Its parts are worked out again: a stored comparison has plain text."""
    pairs = ev.compare_all("MAP", {name: {"q1": value} for name, value in (("a", 1.0), ("b", 0.0))})
    stored = dataclasses.replace(pairs[0], verdict=str(pairs[0].verdict))
    assert ev.verdict(stored).template == "too few to conclude: 1 question."


def said(scores: Mapping[str, float], different: Mapping[tuple[str, str], bool]) -> str | None:
    """What `in_words` says of strategies with these means of nDCG@10 and these pairs."""
    results = ev.Results.read(FILE)
    row = next(iter(results.strategies.values()))
    score = row.metrics["ndcg@10"]
    assert score
    strategies = {
        name: row.model_copy(update={"metrics": {"ndcg@10": score.model_copy(update={"mean": mean})}})
        for name, mean in scores.items()
    }
    pairs = [
        dataclasses.replace(results.comparisons[0], a=a, b=b, different=apart) for (a, b), apart in different.items()
    ]
    changed = results.model_copy(update={"strategies": strategies, "comparisons": pairs})
    return ev.in_words(changed, {name: name.upper() for name in scores})


def test_a_result_in_words_says_what_is_ahead_and_what_is_not_told_apart():
    scores = {"a": 0.64, "b": 0.81, "c": 0.79}
    assert said(scores, {}) is None
    assert said(scores, {("a", "b"): True}) == "B (0.81) is ahead of A (0.64)."
    close = said(scores, {("a", "b"): False, ("c", "b"): False})
    assert close == "B (0.81) has the highest figure, but is not told apart from A (0.64), C (0.79)."
    second = said(scores, {("a", "b"): True, ("b", "c"): False, ("a", "c"): True})
    assert second == "B (0.81) is ahead of A (0.64). It is not told apart from C (0.79). C (0.79) is ahead of A (0.64)."
    others = said(scores, {("a", "b"): False, ("b", "c"): False, ("a", "c"): True})
    assert others.endswith("told apart from A (0.64), C (0.79). C (0.79) is ahead of A (0.64).")


def run_of(folder: Path, chosen: Mapping[str, StrategySpec], ranked: Mapping[str, tuple[str, ...]]) -> RunFolder:
    run = RunFolder.create(folder, manifest_of(chosen), JUDGED)
    for label in chosen:
        for question in ("q1", "q2", "q3"):
            run.append(label, Record.ranking(question, ranked[label]))
    return run


def test_runs_are_matched_by_strategy_and_controls_not_by_label(tmp_path):
    """q2 has the one relevant document b, q3 has c and f, q1 has a and e: hit@1 of ("b",) is 1/3, of ("x",) 0."""
    older = run_of(
        tmp_path / "older",
        {"one": ("bm25", {"k1": 1}), "bm25.1": "bm25", "gone": "hyde"},
        {"one": ("b",), "bm25.1": ("x",), "gone": ("x",)},
    )
    newer = run_of(
        tmp_path / "newer",
        {"bm25.1": ("bm25", {"k1": 1}), "new": "simple_semantic", "bm25": "bm25"},
        {"bm25.1": ("x",), "new": ("b",), "bm25": ("b",)},
    )
    changed, same, *single = ev.compare_runs(older, newer, ev.parse_metric("hit@1"))
    assert (changed.title, changed.older, changed.newer) == ("BM25 keywords · k1 1", pytest.approx(1 / 3), 0)
    assert (changed.comparison.wins, changed.comparison.losses, changed.comparison.n) == (0, 1, 3)
    assert (same.title, same.older, same.newer) == ("BM25 keywords", 0, pytest.approx(1 / 3))
    assert [(row.title, row.older, row.newer, row.comparison) for row in single] == [
        ("HyDE", 0, None, None),
        ("Simple semantic", None, pytest.approx(1 / 3), None),
    ]


def test_the_page_shows_the_stored_figures():
    page = (ROOT / "data" / "RESULTS.md").read_text(encoding="utf-8")
    table = page.partition(BEGIN)[2].partition(END)[0]
    assert table.strip() == ev.markdown(STORED).strip(), "run `make results`"


def test_the_stored_result_is_of_these_questions_and_strategies():
    manifest = STORED.manifest
    judged = ev.read_judged("builtin", STORED.split, read_settings())
    assert manifest.checksum == judged.checksum, "run `make results`"
    built = ev.build_strategies(
        {label: (row.strategy, row.controls) for label, row in manifest.strategies.items()}, manifest.depth
    )
    assert {label: row.fingerprint for label, row in manifest.strategies.items()} == {
        label: one.fingerprint for label, one in built.items()
    }, "run `make results`"


def test_a_few_questions_find_what_they_found(lab, tmp_path):
    """Every strategy finds the same documents in the same order.

    One question of a strategy may differ: another build of the linear algebra rounds the last bit of a cosine
    otherwise, and two passages that tie to that bit change places. `make bench` measures all questions.
    """
    stored = json.loads(ROWS.read_text(encoding="utf-8"))
    with measured_again(lab, tmp_path / "run", SAMPLE) as run:
        found = rows(run)
    assert {label: list(row) for label, row in found.items()} == {label: list(row) for label, row in stored.items()}, (
        "run `make results`"
    )
    assert (len(found), {len(row) for row in found.values()}) == (len(STRATEGIES), {SAMPLE})
    changed = {
        label: [question for question in row if row[question] != stored[label][question]]
        for label, row in found.items()
    }
    assert {label: row for label, row in changed.items() if len(row) > 1} == {}


HOSTILE = (
    "a|b",
    "`code` `` more",
    "[link](https://evil.example)",
    "![picture](//evil.example/x.png)",
    "<img src=x onerror=alert(1)>",
    "first\nsecond\n\n# third",
    f"x {END} y",
    "**bold** _slanted_ ~~gone~~ \\",
    "| --- |",
    "\x1b[2Jgone",
    "# heading",
    "- item",
)
ALLOWED = {"p", "table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li"}


def renamed(value: Any, names: dict[str, str]) -> Any:
    """JSON with these texts replaced, as keys and as values, also inside longer texts."""
    if isinstance(value, dict):
        return {renamed(key, names): renamed(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new) if value.startswith((old, "multi")) else value
    return value


def tags(text: str) -> set[str]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    return {token.tag or token.type for token in (*tokens, *inline)} - {"text", "inline", "softbreak", "br"}


def columns(text: str) -> list[set[int]]:
    """For each table, the numbers of cells in its rows as Markdown counts them."""
    found: list[set[int]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            found.append(set())
        elif token.type == "tr_open":
            cells = 0
        elif token.type in ("td_open", "th_open"):
            cells += 1
        elif token.type == "tr_close":
            found[-1].add(cells)
    return found


@pytest.mark.parametrize("foreign", HOSTILE)
def test_a_foreign_label_group_and_title_are_text(foreign, tmp_path):
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    kinds = next(iter(stored["groups"].values()))
    names = {"hybrid_rrf": foreign, next(iter(kinds)): foreign, stored["data"]: foreign}
    changed = renamed(stored, names)
    assert changed != stored
    results = ev.Results.model_validate(changed)
    written, usual = ev.markdown(results), ev.markdown(ev.Results.read(FILE))
    assert tags(written) <= ALLOWED
    assert columns(written) == columns(usual)
    assert written.count("\n") <= usual.count("\n") + 1, "a renamed strategy has a line in the legend"
    assert "\x1b" not in written
    report = tmp_path / "report.md"
    report.write_text(f"{BEGIN}\n{END}\nAfter\n")
    for _ in range(2):
        ev.put_table(report, written)
    assert report.read_text(encoding="utf-8").count("After") == 1
    assert report.read_text(encoding="utf-8").count(END) == 1
