"""The demo story shows what it claims, on the shipped index at default settings."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from rag_core.lab.lab import Lab

DEMO = tomllib.loads((Path(__file__).resolve().parents[2] / "data" / "demo.toml").read_text(encoding="utf-8"))
CLAIMS = [(question, claim) for question in DEMO["question"] for claim in question["claims"]]


def test_there_are_fourteen_questions_in_both_languages_each_with_what_to_look_at() -> None:
    questions = DEMO["question"]
    assert len(questions) == 14
    assert {question["language"] for question in questions} == {"en", "es"}
    assert all(question["look"] and question["label"] and question["claims"] for question in questions)
    assert len({question["label"] for question in questions}) == 14


@pytest.mark.parametrize(
    ("question", "claim"),
    CLAIMS,
    ids=[f"{question['label']}-{claim['strategy']}" for question, claim in CLAIMS],
)
def test_a_claim_holds(lab: Lab, question: dict[str, Any], claim: dict[str, Any]) -> None:
    trace = lab.run(question["text"], claim["strategy"])
    documents = {hit.passage.doc_id for hit in trace.ranking}
    match claim:
        case {"finds": document}:
            assert document in documents
        case {"begins": document}:
            assert trace.ranking.hits[0].passage.doc_id == document
        case {"misses": document}:
            assert document in lab.index.manifest.documents
            assert document not in documents
        case {"abstains": expected}:
            assert trace.answer is not None
            assert trace.answer.abstained is expected
            assert expected == all(hit.relevance.label != "High" for hit in trace.ranking if hit.relevance)
