import random
from pathlib import Path

import pytest
import pytrec_eval
from hypothesis import example, given
from hypothesis import strategies as st

from rag_core.documents.benchmark import trec_lines
from rag_core.evaluation.run_folder import read_run
from rag_core.values.errors import DataError, InputError
from rag_core.values.owner_only import write_atomically

RUN = "q1 Q0 d1 1 2.5 other\nq1 Q0 d2 2 1.5 other\nq2 Q0 d1 1 0.5 other\n"
words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=5)
words = words.filter(lambda text: not text.startswith("\ufeff"))  # a byte order mark is no part of an id


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path, known: set[str] | None = None) -> DataError:
    with pytest.raises(DataError) as caught:
        read_run(path, known)
    assert caught.value.next_step
    return caught.value


def trec_eval_order(scores: dict[str, float]) -> list[str]:
    """The order in which trec_eval takes the documents: 1 / rank is the reciprocal rank of each alone."""
    qrels = {document: {document: 1} for document in scores}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"})
    ranks = evaluator.evaluate(dict.fromkeys(scores, scores))
    return sorted(scores, key=lambda document: -ranks[document]["recip_rank"])


class TestWriting:
    def test_the_lines_are_those_of_the_format(self, tmp_path):
        write_atomically(tmp_path / "a.trec", trec_lines({"q1": ["b", "a"], "q2": ["c"]}, "bm25"))
        assert (tmp_path / "a.trec").read_text(encoding="utf-8") == (
            "q1 Q0 b 1 2 bm25\nq1 Q0 a 2 1 bm25\nq2 Q0 c 1 1 bm25\n"
        )

    def test_trec_eval_takes_the_documents_in_our_order(self, tmp_path):
        ranked = [f"d{number}" for number in range(300)]
        random.Random(0).shuffle(ranked)
        write_atomically(tmp_path / "a.trec", trec_lines({"q": ranked}, "mmr"))
        with (tmp_path / "a.trec").open(encoding="utf-8") as file:
            assert trec_eval_order(pytrec_eval.parse_run(file)["q"]) == ranked

    @given(st.dictionaries(words, st.lists(words, unique=True, min_size=1), min_size=1))
    def test_what_is_written_is_read_back(self, tmp_path_factory, ranked):
        path = tmp_path_factory.mktemp("run") / "a.trec"
        write_atomically(path, trec_lines(ranked, "any"))
        found = read_run(path)
        assert found == ranked
        assert list(found) == list(ranked)

    def test_a_question_without_a_document_leaves_no_line(self, tmp_path):
        write_atomically(tmp_path / "a.trec", trec_lines({"q1": [], "q2": ["d"]}, "any"))
        assert read_run(tmp_path / "a.trec") == {"q2": ["d"]}

    @pytest.mark.parametrize("bad", ["two words", "tab\there", "line\n", "a\u00a0b", "a\u2028b", "", " "])
    def test_white_space_in_an_id_or_the_tag_is_refused_and_the_old_file_stays(self, tmp_path, bad):
        path = write(tmp_path / "a.trec", RUN)
        for ranked, tag in [({"q": ["d", bad]}, "any"), ({bad: ["d"]}, "any"), ({"q": ["d"]}, bad)]:
            with pytest.raises(InputError) as caught:
                write_atomically(path, trec_lines(ranked, tag))
            assert repr(bad) in f"{caught.value.args[0]}" or repr(" ".join(bad.split())) in caught.value.message
        assert path.read_text(encoding="utf-8") == RUN
        assert list(tmp_path.iterdir()) == [path]


