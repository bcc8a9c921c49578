"""The safeguards' figures, counted on small sets written out here, and the command that prints them."""

import json
from pathlib import Path

import pytest

from rag_core.evaluation import trust
from rag_core.evaluation.statistics import wilson
from rag_core.runtime.services import Grounder
from rag_core.values.answers import HOW_GROUNDED, Claim, Grounded
from rag_core.values.errors import DataError
from rag_core.values.types import Passage


def write(path: Path, *rows: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_private_pieces_are_found_whole_right_or_needlessly(tmp_path):
    phone = "Call 07700 900854 now"
    write(
        tmp_path / "private" / "test.jsonl",
        {"text": phone, "spans": [[5, 17, "phone"]]},
        {"text": phone, "spans": [[0, 17, "phone"]]},  # found in part
        {"text": "DNI 12345678Z", "spans": []},  # found, though not labelled
        {"text": "Is cheese safe?", "spans": []},
    )
    whole, right, needless = (one.share for one in trust.privacy_measures(tmp_path))
    assert (whole, right, needless) == (wilson(1, 2), wilson(2, 3), wilson(1, 2))


class Agrees:
    """A grounder that supports a sentence which the passage begins with."""

    def ground(self, claims: list[Claim], passages: list[Passage], language: str) -> list[Grounded]:
        (passage,) = passages
        return [
            Grounded(*one, "supported" if passage.text.startswith(one.text) else "weak") for one in claims
        ]


DOCUMENT = """---
id: en-cats
title: Cats
language: en
topic: animals
sources:
  - {organisation: A, title: B, year: 2020}
---

# Cats

## Naps

Cats sleep.

## Food

Cats eat fish.
"""


def pair(sentence: str, supported: bool, heading: str = "Naps") -> dict[str, object]:
    return {
        "document": "en-cats",
        "heading": heading,
        "sentence": sentence,
        "supported": supported,
        "language": "en",
    }


def test_a_sentence_is_compared_with_its_own_section(tmp_path):
    (tmp_path / "corpus" / "en").mkdir(parents=True)
    (tmp_path / "corpus" / "en" / "cats.md").write_text(DOCUMENT, encoding="utf-8")
    write(
        tmp_path / "grounding" / "test.jsonl",
        pair("Cats sleep.", True),
        pair("Cats doze.", True),
        pair("Cats eat", False, "Food"),
        pair("Cats eat", False),
    )
    marked, found, passed = (one.share for one in trust.grounding_measures(tmp_path, Agrees()))
    assert (marked, found, passed) == (wilson(1, 2), wilson(1, 2), wilson(1, 2))
    write(tmp_path / "grounding" / "test.jsonl", pair("Cats sleep.", True, "Dreams"))
    with pytest.raises(DataError, match="no section 'Dreams'"):
        trust.grounding_measures(tmp_path, Agrees())


def test_a_row_without_its_keys_is_named(tmp_path):
    write(tmp_path / "private" / "test.jsonl", {"text": "Is cheese safe?"})
    with pytest.raises(DataError, match=r"test\.jsonl, line 1"):
        trust.privacy_measures(tmp_path)


def test_the_command_prints_each_safeguard_and_each_strategy(rag, ready, monkeypatch):
    """And the figures of grounding that the app shows are those it measured: on the whole test part."""
    grounding: list[trust.Measure] = []
    measure = trust.grounding_measures

    def measured(data: Path, grounder: Grounder) -> list[trust.Measure]:
        grounding.extend(measure(data, grounder))
        return grounding

    monkeypatch.setattr(trust, "grounding_measures", measured)
    ran = rag("trust", "--strategies", "bm25", "--limit", "2")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    for line in ("Urgency", "Private data", "Support of sentences", "Urgent questions: what to do now"):
        assert line in lines
    for one in grounding[:2]:
        share = one.share
        right = round(share.mean * share.n)
        assert f"{100 * share.mean:.0f} %" in HOW_GROUNDED
        assert f"{right} of {share.n}; " in HOW_GROUNDED
        assert f"{100 * share.low:.0f} to {100 * share.high:.0f} %" in HOW_GROUNDED
    assert len(grounding) == 3
