"""Exams: questions read, passages pooled, judged by several people at once, and measured as any BEIR folder."""

import csv
import io
import zipfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helpers.behaviours import Hang
from helpers.processes import killed_after
from helpers.provider_lab import provider_lab
from pydantic import SecretStr
from sqlalchemy import text

from rag_core.documents.benchmark import read_beir
from rag_core.evaluation import RunFolder, Workload, build_strategies, estimate, open_judged, unjudged
from rag_core.evaluation.metrics import parse_metric
from rag_core.evaluation.once import evaluate
from rag_core.evaluation.unjudged import Unjudged
from rag_core.lab.lab import Lab
from rag_core.runtime.run import Run
from rag_core.sessions.exam import store
from rag_core.sessions.exam.exam import Draft, Exam, Tick, read_drafts
from rag_core.sessions.exam.folder import as_zip, drop_written, export, for_measuring
from rag_core.sessions.exam.judgements import agreement
from rag_core.sessions.exam.pooling import left_to_pool, pool
from rag_core.sessions.exam.store import Exams
from rag_core.sessions.history import schema
from rag_core.sessions.panel.room import new_token
from rag_core.sessions.panel.store import Rooms
from rag_core.values.errors import ConfigError, DataError, InputError, PanelError, RagError
from rag_core.values.settings import Settings
from rag_core.values.types import Passage, text_key

CATS = Passage("a:0:1", "a", "Cats", "Cats purr when they are happy.")
DOGS = Passage("b:0:2", "b", "Dogs", "Dogs bark at strangers.")
FISH = Passage("f:0:3", "f", "Fish", "Fish never sleep with closed eyes.")
ASKED = [Draft("When do cats purr?"), Draft("Who barks?"), Draft("Do fish sleep?"), Draft("¿Quién ronronea?")]
JUDGE_ON = """
import sys
from pydantic import SecretStr
from rag_core.sessions.exam.store import Exams
from rag_core.sessions.panel.room import new_token
from rag_core.values.settings import Settings
from rag_core.values.types import text_key
exams = Exams.opened(Settings(database_url=SecretStr(sys.argv[1])))
while True:
    token = new_token()
    asked = exams.next(sys.argv[2], token)
    exams.tick(sys.argv[2], token, asked.number, text_key(asked.passages[0]), 2)
    print(token, asked.number, flush=True)
"""


@pytest.fixture
def exams(address: str) -> Exams:
    return Exams.opened(Settings(database_url=SecretStr(address)))


@pytest.fixture
def exam(exams: Exams) -> Exam:
    """Four questions with three passages each, a quarter of them for two people."""
    made = exams.make("animals", ASKED, title="Animals")
    for number in range(1, 5):
        exams.add_found(made.code, number, [CATS, DOGS, FISH, replace(CATS, id="x:0:1", doc_id="x")], {"bm25": "bm25"})
    return made


def judge(exams: Exams, code: str, token: str, grade: int = 2) -> list[int]:
    """Judge all that is offered, and return the questions."""
    judged = []
    while asked := exams.next(code, token):
        judged.append(asked.number)
        for passage in asked.passages:
            exams.tick(code, token, asked.number, text_key(passage), grade)
    return judged


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("When?\n\n  How long?  \nwhen?", ["When?", "How long?"]),
        ('id,question\n1,When?\n2,"How long, and why?"\n', ["When?", "How long, and why?"]),
        ("text\tnote\nWhen?\tx\n", ["When?"]),
        ("question;ward\n¿Cuándo?;3\n", ["¿Cuándo?"]),
        ('\ufeff{"_id": "1", "text": "When?"}\n{"_id": "2", "text": "How long?"}\n', ["When?", "How long?"]),
    ],
)
def test_questions_are_read_from_lines_tables_and_a_queries_file(written, read):
    assert [one.text for one in read_drafts(written)] == read