class TestReading:
    @given(
        st.dictionaries(
            st.sampled_from(["q1", "q2", "q3"]),
            st.dictionaries(
                st.from_regex(r"[A-Za-z0-9é中._-]{1,6}", fullmatch=True),
                st.sampled_from([1.0, 1.00000001, 1.0000001, 0.5, -2.0, 1e-40, 0.0, 16777217.0, 16777216.0]),
                min_size=1,
            ),
            min_size=1,
        ),
        st.randoms(use_true_random=False),
    )
    @example({"q1": {"a": 1.0, "b": 1.00000001}}, random.Random(0))  # one number as a 32-bit float
    def test_any_run_is_read_in_the_order_of_trec_eval(self, tmp_path_factory, scores, generator):
        lines = [f"{q}\tQ0  {d} 0 {score!r} x\n" for q, documents in scores.items() for d, score in documents.items()]
        generator.shuffle(lines)
        path = write(tmp_path_factory.mktemp("run") / "a.trec", "".join(lines))
        with path.open(encoding="utf-8") as file:
            parsed = pytrec_eval.parse_run(file)
        assert read_run(path) == {question: trec_eval_order(documents) for question, documents in parsed.items()}

    @pytest.mark.parametrize(
        "content",
        [b"\xef\xbb\xbf" + RUN.encode(), RUN.replace("\n", "\r\n"), RUN.replace(" ", "\t"), f"\n{RUN}\n \n"],
    )
    def test_line_ends_byte_order_marks_tabs_and_blank_lines_change_nothing(self, tmp_path, content):
        assert read_run(write(tmp_path / "a.trec", content)) == {"q1": ["d1", "d2"], "q2": ["d1"]}

    def test_only_ascii_white_space_parts_columns(self, tmp_path):
        run = "q Q0 a\u00a0b\u2028c 1 1 x\n"
        assert read_run(write(tmp_path / "a.trec", run)) == {"q": ["a\u00a0b\u2028c"]}

    def test_questions_that_are_not_judged_are_kept_for_the_caller(self, tmp_path):
        assert read_run(write(tmp_path / "a.trec", RUN), {"q2", "q9"}).keys() == {"q1", "q2"}

    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ("q1 Q0 d3 3 1.0", "the number of columns is 5, not 6"),
            ("q1 Q0 d3 3 1.0 my tag", "the number of columns is 7, not 6"),
            ("q1 0 d3 1", "the number of columns is 4, not 6"),
            ("q1 Q0 d3 3 high x", "the score 'high' is not a finite number"),
            ("q1 Q0 d3 3 nan x", "the score 'nan' is not a finite number"),
            ("q1 Q0 d3 3 -inf x", "the score '-inf' is not a finite number"),
            ("q1 Q0 d3 3 1e999 x", "the score '1e999' is not a finite number"),
            ("q1 Q0 d2 3 1.0 x", "document 'd2' is ranked twice for question 'q1', first on line 2"),
            ("q1 Q0 d2 2 1.5 other", "document 'd2' is ranked twice for question 'q1', first on line 2"),
        ],
    )
    def test_a_line_is_malformed(self, tmp_path, row, words):
        error = refusal(write(tmp_path / "a.trec", f"{RUN}\n{row}\nq3 Q0 d1 1 1 x\n"))
        assert error.message.startswith(f"{tmp_path / 'a.trec'}, line 5: {words}")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            *((empty, " is empty: it ranks no documents.") for empty in ("", "\n\n", b"\xef\xbb\xbf")),
            (RUN.replace("q", "x"), " ranks documents for 2 questions, none of them judged; the first is 'x1'."),
            (RUN.encode() + "q é x 1 1 x\n".encode("latin-1"), ", line 4: not UTF-8."),
        ],
    )  # fmt: skip
    def test_an_empty_file_one_of_other_questions_and_one_that_is_no_utf_8_are_refused(self, tmp_path, content, words):
        error = refusal(write(tmp_path / "a.trec", content), {"q1", "q2"})
        assert error.message == f"{tmp_path / 'a.trec'}{words}"

    def test_a_file_that_is_not_there_is_refused(self, tmp_path):
        assert refusal(tmp_path / "a.trec").message.startswith(f"{tmp_path / 'a.trec'} cannot be read: ")
