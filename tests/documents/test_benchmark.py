"""Judged sets: what a BEIR folder gives, and what is said about one that is not whole."""

import csv
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.documents.benchmark import (
    Benchmark,
    Question,
    read_beir,
    read_builtin,
    read_qrels,
    read_questions,
)
from rag_core.evaluation import parse_metric, read_judged, splits_of
from rag_core.values.errors import DataError
from rag_core.values.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
BOM = b"\xef\xbb\xbf"

CORPUS = """{"_id": "d1", "title": "Anti-D", "text": "Anti-D is given at 28 weeks."}
{"_id": "d2", "title": "Only a title", "text": ""}
{"_id": "d3", "text": "The baby is weighed."}
"""
QUERIES = """{"_id": "q1", "text": "When is anti-D given?", "metadata": {"url": "https://example.org"}}
{"_id": "q2", "text": "¿Cuándo se pesa al recién nacido?"}
{"_id": "q3", "text": "Who won the cup?"}
{"_id": "q4", "text": "Not judged in this split?"}
"""
QRELS = "query-id\tcorpus-id\tscore\nq2\td3\t2\nq1\td1\t1\nq1\td2\t0\nq3\td2\t-1\n"


def beir(folder: Path, **changed: str | bytes | None) -> Path:
    """A whole BEIR folder, with the content of `corpus`, `queries` or `qrels` changed; None: no such file."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    names = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels/test.tsv"}
    for part, content in {"corpus": CORPUS, "queries": QUERIES, "qrels": QRELS, **changed}.items():
        if content is not None:
            data = content.encode() if isinstance(content, str) else content
            (folder / names[part]).write_bytes(data)
    return folder


def refusal(folder: Path, split: str = "test") -> DataError:
    with pytest.raises(DataError) as caught:
        read_beir(folder, split)
    assert caught.value.next_step
    return caught.value


class TestAWholeFolder:
    def test_is_read_with_the_questions_of_the_split_in_file_order(self, tmp_path):
        judged = read_beir(beir(tmp_path / "mine"), "test")
        assert (judged.name, judged.split) == ("mine", "test")
        assert judged.questions == (
            Question("q1", "When is anti-D given?", "en", "", ""),
            Question("q2", "¿Cuándo se pesa al recién nacido?", "es", "", ""),
            Question("q3", "Who won the cup?", "en", "", ""),
        )
        assert judged.qrels == {"q2": {"d3": 2}, "q1": {"d1": 1, "d2": 0}, "q3": {"d2": -1}}

    def test_only_a_grade_above_0_makes_a_question_measured(self, tmp_path):
        judged = read_beir(beir(tmp_path), "test")
        assert [question.id for question in judged.measured] == ["q1", "q2"]
        assert [question.id for question in judged.unanswerable] == ["q3"]

    def test_is_named_after_the_folder_however_it_is_written(self, tmp_path, monkeypatch):
        monkeypatch.chdir(beir(tmp_path / "mine"))
        assert read_beir(Path(), "test").name == "mine"

    def test_our_own_metadata_are_read(self, tmp_path):
        row = {
            "_id": "q1",
            "text": "Help",
            "metadata": {"language": "es", "kind": "emergency", "level": "same_day", "twin": "q0"},
        }
        beir(tmp_path, queries=json.dumps(row))
        assert read_questions(tmp_path) == [Question("q1", "Help", "es", "emergency", "same_day", "q0")]

    @pytest.mark.parametrize(
        "metadata",
        [
            None,
            "text",
            [],
        ],
    )
    def test_other_metadata_count_as_none(self, tmp_path, metadata):
        row = {"_id": "q1", "text": "When is anti-D given?", "metadata": metadata}
        beir(tmp_path, queries=json.dumps(row))
        assert read_questions(tmp_path) == [Question("q1", "When is anti-D given?", "en", "", "")]

    def test_an_integer_id_is_its_text(self, tmp_path):
        judged = read_beir(
            beir(
                tmp_path,
                corpus='{"_id": 7, "text": "a"}',
                queries='{"_id": 10, "text": "What?"}',
                qrels="query-id\tcorpus-id\tscore\n10\t7\t1\n",
            ),
            "test",
        )
        assert judged.questions[0].id == "10"
        assert judged.qrels == {"10": {"7": 1}}

    def test_line_ends_byte_order_marks_and_blank_lines_change_nothing(self, tmp_path):
        plain = read_beir(beir(tmp_path / "a" / "set"), "test")
        changed = {
            part: BOM + text.replace("\n", "\r\n").encode() + b"\r\n \r\n\n"
            for part, text in {"corpus": CORPUS, "queries": QUERIES, "qrels": QRELS}.items()
        }
        other = read_beir(beir(tmp_path / "b" / "set", **changed), "test")
        assert (other.name, other.questions, other.qrels) == (plain.name, plain.questions, plain.qrels)

    def test_spaces_around_a_grade_are_nothing(self, tmp_path):
        folder = beir(tmp_path, qrels=QRELS.replace("d3\t2\n", "d3\t 2 \n"))
        assert read_beir(folder, "test").qrels["q2"] == {"d3": 2}

    def test_the_checksum_is_that_of_the_three_files_one_after_the_other(self, tmp_path):
        expected = hashlib.sha256((QUERIES + QRELS + CORPUS).encode()).hexdigest()[:16]
        assert read_beir(beir(tmp_path), "test").checksum == expected

    def test_judgements_of_passages_and_of_other_splits_are_left_alone(self, tmp_path):
        beir(tmp_path)
        (tmp_path / "qrels" / "dev.tsv").write_text("nonsense", encoding="utf-8")
        assert len(read_beir(tmp_path, "test").questions) == 3


class TestWhatIsNotAsItShouldBe:
    """A set is measured all the same, as its authors measure it, and says what was met and how often."""

    def read(self, folder: Path, rows: str, **changed: str) -> tuple[Benchmark, str]:
        judged = read_beir(beir(folder, qrels=QRELS + rows, **changed), "test")
        return judged, judged.judged_by.removeprefix("Judged by the set's authors; see its documentation. ")

    def test_an_absent_document_stays_judged_and_can_only_be_missed(self, tmp_path):
        judged, said = self.read(tmp_path, "q1\tgone\t1\nq2\tgone\t2\nq2\tlost\t0\n")
        assert judged.qrels["q1"] == {"d1": 1, "d2": 0, "gone": 1}
        assert said == "Judged documents that corpus.jsonl does not have: 2; they count as not found."
        assert parse_metric("recall@10")(["d1"], judged.qrels["q1"]) == 1 / 2

    def test_an_absent_question_is_left_out(self, tmp_path):
        judged, said = self.read(tmp_path, "q8\td1\t1\nq9\td1\t1\nq9\td2\t1\n")
        assert judged.qrels.keys() == {"q1", "q2", "q3"}
        assert said == "Judged questions that queries.jsonl does not have: 2; they are left out."

    def test_of_judgements_of_one_pair_the_last_counts(self, tmp_path):
        judged, said = self.read(tmp_path, "q1\td1\t1\nq2\td3\t0\n")
        assert judged.qrels["q1"]["d1"] == 1
        assert judged.qrels["q2"]["d3"] == 0
        assert said == "Judgements that repeat another: 2; the last one counts."

    def test_a_grade_may_have_a_decimal_point(self, tmp_path):
        judged, said = self.read(tmp_path, "q2\td1\t2.0\nq2\td2\t-1.\nq3\td1\t 1.00 \n")
        assert judged.qrels["q2"] == {"d3": 2, "d1": 2, "d2": -1}
        assert judged.qrels["q3"]["d1"] == 1
        assert said == "Grades written with a decimal point: 3; they are whole numbers."

    def test_a_question_that_is_a_document_is_told_apart_from_one_judged_for_itself(self, tmp_path):
        corpus = CORPUS + '{"_id": "q1", "text": "a"}\n{"_id": "q2", "text": "b"}\n{"_id": "q4", "text": "c"}\n'
        judged, said = self.read(tmp_path, "q2\tq2\t1\n", corpus=corpus)
        assert judged.also_documents == {"q1"}
        assert said == "Questions that are documents too: 1; each is left out of what it finds."

    def test_a_set_of_absent_questions_alone_measures_nothing(self, tmp_path):
        rows = "query-id\tcorpus-id\tscore\nq8\td1\t1\n"
        assert "judges no document relevant" in refusal(beir(tmp_path, qrels=rows)).message


ids = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=6).filter(str.strip)


@given(st.dictionaries(ids, st.dictionaries(ids, st.integers(-9, 9), min_size=1), min_size=1))
def test_judgements_written_by_csv_are_read_back(tmp_path_factory, qrels):
    """BEIR's own loader is csv.reader: ids with quotes and any letters come back as they were."""
    path = tmp_path_factory.mktemp("qrels") / "test.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["query-id", "corpus-id", "score"])
        writer.writerows((q, d, grade) for q, grades in qrels.items() for d, grade in grades.items())
    assert read_qrels(path) == qrels