@pytest.mark.parametrize(
    ("written", "error", "said"),
    [
        ("  \n", InputError, "no questions"),
        ("When?\n" + "x" * 100_000, DataError, "Line 2"),
        ('{"_id": "1", "text": "When?"}\n{"_id": "2"}', DataError, "Line 2"),
        ("x" * 140_000, DataError, "Line 1"),  # longer than a field of a table may be
        ("question\n" + "x" * 140_000, DataError, "Line 2"),
        ("\n".join(f"Why {n}?" for n in range(501)), InputError, "501 questions"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_line(written, error, said):
    with pytest.raises(error, match=said):
        read_drafts(written)


def test_each_question_goes_to_one_person_and_its_share_to_two(exams, exam):
    first, second, third = new_token(), new_token(), new_token()
    assert [exam.judges(number) for number in range(1, 5)] == [1, 1, 1, 2]  # 0.25 of four is one
    asked = exams.next(exam.code, first)
    assert {one.doc_id for one in asked.passages} == {"a", "b", "f"} or {one.doc_id for one in asked.passages} == {
        "x",
        "b",
        "f",
    }
    assert exams.next(f" {exam.code[:2]}-{exam.code[2:].lower()}", first) == asked  # the same after a reload
    assert sorted(judge(exams, exam.code, first)) == [1, 2, 3, 4]
    assert judge(exams, exam.code, second, 1) == [4]
    assert judge(exams, exam.code, third) == []
    standing = exams.judgements(exam.code).standing
    assert (standing.complete, standing.judged, standing.cards, standing.people) == (4, 12, 12, 2)
    assert standing.disputed == 3
    assert {one.place for one in exams.judgements(exam.code).unsettled} == {
        (4, text_key(one)) for one in (CATS, DOGS, FISH)
    }


def test_a_question_that_somebody_opened_is_theirs_for_a_while(exams, exam, monkeypatch):
    first, second = new_token(), new_token()
    theirs = exams.next(exam.code, first)
    other = exams.next(exam.code, second)
    assert other.number != theirs.number
    monkeypatch.setattr(store, "LEASE", timedelta(0))  # the first phone never came back
    assert theirs.number in judge(exams, exam.code, second)


def test_a_question_left_half_judged_is_offered_to_others_and_is_still_open_to_who_left_it(exams, exam, monkeypatch):
    left, other = new_token(), new_token()
    theirs = exams.next(exam.code, left)
    exams.tick(exam.code, left, theirs.number, text_key(theirs.passages[0]), 2)
    monkeypatch.setattr(store, "LEASE", timedelta(0))
    assert exams.next(exam.code, left) == theirs
    assert theirs.number in judge(exams, exam.code, other)
    exams.add_found(exam.code, 1, [replace(CATS, text="Cats also hiss.")], {"dense": "dense"})
    again = exams.next(exam.code, other)  # of what is new, nothing is judged
    assert again.number == 1


def test_a_tick_is_changed_kept_with_its_harm_and_settled_by_the_owner_alone(exams, exam):
    token, other, key = new_token(), new_token(), text_key(CATS)
    exams.tick(exam.code, token, 4, key, 2, "  too late\0" + "x" * 999)
    exams.tick(exam.code, token, 4, key, 1, "  too late\0" + "x" * 999)
    kept = next(one for one in exams.own_ticks(exam.code, token) if one.passage == key)
    assert (kept.grade, kept.harm[:9], len(kept.harm)) == (1, "too late\ufffd", 500)
    exams.tick(exam.code, other, 4, key, 2)
    assert exams.judgements(exam.code).qrels == {"q004": {key: 1}}  # the lower one, until it is settled
    with pytest.raises(PanelError, match="Only the owner"):
        exams.settle(exam.code, token, 4, key, 2)
    exams.settle(exam.code, exam.owner_token, 4, key, 2)
    assert exams.judgements(exam.code).qrels == {"q004": {key: 2}}
    assert exams.judgements(exam.code).unsettled == []
    with pytest.raises(PanelError, match="Only the owner"):
        exams.delete_exam(exam.code, "")
    exams.delete_exam(exam.code, exam.owner_token)
    with pytest.raises(PanelError, match="no exam with this code"):
        exams.judgements(exam.code)


@pytest.mark.parametrize(
    ("number", "passage", "grade"), [(1, text_key(CATS), 3), (9, text_key(CATS), 1), (1, "none", 1)]
)
def test_a_tick_on_nothing_is_refused(exams, exam, number, passage, grade):
    with pytest.raises((ValueError, PanelError), match="no "):
        exams.tick(exam.code, new_token(), number, passage, grade)
    with pytest.raises(PanelError, match="has not joined"):
        exams.tick(exam.code, "nobody", 1, text_key(CATS), 1)
    assert exams.judgements(exam.code).ticks == ()


def test_forty_phones_at_once_through_two_apps_lose_no_acknowledged_tick(exams, address, exam):
    other = Exams.opened(Settings(database_url=SecretStr(address)))
    assert other
    tokens = [new_token() for _ in range(40)]

    def phone(place: int) -> None:
        app = (exams, other)[place % 2]
        for passage in (CATS, DOGS, FISH):
            app.tick(exam.code, tokens[place], 1 + place % 4, text_key(passage), place % 3)

    with ThreadPoolExecutor(40) as phones:
        list(phones.map(phone, range(40)))
    assert len(exams.judgements(exam.code).ticks) == 120
    assert all(
        [one.question for one in exams.own_ticks(exam.code, token)] == [1 + n % 4] * 3 for n, token in enumerate(tokens)
    )


def test_a_process_that_is_killed_while_it_judges_loses_no_acknowledged_tick(exams, address, exam):
    for line in killed_after(5, JUDGE_ON, address, exam.code):  # so many shares there are
        token, number = line.split()
        assert [one.question for one in exams.own_ticks(exam.code, token)] == [int(number)]


def test_agreement_is_krippendorffs_ordinal_alpha():
    # Two people, four passages: 0-0, 1-1, 2-2, 0-2. Ordinal distances by the marginals n0 = 3, n1 = 2, n2 = 3:
    # d01 = (3/2 + 2/2)^2 = 6.25, d12 the same, d02 = (3/2 + 2 + 3/2)^2 = 25. Observed: the one pair of 0 and 2, both ways,
    # 2 * 25 / 8 = 6.25. Expected: 2 * (3*2*6.25 + 2*3*6.25 + 3*3*25) / (8 * 7) = 600 / 56. alpha = 1 - 6.25 * 56 / 600.
    said = [(0, 0), (1, 1), (2, 2), (0, 2)]
    pairs = [
        [
            Tick(n, "p", person, grade, "", datetime(2026, 11, 30, tzinfo=UTC))
            for person, grade in zip("ab", pair, strict=True)
        ]
        for n, pair in enumerate(said)
    ]
    assert agreement(pairs) == pytest.approx(1 - 6.25 * 56 / 600)
    assert agreement(pairs[:1]) is None
    assert agreement([pair[:1] for pair in pairs]) is None


def test_rooms_of_a_database_of_the_first_version_stay(address, owner):
    with owner.connect() as connection:
        first = [table for table in schema.METADATA.sorted_tables if table not in schema.EXAM_TABLES]
        schema.METADATA.create_all(connection, first)
        connection.execute(text(f"CREATE TABLE {schema.VERSIONS} (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text(f"INSERT INTO {schema.VERSIONS} VALUES ('1')"))
        connection.execute(text("INSERT INTO rag_rooms VALUES ('ACDEF', 'Ward', '2026-11-29T00:00:00', 'x', '')"))
    settings = Settings(database_url=SecretStr(address))
    made = Exams.opened(settings).make("animals", ASKED)  # type: ignore[union-attr]
    assert Rooms.opened(settings).room("ACDEF").title == "Ward"  # type: ignore[union-attr]
    with owner.connect() as connection:
        assert len(connection.execute(text("SELECT * FROM rag_exam_questions")).all()) == 4
    assert made.title == "animals"


@pytest.fixture
def own(tmp_path: Path) -> Exams:
    return Exams.opened(Settings(home=tmp_path / "exams"))


@pytest.fixture
def pooled(own: Exams, lab: Lab) -> Exam:
    """An exam on the built-in documents, with what BM25 finds first."""
    made = own.make(lab.corpus, [Draft("How is mastitis treated?"), Draft("¿Cuándo se pone la anti-D?")], depth=3)
    pool(lab, own, made, build_strategies({"bm25": "bm25"}))
    return made


def test_pooling_keeps_what_is_done_and_adds_only_what_other_strategies_find(own, lab, pooled):
    before = own.judgements(pooled.code).questions
    assert [len(one.passages) for one in before] == [3, 3]
    assert left_to_pool(before, build_strategies({"again": "bm25"})) == []
    assert pool(lab, own, pooled, build_strategies({"again": "bm25"})) == ()
    assert own.judgements(pooled.code).questions == before
    both = build_strategies({"bm25": "bm25", "dense": "simple_semantic"})
    assert [(len(asked), len(left)) for asked, left in left_to_pool(before, both)] == [(2, 1)]
    pool(lab, own, pooled, both)
    for old, new in zip(before, own.judgements(pooled.code).questions, strict=True):
        found = both["dense"].run(new.text, lab.untaught([one.text for one in before]).services(), Run()).ranking
        assert new.passages[:3] == old.passages  # what was shown keeps its place
        firsts = {text_key(hit.passage) for hit in list(found)[:3]} | {text_key(one) for one in old.passages}
        assert {text_key(one) for one in new.passages} == firsts
    with pytest.raises(ConfigError, match="about corpus"):
        pool(lab, own, replace(pooled, corpus="other"), both)


def test_a_server_that_is_silent_is_paid_no_more_calls_than_were_agreed_to(
    own, server, read_only_store, embedder, labels
):
    server.choose = lambda body: Hang()
    lab = provider_lab(server, read_only_store, embedder, labels, timeout=0.5)
    made, strategies = own.make(lab.corpus, ASKED[:1]), build_strategies({"several": "multi_query", "one": "hyde"})
    planned = [Workload(*each) for each in left_to_pool(own.judgements(made.code).questions, strategies)]
    agreed = estimate(planned, lab.rehearsal())
    with suppress(RagError):
        pool(lab, own, made, strategies)
    assert 0 < len(server.requests) <= sum(agreed.calls.values()) == 4  # three rewrites and a hypothetical answer


def test_an_exam_is_measured_from_its_folder_passage_by_passage(own, lab, pooled, tmp_path):
    token = new_token()
    with pytest.raises(InputError, match="judged to answer"):
        export(own.judgements(pooled.code), lab.passages.values(), tmp_path / "exam")
    for asked in own.judgements(pooled.code).questions:
        for rank, passage in enumerate(asked.passages):
            own.tick(
                pooled.code,
                token,
                asked.number,
                text_key(passage),
                2 - min(rank, 2),
                "dose" if rank == 2 else "",
            )
    folder = export(own.judgements(pooled.code), lab.passages.values(), tmp_path / "exam")
    judged = read_beir(folder, "test")
    assert judged.exam_of == lab.corpus
    assert "People: 1; questions: 2; passages judged: 6 of 6," in judged.judged_by
    assert (folder / "judgements.tsv").read_text().count("\tdose\t") == 2
    opened = open_judged(str(folder), lab.settings, engines=lab.engines)
    assert opened.corpus == lab.corpus  # by reference, not indexed again
    results = evaluate(opened, {"bm25": "bm25", "dense": "simple_semantic"}, folder, metrics=["ndcg@5", "recall@5"])
    import pytrec_eval

    with (folder / "qrels" / "test.tsv").open() as file:  # as another tool reads it
        rows = csv.DictReader(file, delimiter="\t")
        qrels = defaultdict(dict)
        for row in rows:
            qrels[row["query-id"]][row["corpus-id"]] = int(row["score"])
    scores = {}
    for label, records in results.run.records.items():
        runs = {name: {key: -float(rank) for rank, key in enumerate(one.ranked)} for name, one in records.items()}
        rows = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_5", "recall_5"}).evaluate(runs).values()
        for theirs, ours in (("recall_5", "recall@5"), ("ndcg_cut_5", "ndcg@5")):
            scores[label] = sum(row[theirs] for row in rows) / len(rows)
            assert results.strategies[label].metrics[ours].mean == pytest.approx(scores[label])
    left = unjudged(results.run, parse_metric("ndcg@5"))
    assert left["bm25"].passages == 4  # BM25 returns five passages a question, and three are judged
    assert left["bm25"].mean == pytest.approx(scores["bm25"])
    assert left["bm25"].mean <= left["bm25"].at_most <= 1
    assert unjudged(RunFolder.open(results.run.folder), parse_metric("ndcg@5")) == left  # as Evaluate opens it


def test_what_figures_could_become_is_said_where_it_would_show():
    assert Unjudged(10, 2, 0.9994, 1.0).sentence("BM25", "nDCG@5") == (
        "BM25: 2 of its 10 first passages are not judged; nDCG@5 0.999 could become 1.000."
    )
    assert Unjudged(10, 2, 0.9996, 1.0).sentence("BM25", "nDCG@5") == "BM25: 2 of its 10 first passages are not judged."


def judged_exam(exams: Exams, title: str) -> Exam:
    """An exam with one passage that answers its first question."""
    made = exams.make("pets", ASKED, title=title)
    exams.add_found(made.code, 1, [CATS, DOGS], {"bm25": "bm25"})
    exams.tick(made.code, new_token(), 1, text_key(CATS), 2)
    return made


def test_an_exam_is_packed_as_exported_and_written_to_be_measured_until_it_is_gone(own, tmp_path):
    exam, other = judged_exam(own, "Pets"), judged_exam(own, "Other pets")
    parts = own.judgements(exam.code), [CATS, DOGS, FISH]
    folder = export(*parts, tmp_path / "exam")
    with zipfile.ZipFile(io.BytesIO(as_zip(*parts))) as packed:
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}
        assert {name: packed.read(name) for name in packed.namelist()} == files
    corpus = {one.id: one for one in (CATS, DOGS, FISH)}
    written = for_measuring(own, exam, corpus, tmp_path)
    judged = read_beir(written, "test")
    assert (judged.name, judged.exam_of) == ("Pets", "pets")
    assert judged.qrels == read_beir(folder, "test").qrels == {"q001": {text_key(CATS): 2}}
    before = {path: path.stat().st_ino for path in written.rglob("*.*")}  # each writing makes a new file
    assert for_measuring(own, exam, corpus, tmp_path) == written
    assert {path: path.stat().st_ino for path in before} == before
    own.tick(exam.code, new_token(), 1, text_key(DOGS), 1)
    for_measuring(own, exam, corpus, tmp_path)
    assert read_beir(written, "test").qrels == {"q001": {text_key(CATS): 2, text_key(DOGS): 1}}
    for_measuring(own, exam, {CATS.id: CATS, DOGS.id: DOGS}, tmp_path)
    assert (written / "corpus.jsonl").read_text().count("\n") == 2  # the documents have changed since
    own.forget([exam.code])
    for_measuring(own, other, {CATS.id: CATS}, tmp_path)
    assert not written.exists()
    drop_written(tmp_path)
    assert [*(tmp_path / "measured-exams").iterdir()] == []


def rich(own: Exams) -> Exam:
    """An exam as it is in the middle: some judged by two, one settled, one harmful, two pooled by nobody."""
    made = own.make("pets", ASKED, title="Pets «1»", depth=7, twice=0.5)
    own.add_found(made.code, 1, [CATS, DOGS, FISH], {"f1": "bm25"})
    own.add_found(
        made.code, 2, [replace(DOGS, heading="Noise", metadata=(("year", "2026"),))], {"f1": "bm25", "f2": "ensemble"}
    )
    first, second = new_token(), new_token()
    for token, grade in ((first, 2), (second, 0)):
        own.tick(made.code, token, 1, text_key(CATS), grade, 'It\t"bites"\nhard')
    own.settle(made.code, None, 1, text_key(CATS), 1)
    own.tick(made.code, second, 2, text_key(DOGS), 0)
    return made


def test_an_exported_exam_comes_back_equal(own, tmp_path, rag, monkeypatch):
    made, corpus = rich(own), [CATS, DOGS, FISH]
    folder = export(own.judgements(made.code), corpus, tmp_path / "exported")
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "elsewhere"))
    ran = rag("exam", "import", str(folder))
    assert ran.code == 0, ran.err
    assert "4 questions about pets.\n2 of 4 passages are judged." in ran.out
    there = Exams.opened(Settings(home=tmp_path / "elsewhere"))
    (again,) = there.all()
    old, new = own.judgements(made.code), there.judgements(again.code)
    assert new.questions == old.questions
    assert new.standing == old.standing
    assert (again.title, again.corpus, again.depth, again.twice) == (made.title, "pets", 7, 0.5)
    assert [replace(one, person="") for one in new.ticks] == [replace(one, person="") for one in old.ticks]
    back = export(new, corpus, tmp_path / "back")
    files = [path.relative_to(folder) for path in folder.rglob("*.*")]
    assert {name: (back / name).read_bytes() for name in files} == {
        name: (folder / name).read_bytes() for name in files
    }
    assert {one.name for one in files} >= {"exam.json", "judgements.tsv", "queries.jsonl", "exam.toml"}


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        (None, None, "exam.json cannot be read"),
        ('"depth": 7', '"depth": "seven"', "not an exam as it is exported; see exam.depth."),
        ('"corpus"', '"of"', "not an exam as it is exported; see"),
        ('"twice": 0.5', '"twice": 2', "not an exam as it is exported; see"),
        ('"number": 2', '"number": 9', "see questions.1."),
        ('"text": "Cats purr when they are happy."', '"text": 5', "not an exam as it is exported; see"),
        ('"text": "Who barks?"', '"text": "?"', "not an exam as it is exported; see"),
        ('"grade": 2', '"grade": 3', "see ticks.0."),
        ('"question": 1', '"question": 4', "see ticks.0."),
        ('"judged": "2', '"judged": "x', "not an exam as it is exported; see"),
        ("{", "[", "not an exam as it is exported; see"),
    ],
)
def test_files_that_no_export_wrote_are_refused_with_what_where_and_the_next_step(
    own, tmp_path, rag, monkeypatch, was, becomes, said
):
    folder = export(own.judgements(rich(own).code), [CATS, DOGS, FISH], tmp_path / "exported")
    text = (folder / "exam.json").read_text()
    if was is None:
        (folder / "exam.json").unlink()
    else:
        assert was in text
        (folder / "exam.json").write_text(text.replace(was, becomes, 1))
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "elsewhere"))
    ran = rag("exam", "import", str(folder))
    assert ran.code == (2 if was is None else 1)
    assert "".join(said.split()) in "".join(ran.err.split())
    assert any(step in " ".join(ran.err.split()) for step in ("Export the exam again", "Check the path"))
    assert Exams.opened(Settings(home=tmp_path / "elsewhere")).all() == []  # type: ignore[union-attr]


def test_known_questions_nearly_equal_to_the_exams_are_left_out_when_it_is_measured(lab):
    asked = lab.asked
    assert asked
    one = asked.of(next(iter(asked._owners)))[0]
    assert asked.knows(one.question, [one.passage])
    without = lab.untaught([one.question]).asked
    assert without
    assert not without.knows(one.question, [one.passage])
    assert without.key != asked.key
    assert lab.asked is asked


def test_a_forgotten_document_takes_its_passages_and_ticks_and_a_changed_one_keeps_those_of_equal_text(exams, exam):
    token = new_token()
    judge(exams, exam.code, token)
    moved = replace(DOGS, id="b:7:9", title="Dogs, second edition")
    exams.add_found(exam.code, 1, [moved], {"bm25 of the next generation": "bm25"})
    assert (
        len(exams.judgements(exam.code).questions[0].passages) == 3
    )  # the text is known, and so is what was said of it
    assert exams.take_out("animals", ["f"]) == 1
    assert {key for found in exams.judgements(exam.code).qrels.values() for key in found} == {
        text_key(CATS),
        text_key(DOGS),
    }
    assert exams.take_out("plants", None) == 0
    assert exams.take_out("animals", None) == 1
    assert exams.all() == []
