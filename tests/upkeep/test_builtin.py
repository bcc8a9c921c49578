"""The built-in documents are whole, well-formed and long enough to measure on."""

import json
import random
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from helpers.looping import for_each
from helpers.source_files import write

from rag_core.documents.asked import OUTSIDE
from rag_core.documents.benchmark import KINDS, passage_key, read_builtin, read_qrels, read_questions
from rag_core.documents.documents import Document, read_collection
from rag_core.indexing import OfflineEnricher, chunked, read_shipped, text_key
from rag_core.lab import builtin
from rag_core.lab.lab import Lab
from rag_core.values.errors import DataError
from rag_core.values.message import NOTICE
from upkeep.answer_sets import label_problems
from upkeep.builtin import PASSAGES, check, thesaurus_problems, vector_texts, write_vectors
from upkeep.documents import check_collection

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = ROOT / "data" / "corpus"
ASKED = ROOT / "data" / "asked"

WORDS = "The midwife listens to the woman and to her partner. " * 45
GOOD = f"""---
id: en-good
title: A good document
language: en
topic: labour
sources:
  - organisation: WHO
    title: Intrapartum care for a positive childbirth experience
    year: 2018
    id: WHO2018
    jurisdiction: International
    type: guideline
  - organisation: NICE
    title: Intrapartum care (NG235)
    year: 2023
    id: NICE2023
    jurisdiction: UK
    type: guideline
---

# A good document

## First
<!-- source: WHO2018 -->
{WORDS}

## Second
<!-- source: WHO2018; differs_from: NICE2023 -->
The woman and the midwife talk about the birth.

## Third
<!-- source: WHO2018, NICE2023 -->
The baby is well and the mother is resting.
"""


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return read_collection(COLLECTION)


def enricher_of(lab: Lab) -> OfflineEnricher:
    return OfflineEnricher(lab.engines.thesaurus)


@for_each(
    ("topic", "word"),
    [
        ("contractions", "contractions"), ("preterm labour", "preterm"),
        ("gestational diabetes", "gestational"), ("caesarean", "caesarean"), ("epidural", "epidural"),
        ("antenatal care", "antenatal"), ("pre-eclampsia", "pre-eclampsia"), ("bleeding", "bleeding"),
        ("fetal movements", "movements"), ("anti-D", "anti-d"), ("breastfeeding", "breastfeeding"),
        ("postpartum care", "postpartum"),
    ],
)  # fmt: skip
def test_every_topic_of_the_seeds_has_a_document_named_after_it(documents, topic, word):
    assert any(word in document.id for document in documents), topic


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("id: en-good", "id: en-other", "not en-'good'"),
        ("language: en", "language: es", "does not match the folder"),
        ("topic: labour", "topic: gardening", "topic 'gardening' is not one of"),
        ("topic: labour", "topic: labour\npatient: cat", "patient 'cat' is not one of baby, bereaved, child, partner"),
        ("year: 2018", "year: 1066", "is malformed"),
        ("year: 2018", "year: soon", "missing or invalid"),
        ("title: A good document", "title: Another", "does not start with the title"),
        ("## Third\n<!-- source: WHO2018, NICE2023 -->\n", "", "fewer than three sections"),
        ("jurisdiction: UK", "jurisdiction: Utopia", "source NICE2023: jurisdiction 'Utopia' is not one of ours"),
        ("    type: guideline\n  -", "    type: rumour\n  -", "source WHO2018: type 'rumour' is not one of"),
        ("    id: NICE2023", "    id: WHO2018", "2 sources have the id 'WHO2018'"),
        ("    id: WHO2018\n", "", "1 sources have the id ''"),
        ("WHO2018 -->", "WHO2018, BMJ1 -->", "source 'BMJ1' is not in the front matter"),
        ("WHO2018; differs_from: NICE2023", "WHO2018; differs_from: WHO2018", "'WHO2018' differs from itself"),
        ("source: WHO2018; differs_from", "source: ; differs_from", "no source before differs_from"),
        ("; differs_from: NICE2023 -->", "; differs -->", "does not name a section's sources, and readers do not see it: source: WHO2018;"),
        ("<!-- source: WHO2018 -->\n", "", "section 'First' names no sources"),
        ("## Second", "## First", "two sections are named 'First'"),
        ("id: en-good\n", "", "missing or invalid"),
        ("sources:", "sources: [", "cannot be read"),
    ],
)  # fmt: skip
def test_the_checker_names_what_is_wrong(tmp_path, old, new, complaint):
    write(tmp_path, {"en/good.md": GOOD})
    assert check_collection(tmp_path) == []
    write(tmp_path, {"en/good.md": GOOD.replace(old, new)})
    assert any(complaint in problem for problem in check_collection(tmp_path))


