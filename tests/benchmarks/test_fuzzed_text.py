"""Thousands of random replies, scores, settings, questions and templates, others on every run. Run by `make bench`."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import fuzzing_text
from helpers.openai_server import serve
from hypothesis import HealthCheck, given, settings

from rag_core.values.pricing import PriceList

LONG = settings(
    deadline=None,
    max_examples=5_000,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@LONG
@given(fuzzing_text.questions)
def test_questions(question: str) -> None:
    fuzzing_text.check_asked(question)


@LONG
@given(fuzzing_text.templates)
def test_templates(template: tuple[str, str]) -> None:
    fuzzing_text.check_template(*template)


@LONG
@given(fuzzing_text.templates_controls)
def test_templates_controls(value: object) -> None:
    fuzzing_text.check_templates_control(value)


@LONG
@given(fuzzing_text.usages)
def test_counts(value: object) -> None:
    fuzzing_text.check_count(value)


@LONG
@given(fuzzing_text.pieces)
def test_pieces(pieces: list[str]) -> None:
    fuzzing_text.check_pieces(pieces)


def test_replies(prices: PriceList) -> None:
    with serve() as server:
        settings(LONG, max_examples=1_000)(
            given(fuzzing_text.replies)(lambda reply: fuzzing_text.check_reply(server, prices, *reply))
        )()


@LONG
@given(fuzzing_text.scores)
def test_scores(scores: list[object]) -> None:
    fuzzing_text.check_scores(scores)


@pytest.mark.parametrize("contents", [fuzzing_text.toml_rows, fuzzing_text.toml_bytes], ids=["rows", "bytes"])
def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents) -> None:
    monkeypatch.chdir(tmp_path)
    LONG(given(contents)(lambda content: fuzzing_text.check_toml(tmp_path, content)))()
