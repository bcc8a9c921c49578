"""A few hundred random and damaged files, always the same ones: never an error, never more than the limits."""

from collections.abc import Iterator

import pytest
from helpers import fuzzing
from helpers.looping import fuzzed
from hypothesis import example, given

from rag_core.documents.reading.guard import GuardedReader


@pytest.fixture(scope="module")
def reader() -> Iterator[GuardedReader]:
    with GuardedReader() as reader:
        yield reader


@fuzzed(150)
@given(fuzzing.headers)
@example("!!int ")
@example("!!timestamp ")
def test_any_front_matter_is_read_or_refused(header):
    fuzzing.check_header(header)


@fuzzed(150)
@given(fuzzing.files())
def test_any_file_is_read_or_has_a_reason(reader, tmp_path, file):
    fuzzing.check_file(reader, tmp_path, *file)


@fuzzed(150)
@given(fuzzing.json_text)
def test_any_beir_corpus_is_read_or_refused_by_line(tmp_path, text):
    fuzzing.check_beir(tmp_path, text)