class TestAFolderThatIsNotWhole:
    def test_there_is_none(self, tmp_path):
        assert refusal(tmp_path / "nowhere").message == f"There is no folder {tmp_path / 'nowhere'}."

    @pytest.mark.parametrize(("missing", "name"), [("corpus", "corpus.jsonl"), ("queries", "queries.jsonl")])
    def test_a_file_is_missing(self, tmp_path, missing, name):
        error = refusal(beir(tmp_path, **{missing: None}))
        assert error.message.startswith(f"{tmp_path / name} cannot be read")

    def test_the_split_is_missing_and_the_others_are_named(self, tmp_path):
        beir(tmp_path)
        (tmp_path / "qrels" / "dev.tsv").write_text(QRELS, encoding="utf-8")
        (tmp_path / "elsewhere.tsv").write_text(QRELS, encoding="utf-8")
        for split in ("train", "../elsewhere", f"{tmp_path}/elsewhere"):
            error = refusal(tmp_path, split)
            assert error.message == f"There are no questions of a split {split!r} here."
            assert error.next_step == "The splits here: dev, test."

    def test_a_name_longer_than_the_disk_allows_is_missing_too(self, tmp_path):
        assert refusal(beir(tmp_path), "x" * 3000).next_step == "The splits here: test."
        assert refusal(tmp_path / ("x" * 3000)).next_step == "Check the path."

    def test_there_is_no_split(self, tmp_path):
        assert "has no judgements" in refusal(beir(tmp_path, qrels=None)).next_step

    @pytest.mark.parametrize(
        ("content", "line", "words"),
        [
            ('{"_id": "q1", "text": "a"}\n{broken', 2, "not JSON"),
            ('{"_id": "q1", "text": "a"}\n\n["q2", "b"]', 3, "not a JSON object"),
            ('{"text": "a"}', 1, "no '_id' field"),
            ('{"_id": "q1"}', 1, "no 'text' field"),
            ('{"_id": "", "text": "a"}', 1, "_id is '', which is not an id"),
            ('{"_id": " ", "text": "a"}', 1, "_id is ' ', which is not an id"),
            ('{"_id": null, "text": "a"}', 1, "_id is None, which is not an id"),
            ('{"_id": true, "text": "a"}', 1, "_id is True, which is not an id"),
            ('{"_id": 1.5, "text": "a"}', 1, "_id is 1.5, which is not an id"),
            ('{"_id": "q1", "text": null}', 1, "text is None, which is not text"),
            ('{"_id": "q1", "text": ["a"]}', 1, "text is ['a'], which is not text"),
            ('{"_id": "q1", "text": "a"}\n\n{"_id": "q1", "text": "b"}', 3, "id 'q1' is repeated, first on line 1"),
            ('{"_id": "1", "text": "a"}\n{"_id": 1, "text": "b"}', 2, "id '1' is repeated, first on line 1"),
            ('{"_id": "q1", "text": "a\u2028b\x85c"}\n{', 2, "not JSON"),
            (r'{"_id": "q1", "text": "a \ud83d\ude00"}' + "\n" + r'{"_id": "q2", "text": "a \ud83d"}', 2, r"'\ud83d' is half a"),
            (r'{"_id": "q1\ude00", "text": "a"}', 1, r"'\ude00' is half a character"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("part", ["corpus", "queries"])
    def test_a_line_of_documents_or_questions_is_malformed(self, tmp_path, part, content, line, words):
        error = refusal(beir(tmp_path, **{part: content}))
        assert error.message.startswith(f"{tmp_path / part}.jsonl, line {line}: {words}")

    @pytest.mark.parametrize("text", ["", "  ", "\\n"])
    def test_a_question_has_no_text(self, tmp_path, text):
        queries = QUERIES + f'{{"_id": "q5", "text": "{text}"}}\n'
        error = refusal(beir(tmp_path, queries=queries))
        assert error.message == f"{tmp_path / 'queries.jsonl'}, line 5: question 'q5' has no text."

    @pytest.mark.parametrize(
        ("header", "words"),
        [
            ("", "the header is ''"),
            ("query-id,corpus-id,score", "the header is 'query-id,corpus-id,score'"),
            ("query-id corpus-id score", "the header is 'query-id corpus-id score'"),
            ("qid\tdocid\trel", "the header is 'qid\\tdocid\\trel'"),
            ("query-id\tcorpus-id\tscore\tnote", "the header is 'query-id\\tcorpus-id\\tscore\\tnote'"),
            ("q2 0 d3 2", "the header is 'q2 0 d3 2'"),  # as TREC has them
        ],
    )  # fmt: skip
    def test_the_header_of_the_judgements_is_wrong(self, tmp_path, header, words):
        error = refusal(beir(tmp_path, qrels=QRELS.replace("query-id\tcorpus-id\tscore", header)))
        assert error.message.startswith(f"{tmp_path / 'qrels' / 'test.tsv'}, line 1: {words}")
        assert "query-id, corpus-id, score" in error.next_step

    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ("q1\td3", "the number of columns is 2, not 3"),
            ("q1\t0\td3\t1", "the number of columns is 4, not 3"),
            ("q1\td3\t0.5", "the score '0.5' is not a whole number"),
            ("q1\td3\thigh", "the score 'high' is not a whole number"),
        ],
    )
    def test_a_judgement_is_malformed(self, tmp_path, row, words):
        error = refusal(beir(tmp_path, qrels=f"{QRELS}\n{row}\nq2\td1\t0\n"))
        assert error.message.startswith(f"{tmp_path / 'qrels' / 'test.tsv'}, line 7: {words}")

    @pytest.mark.parametrize(
        "qrels", ["query-id\tcorpus-id\tscore\n", QRELS.replace("\t2", "\t0").replace("\t1\n", "\t0\n")]
    )
    def test_nothing_is_judged_relevant(self, tmp_path, qrels):
        error = refusal(beir(tmp_path, qrels=qrels))
        assert error.message.startswith(f"{tmp_path / 'qrels' / 'test.tsv'} judges no document relevant")

    @pytest.mark.parametrize("part", ["corpus", "queries", "qrels"])
    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
    def test_a_file_is_not_utf_8(self, tmp_path, part, encoding):
        text = {"corpus": CORPUS, "queries": QUERIES, "qrels": QRELS}[part] + "é"
        error = refusal(beir(tmp_path, **{part: text.encode(encoding)}))
        name = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels/test.tsv"}[part]
        assert error.message.startswith(f"{tmp_path / name} cannot be read: it is not UTF-8.")
        assert "UTF-8" in error.next_step

    def test_a_column_is_longer_than_any_id(self, tmp_path):
        error = refusal(beir(tmp_path, qrels=QRELS + "x" * 200_000))
        assert "test.tsv cannot be read: field larger" in error.message


@pytest.fixture(scope="module")
def splits() -> dict[str, Benchmark]:
    return {split: read_builtin(ROOT / "data", split) for split in ("dev", "test")}


class TestTheBuiltInQuestions:
    @pytest.mark.parametrize("split", ["dev", "test"])
    def test_every_judged_question_of_both_languages_is_there_once(self, splits, split):
        expected = set()
        for language in ("en", "es"):
            text = (ROOT / "data" / "questions" / language / "qrels" / f"{split}.tsv").read_text("utf-8")
            expected |= {line.split("\t")[0] for line in text.splitlines()[1:]}
        judged = splits[split]
        assert (judged.name, judged.split) == ("builtin", split)
        assert [question.id for question in judged.questions] == sorted(expected)
        assert judged.qrels.keys() == expected

    @pytest.mark.parametrize("split", ["dev", "test"])
    def test_those_outside_the_collection_are_the_unanswerable_ones(self, splits, split):
        judged = splits[split]
        assert {question.kind for question in judged.unanswerable} == {"outside"}
        assert "outside" not in {question.kind for question in judged.measured}
        assert len(judged.measured) + len(judged.unanswerable) == len(judged.questions)

    def test_an_unknown_split_is_refused_with_the_known_ones(self):
        with pytest.raises(DataError, match=r"train.*The splits here: dev, test\."):
            read_builtin(ROOT / "data", "train")


def test_a_set_says_who_judged(tmp_path, splits):
    folder = beir(tmp_path / "set")
    assert read_beir(folder, "test").judged_by == "Judged by the set's authors; see its documentation."
    (folder / "judgements.toml").write_text('judged_by = """Judged by two\nmidwives."""')
    assert read_beir(folder, "test").judged_by == "Judged by two midwives."
    assert "language models" in splits["test"].judged_by
    for broken, says in (("judged_by = 3", "does not say judged_by"), ("judged_by", "cannot be read")):
        (folder / "judgements.toml").write_text(broken)
        with pytest.raises(DataError, match=says):
            read_beir(folder, "test")


def test_a_folder_without_access_is_an_error_in_a_sentence(tmp_path, monkeypatch):
    def refuse(path: Path) -> bool:  # as the system does, though not to root
        raise PermissionError(13, "Permission denied", str(path))

    settings = Settings()
    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(DataError, match="The questions cannot be read: Permission denied"):
        read_judged(str(beir(tmp_path / "mine")), "test", settings)


def test_the_splits_that_can_be_read_are_offered(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set")
    (folder / "qrels" / "dev.tsv").write_text(QRELS, encoding="utf-8")
    (folder / "qrels" / "notes.txt").touch()
    assert splits_of(str(folder), Settings()) == ("dev", "test")
    assert splits_of("builtin", Settings()) == ("dev", "test")
    assert splits_of(str(tmp_path / "none"), Settings()) == ("test",)
