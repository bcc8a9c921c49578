from pathlib import Path

import pytest
from helpers.small import WordEmbedder
from helpers.source_files import write

from rag_core.indexing import CorpusStore, read_path
from rag_core.values.sources import Source, difference
from rag_core.values.types import Passage

WHO = Source("WHO", "Care in labour", 2018, "WHO2018", "International", "guideline")
NICE = Source("NICE", "Intrapartum care", 2023, "NICE2023", "UK", "guideline")
ACOG = Source("ACOG", "Labour", 2020, "ACOG2020", "US", "guideline")
HEADER = """---
id: labour
title: Labour
language: en
topic: labour
sources:
- {organisation: WHO, title: Care in labour, year: 2018, id: WHO2018, jurisdiction: International, type: guideline}
- {organisation: NICE, title: Intrapartum care, year: 2023, id: NICE2023, jurisdiction: UK, type: guideline}
- {organisation: ACOG, title: Labour, year: 2020, id: ACOG2020, jurisdiction: US, type: guideline}
---
# Labour
"""
LONG = "The midwife stays with the woman all through her labour. " * 8


def indexed(tmp_path: Path, body: str, header: str = HEADER, *, trusted: bool = False) -> list[Passage]:
    store = CorpusStore(tmp_path, "c", WordEmbedder())
    store.update(read_path(write(tmp_path / "files", {"a.md": header + body}), trusted=trusted))
    index = store.open()
    return [index.passages[name] for name in sorted(index.passages)]


@pytest.mark.parametrize("trusted", [True, False])
def test_each_passage_has_the_sources_of_its_section(tmp_path, trusted):
    body = (
        f"\n## One\n<!-- source: WHO2018, NICE2023 -->\n{LONG}\n\n## Two\n<!-- source: NICE2023; differs_from: ACOG2020 -->\n"
        f"{LONG}\n\n## Three\n{LONG}"
    )
    one, two, three = indexed(tmp_path, body, trusted=trusted)
    assert (one.sources, one.differs_from) == ((WHO, NICE), ())
    assert one.source == "WHO, Care in labour, 2018 (International); NICE, Intrapartum care, 2023 (UK)"
    assert one.difference == ""
    assert (two.sources, two.differs_from) == ((NICE, ACOG), (ACOG,))
    assert two.difference == "Guidance differs: NICE 2023 (UK) says one thing, ACOG 2020 (US) another."
    assert three.sources == (WHO, NICE, ACOG)
    assert {passage.text for passage in (one, two, three)} == {LONG.strip()}


def test_a_long_section_gives_its_sources_to_each_part_and_to_its_subsections(tmp_path):
    found = indexed(tmp_path, f"\n## One\n<!-- source: WHO2018 -->\n{LONG * 8}\n\n### Part\n{LONG}")
    assert len(found) > 2
    assert {passage.sources for passage in found} == {(WHO,)}


def test_short_sections_that_are_joined_have_the_sources_of_both(tmp_path):
    body = (
        "\n## One\n<!-- source: WHO2018 -->\nRest.\n\n## Two\n<!-- source: NICE2023; differs_from: ACOG2020 -->\nWalk."
    )
    (passage,) = indexed(tmp_path, body)
    assert (passage.sources, passage.differs_from) == ((WHO, NICE, ACOG), (ACOG,))
    assert passage.text == "Rest.\n\nTwo\n\nWalk."


@pytest.mark.parametrize(
    "comment",
    [
        "<!-- source: the ward -->",
        "<!-- source: NICE2023; differs -->",
        "<!-- note: NICE2023 -->",
        "Text first.\n<!-- source: NICE2023 -->",
    ],
)
def test_any_other_comment_is_hidden(tmp_path, comment):
    (passage,) = indexed(tmp_path, f"\n## One\n{comment}\n{LONG}")
    assert passage.text == f"{comment.partition('<')[0]}\n{LONG}".strip()
    assert passage.sources == (WHO, NICE, ACOG)


def test_a_comment_in_a_file_whose_sources_have_no_keys_is_hidden(tmp_path):
    header = (
        "---\nid: a\ntitle: T\nlanguage: en\ntopic: t\nsources:\n- {organisation: WHO, title: Care, year: 2018}\n---\n"
    )
    (passage,) = indexed(tmp_path, f"# T\n\n## One\n<!-- source: WHO2018 -->\n{LONG}", header)
    assert passage.text == LONG.strip()
    assert (passage.source, passage.sources) == ("WHO, Care, 2018", (Source("WHO", "Care", 2018),))


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(("line", "patient"), [("", ""), ("patient: baby\n", "baby")])
def test_a_passage_says_whom_its_document_is_about(tmp_path, line, patient, trusted):
    header = HEADER.replace("topic: labour\n", f"topic: labour\n{line}")
    (passage,) = indexed(tmp_path, f"\n## One\n{LONG}", header, trusted=trusted)
    assert passage.patient == patient


def test_a_passage_of_a_file_without_sources_has_none(tmp_path):
    (passage,) = indexed(tmp_path, LONG, "")
    assert (passage.source, passage.sources, passage.difference) == ("", (), "")


def test_a_difference_names_each_body_once():
    assert difference((WHO, NICE), (ACOG,)) == (
        "Guidance differs: WHO 2018 (International) and NICE 2023 (UK) say one thing, ACOG 2020 (US) another."
    )
    assert difference((WHO,), ()) == ""


def test_changing_a_mark_changes_the_document(tmp_path):
    (before,) = indexed(tmp_path, f"\n## One\n<!-- source: WHO2018 -->\n{LONG}")
    (tmp_path / "files" / "a.md").write_text(f"{HEADER}\n## One\n<!-- source: NICE2023 -->\n{LONG}")
    store = CorpusStore(tmp_path, "c", WordEmbedder())
    assert store.update(read_path(tmp_path / "files")).changed == ["labour"]
    index = store.open()
    assert [(one.id, one.sources) for one in index.passages.values()] == [(before.id, (NICE,))]
