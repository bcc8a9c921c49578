import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.judged import JUDGED

from rag_core import evaluation as ev
from rag_core.evaluation.records import Record, StageRanking, StageRecord
from rag_core.evaluation.run_folder import RunFolder


def hand_made(tmp_path: Path, lists: Mapping[str, Mapping[str, tuple[str, ...]]]) -> RunFolder:
    """A run of given rankings."""
    manifest = ev.describe_run(JUDGED, {}, depth=None, engine={}, source="")
    files = {label: ev.RunFile(run_file=f"{label}.trec", fingerprint="") for label in lists}
    run = RunFolder.create(tmp_path / "made", manifest.model_copy(update={"strategies": files}), JUDGED)
    for label, ranked in lists.items():
        for question, documents in ranked.items():
            run.append(label, Record.ranking(question, documents))
    return run


def test_what_became_of_each_question(tmp_path):
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


def test_stage_effects_are_paired_differences(tmp_path):
    """One relevant document of q2 at ranks 1 and 2: nDCG 1 and 1 / log2(3)."""
    run = hand_made(tmp_path, {"s": {}})

    def record(question: str, lexical: tuple[str, ...], dense: tuple[str, ...], fused: tuple[str, ...]) -> Record:
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
    assert fused.change.mean == pytest.approx(((1 - half) + 0) / 2)
    assert fused.change.n == 2


def one_lane(stage: str, kind: str, *documents: str) -> StageRecord:
    return StageRecord(stage, kind, 0.1, (StageRanking("question", "", "", documents),))


def test_reordering_is_not_charged_with_what_a_cut_takes(tmp_path):
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
    assert cut.change.mean == pytest.approx((short - whole) / ideal), "e is lost by the cut alone"
    assert order.change.mean == pytest.approx((moved - short) / ideal), "and a is gained by the order alone"
    assert (first.documents, cut.documents, order.documents) == (4, 2, 2)


def test_a_cut_alone_is_no_reordering_and_a_longer_list_is_its_own_row(tmp_path):
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


def test_rewrite_effects_count_irrelevant_and_unique_finds(tmp_path):
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


def test_error_rates_are_split_by_the_form_of_the_question(tmp_path):
    """Rewrites go wrong more often on keywords: both figures stand side by side."""
    texts = ("cats sleep", "Do cats sleep?")
    run = hand_made(tmp_path, {"s": {}})
    run.judged = dataclasses.replace(
        JUDGED,
        questions=tuple(
            dataclasses.replace(question, text=text) for question, text in zip(JUDGED.questions, texts, strict=False)
        ),
    )
    keywords, sentence = (question.id for question in run.judged.questions)
    relevant = max(JUDGED.qrels[sentence], key=JUDGED.qrels[sentence].__getitem__)
    for question, documents in ((keywords, ("x", "y")), (sentence, ("x", "z", relevant))):
        lanes = (
            StageRanking("synonyms", "Dense", "s", documents),
            StageRanking("expanded", "Dense", "e", documents),
        )
        run.append("s", Record(question, (StageRecord("Dense", "retrieve", 0.1, lanes),)))
    for effect in ev.rewrite_effects(run, "s"):
        assert effect.error_rate == pytest.approx(4 / 5)
        assert effect.forms == {
            "keywords": ev.FormErrors(1, 1.0),
            "sentence": ev.FormErrors(1, pytest.approx(2 / 3)),
        }


def test_relevant_documents_outside_the_final_ranking_are_missed():
    record = Record.ranking("q", ["a", "b"])
    assert record.missed({"a": 2, "c": 1, "d": 0, "e": 2}) == ["c", "e"]
    assert Record("q").missed({"a": 1}) == ["a"]