def test_documents_about_newborns_say_so(documents):
    assert {one.patient for one in documents if one.topic == "newborn"} == {"baby"}


def test_the_checker_names_a_source_that_no_section_uses(tmp_path):
    write(tmp_path, {"en/good.md": GOOD.replace("; differs_from: NICE2023", "").replace(", NICE2023", "")})
    assert [problem.partition(": ")[2] for problem in check_collection(tmp_path)] == [
        "no section names source 'NICE2023'"
    ]


def test_the_checker_finds_repeated_paragraphs_ids_and_wrong_lengths(tmp_path):
    short = GOOD.replace(WORDS, "Short.")
    write(tmp_path, {"en/good.md": GOOD, "en/twin.md": GOOD, "en/short.md": short})
    problems = "\n".join(check_collection(tmp_path))
    assert "is also used by" in problems
    assert "repeats a paragraph from" in problems
    assert "words, not 400 to 900" in problems


def test_an_empty_or_missing_collection_is_an_error(tmp_path):
    assert check_collection(tmp_path) == [f"{tmp_path}: no documents"]
    with pytest.raises(DataError, match="There are no documents"):
        read_collection(tmp_path / "nowhere")


def test_the_whole_collection_is_in_order_and_large_enough(lab):
    counts, problems = check(ROOT / "data", lab.engines.embedder, enricher_of(lab))
    assert problems == []
    assert counts["documents"]["en"] >= 150
    assert counts["documents"]["es"] >= 60
    assert counts["words"] >= 140_000
    assert counts["signs"].total() >= 2_000
    assert sum(counts["questions"].values()) >= 600
    assert counts["questions"]["es"] >= 230
    assert min(counts["kinds"][kind] for kind in KINDS) >= 40
    assert counts["kinds"]["emergency"] >= 120
    assert counts["levels"]["same_day"] >= 30
    assert counts["concepts"] >= 500
    assert counts["answers"]["dev"] >= 80
    assert counts["gloss"]["entries"] >= 12_000


def test_an_owner_counts_the_documents_and_their_questions(rag, documents):
    ran = rag("index", "--check", "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert told["problems"] == []
    assert sum(told["counts"]["documents"].values()) == len(documents)
    rows = [
        len(path.read_text(encoding="utf-8").splitlines()) - 1 for path in ASKED.glob("*.tsv") if path.name != OUTSIDE
    ]
    assert sum(told["counts"]["asked"].values()) == sum(rows)


def test_an_owner_is_told_which_questions_to_read_again(tmp_path, lab):
    (tmp_path / "corpus" / "en").mkdir(parents=True)
    path = tmp_path / "corpus" / "en" / "epidural.md"
    text = (COLLECTION / "en" / "epidural.md").read_text(encoding="utf-8")
    first, second, rest = text.split("\n## ", 2)
    path.write_text("\n## ".join([first, f"{second.rstrip()} It rained.\n", rest]), encoding="utf-8")
    (tmp_path / "asked").mkdir()
    shutil.copy(ASKED / "en-epidural.tsv", tmp_path / "asked")
    with (tmp_path / "asked" / "en-epidural.tsv").open("a", encoding="utf-8") as file:
        file.write("en-epidural:99:0\ten\tWhat is it?\n")
    counts, problems = builtin.check(tmp_path, lab.engines.embedder)
    assert (counts["documents"], counts["asked"]["es"] > 0) == ({"en": 1}, True)
    assert len(problems) == 2, problems
    assert "the text has changed" in problems[0]
    assert problems[1] == "asked: en-epidural:99:0: there is no such section"


def test_more_than_a_third_of_the_emergency_questions_are_look_alikes():
    questions = [q for code in ("en", "es") for q in read_questions(ROOT / "data" / "questions" / code)]
    levels = Counter(question.level for question in questions if question.kind == "emergency")
    assert levels["routine"] * 3 > levels.total()
    assert levels["same_day"] >= 20


def test_every_kind_has_thirty_test_questions_and_eight_to_tune_on():
    for split, least in (("test", 30), ("dev", 8)):
        kinds = Counter(question.kind for question in read_builtin(ROOT / "data", split).questions)
        assert {kind: kinds[kind] for kind in KINDS if kinds[kind] < least} == {}


def labelled(folder: Path, changes: dict[str, object]) -> Path:
    """Two judged questions that are twins, the Spanish one with its labels changed."""
    for language, split in (("en", "dev"), ("es", changes.pop("split", "dev"))):
        labels: dict[str, object] = {"language": language, "kind": "lay", "level": "same_day"}
        labels |= {"signs": ["itching"], "flags": [], "twin": "en-001"}
        if language == "es":
            labels |= {"region": "Andes", **changes}
        (folder / language / "qrels").mkdir(parents=True)
        row = {"_id": f"{language}-001", "text": "?", "metadata": labels}
        (folder / language / "queries.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        for one in ("dev", "test"):
            body = f"{language}-001\ten-itching\t1\n" if one == split else ""
            path = folder / language / "qrels" / f"{one}.tsv"
            path.write_text("query-id\tcorpus-id\tscore\n" + body, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"signs": []}, "signs [] do not fit the level 'same_day'"),
        ({"level": "routine"}, "do not fit the level 'routine'"),
        ({"flags": ["danger"]}, "flags ['danger'] are not among self_harm, violence"),
        ({"region": "Paris"}, "region 'Paris'"),
        ({"twin": "es-001"}, "not in two languages"),
        ({"split": "test"}, "en-001, es-001: in both splits"),
    ],
)
def test_a_label_or_a_twin_that_does_not_fit_is_a_problem(tmp_path, changes, complaint):
    assert any(complaint in problem for problem in label_problems(labelled(tmp_path, changes)))


