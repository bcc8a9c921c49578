"""Thousands of random and damaged files, others on every run; the suite tries a few hundred. Run by `make bench`."""

from __future__ import annotations

from pathlib import Path

from helpers import fuzzing
from hypothesis import HealthCheck, given, settings

from rag_core.documents.reading.guard import GuardedReader

LONG = settings(
    deadline=None,
    max_examples=5_000,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@LONG
@given(fuzzing.headers)
def test_front_matter(header: str) -> None:
    fuzzing.check_header(header)


def test_files(tmp_path: Path) -> None:
    with GuardedReader() as reader:
        LONG(given(fuzzing.files())(lambda file: fuzzing.check_file(reader, tmp_path, *file)))()


@LONG
@given(fuzzing.json_text)
def test_beir_corpora(tmp_path: Path, text: str) -> None:
    fuzzing.check_beir(tmp_path, text)