def test_questions_with_fitting_labels_are_no_problem(tmp_path):
    assert list(label_problems(labelled(tmp_path, {}))) == []


def test_shipped_vectors_equal_freshly_computed_ones(lab, documents):
    """Of a few documents; that every text of the collection has one, and no other, its check tells."""
    embedder = lab.engines.embedder
    documents = documents[::40]
    plain = chunked(documents, embedder)
    files = vector_texts(ROOT / "data", documents, plain, embedder, enricher_of(lab))
    shipped = read_shipped(ROOT / "data" / "vectors" / embedder.weights)
    passages, others = (
        {
            read: text
            for path, texts in files.items()
            if path.name.endswith(PASSAGES) is of
            for read, text in texts.items()
        }
        for of in (True, False)
    )
    for texts, most in ((passages, 1e-4), (others, 2e-3)):  # in 16 and in 8 bits
        chosen = random.Random(0).sample(sorted(texts), 30)
        held = np.array([np.frombuffer(shipped[text_key(text)], np.float32) for text in chosen])
        written, languages = zip(*(texts[text] for text in chosen), strict=True)
        fresh, _ = embedder.embed(written, "passage", languages)
        assert np.abs(held - fresh).max() <= most
    assert len(passages) == 2 * len(plain)


def test_the_built_in_index_needed_no_embedding(lab, real_home):
    cache = real_home / "vectors" / f"{lab.engines.embedder.weights}.sqlite"
    with sqlite3.connect(cache) as database:
        assert database.execute("SELECT count(*) FROM vectors").fetchone() == (0,)


def test_a_changed_document_makes_the_vectors_stale_until_they_are_rebuilt(tmp_path, lab):
    shutil.copytree(ROOT / "data", tmp_path / "data")
    data, embedder = tmp_path / "data", lab.engines.embedder
    for path in (data / "corpus").rglob("*.md"):
        if path.stem != "epidural":
            path.unlink()
    path = data / "corpus" / "en" / "epidural.md"
    path.write_text(path.read_text(encoding="utf-8").replace("epidural", "Epidural", 3), encoding="utf-8")
    _, problems = check(data, embedder, enricher_of(lab))
    assert any("stale" in problem and "make vectors" in problem for problem in problems)
    assert any("does not exist" in problem for problem in problems)  # judgements of the documents removed
    assert write_vectors(data, embedder, enricher_of(lab)) > 0
    assert not any("stale" in problem for problem in check(data, embedder, enricher_of(lab))[1])


# of one question each: what is replaced, by what, the complaint
NOT_OURS = [
    ('"level": "routine"', '"level": "soon"', "the metadata need language, kind and level"),
    ('"level": "routine", ', "", "the metadata need language, kind and level"),
    ('"kind": "clear"', '"kind": "easy"', "kind 'easy' is not one of clear, lay"),
    ('"language": "en"', '"language": "es"', "language 'es'"),
]


def test_questions_whose_metadata_are_not_ours_are_problems(tmp_path, lab):
    shutil.copytree(ROOT / "data" / "questions", tmp_path / "questions")
    shutil.copy(ROOT / "data" / "thesaurus.toml", tmp_path)
    shutil.copytree(ROOT / "data" / "gloss", tmp_path / "gloss")
    (tmp_path / "corpus").mkdir()
    shutil.copy(COLLECTION / "en" / "epidural.md", tmp_path / "corpus")
    path = tmp_path / "questions" / "en" / "queries.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    complaints: dict[str, str] = {}
    for old, new, complaint in NOT_OURS:
        number = next(
            number for number, line in enumerate(lines) if old in line and json.loads(line)["_id"] not in complaints
        )
        complaints[json.loads(lines[number])["_id"]] = complaint
        lines[number] = lines[number].replace(old, new, 1)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _, problems = check(tmp_path, lab.engines.embedder, enricher_of(lab))
    told = {name: next((one for one in problems if f"{name}: " in one), "") for name in complaints}
    assert len(told) == len(NOT_OURS)
    assert {name: told[name] for name in told if complaints[name] not in told[name]} == {}


def test_the_collection_is_exported_as_beir_folders(tmp_path, lab, documents, rag):
    ran = rag("index", "--export", str(tmp_path))
    assert ran.code == 0, ran.err
    folders = [f"{level}/{name}" for level in ("documents", "passages") for name in ("en", "es", "all")]
    assert sorted(folder.relative_to(tmp_path).as_posix() for folder in tmp_path.glob("*/*/")) == sorted(folders)
    assert all(folder in "".join(ran.out.split()) for folder in folders)
    everything = tmp_path / "documents" / "all"
    rows = (everything / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(documents)
    judged = read_qrels(everything / "qrels" / "dev.tsv") | read_qrels(everything / "qrels" / "test.tsv")
    assert set(judged) == {question.id for question in read_questions(everything)}
    keys = {passage_key(identity) for identity in lab.index.passages}
    passages = read_qrels(tmp_path / "passages" / "es" / "qrels" / "test.tsv")
    assert {key for grades in passages.values() for key in grades} <= keys
    assert (tmp_path / "NOTICE.txt").read_text(encoding="utf-8").strip() == NOTICE


@for_each(
    ("change", "complaint"),
    [
        ({"id": "b"}, "is used 2 times"),
        ({"en": []}, "needs lists"),
        ({"abbr": None}, "needs lists abbr"),
        ({"related": ["nowhere"]}, "does not exist"),
        ({"related": ["a"]}, "does not exist"),
        ({"es": ["beta"]}, "is in both"),
        ({"class_of": ["nowhere"]}, "does not exist"),
        ({"abbr": ["XX"]}, "'XX' is in both the ambiguous and a"),
    ],
)
def test_the_thesaurus_checker_names_what_is_wrong(change, complaint):
    lists = {"lay_en": [], "lay_es": [], "abbr": [], "narrower": [], "related": []}
    first = {"id": "a", "en": ["alpha"], "es": ["alfa"], **lists}
    second = {"id": "b", "en": ["beta"], "es": ["beta"], **lists, "related": ["a"]}
    ambiguous = [{"abbr": "XX", "readings": [{"concept": "a", "cues": ["x"]}, {"concept": "", "cues": ["y"]}]}]
    assert list(thesaurus_problems([first, second], ambiguous)) == []
    assert any(complaint in problem for problem in thesaurus_problems([{**first, **change}, second], ambiguous))


@pytest.mark.parametrize(
    ("readings", "complaint"),
    [
        ([{"concept": "nowhere", "cues": ["x"]}, {"concept": "", "cues": ["y"]}], "'nowhere' does not exist"),
        ([{"concept": "", "cues": ["x"]}], "needs two readings"),
        ([{"concept": "", "cues": ["x"]}, {"concept": "", "cues": []}], "with cues"),
    ],
)
def test_the_checker_names_what_is_wrong_with_a_reading(readings, complaint):
    found = list(thesaurus_problems([], [{"abbr": "XX", "readings": readings}]))
    assert any(complaint in problem for problem in found)
