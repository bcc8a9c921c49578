"""Documents, "Make an exam": what its owner does, from the questions to the measurement, without a terminal."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from shutil import copytree
from threading import Event
from urllib.parse import parse_qs
from zipfile import ZipFile

import pytest
from helpers.behaviours import Reply
from helpers.in_process import fail, html, press, text, visitor
from helpers.source_files import write
from streamlit.testing.v1 import AppTest

from pages.shared import measuring
from pages.shared.engine import engine
from pages.shared.rooms import exams
from rag_core import evaluation as ev
from rag_core.indexing import CorpusStore, read_path
from rag_core.lab.lab import Lab
from rag_core.sessions.exam.exam import OWNER, Draft, Exam
from rag_core.sessions.exam.folder import as_zip
from rag_core.sessions.exam.store import Exams
from rag_core.sessions.history.record import Asked, AskedColumn
from rag_core.sessions.history.store import History
from rag_core.sessions.panel.room import new_token, token_from
from rag_core.values.types import Passage, text_key

CORPUS, VISITOR = "leaflets", "somebody"
LEAFLETS = {
    "books.md": "# Books\n\n## How long\n\nA book is lent for three weeks.\n\n## Late books\n\nA late book costs 10 cents a day.",
    "rooms.md": "# Rooms\n\n## Booking\n\nA study room is booked online, two weeks ahead.\n\n## Food\n\nNo food in the rooms.",
}
QUESTIONS = ("How long may I keep a book?", "What does a late book cost?", "How do I book a study room?")
PRIVATE = "My name is Ana Gil, tel. 612 345 678, may I keep a book?"


@pytest.fixture
def home(lab: Lab, real_home: Path, tmp_path: Path) -> Path:
    home = Path(copytree(real_home, tmp_path / "home"))
    CorpusStore(home, CORPUS, lab.engines.embedder).update(read_path(write(tmp_path / "files", LEAFLETS)))
    return home


@pytest.fixture
def page(home: Path, tmp_path: Path, start: Callable[..., AppTest]) -> AppTest:
    """The page of an owner, over a collection without exams, on a new server."""
    start(RAG_HOME=str(home), RAG_HISTORY="on", RAG_DATABASE_URL=f"sqlite:///{tmp_path / 'exams.db'}")
    return opened()


def opened(who: str = VISITOR, corpus: str = CORPUS) -> AppTest:
    app = visitor().run()
    app.session_state["visitor"] = who  # as the cookie gives it
    app.query_params.clear()
    app.query_params.update(view="exam", corpus=corpus)
    app.switch_page("pages/documents/documents.py").run()
    assert not app.exception
    return app


def told(app: AppTest) -> str:
    parts = (*app.caption, *app.info, *app.warning, *app.error, *app.success, *app.markdown)
    titles = [one.label for one in app.expander]
    bars = [one.proto.text for one in app.get("progress")]
    return " ".join([text(html(app)), *(one.value for one in parts), *titles, *bars]).replace("\\", "")


def box(app: AppTest, start: str):
    return next(
        one
        for one in (*app.text_input, *app.text_area, *app.multiselect, *app.button_group)
        if one.key.startswith(start)
    )


def make(app: AppTest, questions: str = "\n".join(QUESTIONS)) -> Exam:
    box(app, "exam.typed").set_value(questions).run()
    box(app, "exam.strategies").set_value(["bm25"]).run()
    press(app, "Make the exam")
    finish(app)
    (made,) = exams().all()
    return made


def judge(exam: Exam, judged: int = 2, people: int = 1) -> None:
    """Everybody says the same of all passages, but the last person says no."""
    tokens = [new_token() for _ in range(people)]
    for one in exams().judgements(exam.code).questions:
        for passage in one.passages:
            for place, token in enumerate(tokens):
                last = people > 1 and place == people - 1
                exams().tick(exam.code, token, one.number, text_key(passage), 0 if last else judged)


def labels(app: AppTest) -> list[str]:
    return [one.label for one in app.button]


def cannot_make(app: AppTest) -> bool:
    return next(one for one in app.button if one.label == "Make the exam").disabled


def test_an_owner_makes_an_exam_and_its_passages_are_found(page):
    assert "You write questions; people say on their phones" in told(page)
    assert cannot_make(page)
    box(page, "exam.title").set_value("Our <leaflets>")
    exam = make(page)
    assert (exam.title, exam.corpus, exam.depth) == ("Our <leaflets>", CORPUS, 5)
    assert [one.text for one in exams().judgements(exam.code).questions] == [*QUESTIONS]
    assert all(one.passages for one in exams().judgements(exam.code).questions)
    assert "0 of 3 questions judged" in told(page)
    assert "documents/judge" not in told(page)
    assert f"/judge?room={exam.code}" in told(page)
    assert "passages judged · 0 people" in told(page)
    assert "It can be measured once somebody says" in told(page)
    assert box(page, "exam.also").value == ["bm25"]
    assert page.session_state["exam.round"] == 1  # the boxes of the next exam are empty


def test_what_a_number_of_questions_can_tell_is_said_before(page):
    box(page, "exam.typed").set_value("\n".join(f"Is it so {n}?" for n in range(20))).run()
    assert "20 questions: enough to tell strategies apart that differ by 0.10 on" in told(page)
    assert "for 0.08 it takes 29" in told(page)  # 20 · (0.0956 / 0.08)² = 28.6
    box(page, "exam.typed").set_value("x" * 5000).run()
    assert "Line 1" in told(page)
    assert cannot_make(page)


def test_questions_of_the_history_are_agreed_to_one_by_one_without_private_data(page, tmp_path, start):
    kept, lab = History.opened(engine().settings), engine().wait(CORPUS)
    for number, question in enumerate((PRIVATE, QUESTIONS[0])):
        trace = lab.run(question, "bm25")
        kept.add(
            Asked(f"a{number}", datetime.now(UTC), question, (AskedColumn("bm25", {}, (), "", trace),), corpus=CORPUS)
        )
    kept.add(Asked("b", datetime.now(UTC), "When is anti-D given?", (), corpus="obstetrics"))
    page.session_state["exam.asked.0"] = True
    page.run()
    shown = [one.label.replace("\\", "") for one in page.checkbox]
    assert len(shown) == 2
    assert "612" not in " ".join(shown)
    assert "Ana" not in " ".join(shown)
    assert not any(one.value for one in page.checkbox)
    page.checkbox[1].check().run()
    made = make(page, "My e-mail is ana@gil.es, how do I book a room?")
    first, second = exams().judgements(made.code).questions
    assert "ana@gil.es" not in first.text
    assert "612" not in second.text
    assert (first.origin, second.origin) == ("written", "history")


def test_judged_disputed_settled_measured_and_deleted(page, home):
    exam = make(page)
    judge(exam, people=2)
    cards = sum(len(one.passages) for one in exams().judgements(exam.code).questions)
    page.run()
    assert f"To settle: {cards} of {cards}." in told(page)
    assert settle(page, 2) == [2]
    assert f"To settle: {cards - 1} of {cards}." in told(page)
    assert settle(page, 1) == [1]  # a slip is put right
    assert "3 of 3 questions judged" in told(page)
    assert "2 people · agreement" in told(page)

    other = opened("somebody else")
    other.session_state[f"exam.{exam.code}"] = True
    other.run()
    assert all(one.disabled for one in other.button_group if one.key.startswith("settled."))
    assert "Delete it for good" not in labels(other)
    assert "Only who made this exam" in told(other)

    data = measuring_on(exam)
    assert data.selectbox(key="run.data").value == f"leaflets ({exam.code})"
    folder = home / "measured-exams" / exam.code
    assert {one.name for one in folder.iterdir()} >= {"queries.jsonl", "corpus.jsonl", "exam.toml", "qrels"}

    press(page, "Delete it for good")
    assert exams().all() == []
    assert not folder.exists()
    assert f"/judge?room={exam.code}" not in told(page)


def test_a_settling_tap_without_a_callback_is_kept_though_the_disagreement_is_gone(page, monkeypatch):
    exam = make(page)
    tokens = new_token(), new_token()
    key = text_key(exams().judgements(exam.code).questions[0].passages[0])
    for grade, token in enumerate(tokens):
        exams().tick(exam.code, token, 1, key, grade)
    page.run()
    exams().tick(exam.code, tokens[0], 1, key, 1)  # now both say the same, while the owner taps
    with monkeypatch.context() as drawing:
        drawing.setattr("streamlit.runtime.state.session_state.WStates.call_callback", lambda *_: None)
        assert settle(page, 2) == [2]
    exams().tick(exam.code, tokens[0], 1, key, 0)
    exams().settle(exam.code, None, 1, key, 0)  # in a terminal
    page.run()
    assert next(one for one in page.button_group if one.key.startswith("settled.")).value == 0


def test_settling_what_was_taken_out_or_what_fails_is_told(page, monkeypatch):
    exam = make(page)
    judge(exam, people=2)
    page.run()
    with monkeypatch.context() as broken:
        broken.setattr(Exams, "settle", fail)
        assert settle(page, 2) == []
        assert "The disk is full. Free some of it." in told(page)
    page.run()
    assert [one.grade for one in exams().judgements(exam.code).ticks if one.person == OWNER] == [2]
    shown = exams().judgements(exam.code).to_look_at[0].passage
    exams().take_out(CORPUS, {shown.doc_id})
    settle(page, 1)
    assert "This passage is no longer in the exam. Open the page again." in told(page)


def settle(app: AppTest, grade: int) -> list[int]:
    next(one for one in app.button_group if one.key.startswith("settled.")).set_value(grade).run()
    assert not app.exception
    (exam,) = exams().all()
    return [one.grade for one in exams().judgements(exam.code).ticks if one.person == OWNER]


def measuring_on(exam: Exam) -> AppTest:
    app = visitor().run()
    app.session_state["run.data"] = f"{exam.title} ({exam.code})"
    app.switch_page("pages/evaluate/evaluate.py").run()
    assert not app.exception
    assert "Judged in an exam. People: 2;" in told(app)
    return app


def test_the_downloaded_folder_and_evaluate_give_the_same_figures(page, rag, tmp_path):
    exam = make(page)
    box(page, f"exam.also.{exam.code}").set_value(["bm25", "simple_semantic"]).run()
    press(page, "Find their passages")
    finish(page)
    for asked in exams().judgements(exam.code).questions:
        for place, passage in enumerate(asked.passages):
            grade = (asked.number + place) % 3 if asked.number < 3 else 0
            exams().tick(exam.code, new_token(), asked.number, text_key(passage), grade)
    page.run()
    (link,) = [one.proto for one in page.get("page_link") if one.proto.label == "Measure on it"]
    evaluate = visitor().run()
    evaluate.query_params.update(parse_qs(link.query_string))  # as the link opens it
    evaluate.switch_page("pages/evaluate/evaluate.py").run()
    assert evaluate.multiselect(key="strategies").value == ["bm25", "simple_semantic"]
    press(evaluate, "Measure")
    (job,) = measuring.jobs().all("run")
    assert job.wait(120)
    assert job.status.phase == "done", job.status.error
    here = ev.stored_results(ev.RunFolder.open(job.status.result))
    assert here
    evaluate.session_state["language"] = "es"
    evaluate.query_params.update(view="results", run=job.status.result.name)
    evaluate.run()
    assert "Juzgado en un examen. Personas: " in told(evaluate)
    assert "alfa de Krippendorff: no definida" in told(evaluate)  # nobody judged what another did
    assert "nDCG@10, de 0 a 1, cuanto más alto, mejor: " in told(evaluate)
    assert "ningún pasaje se juzga como respuesta: 1. No se tienen en cuenta." in told(evaluate)

    assert parse_qs(link.query_string)["strategies"] == ["bm25", "simple_semantic"]  # whatever the language

    judged, passages = exams().judgements(exam.code), engine().wait(CORPUS).passages.values()
    with ZipFile(BytesIO(as_zip(judged, passages))) as packed:  # what the button gives
        packed.extractall(tmp_path / "downloaded")
    ran = rag("eval", "--data", str(tmp_path / "downloaded"), "--strategies", "bm25,simple_semantic", "--json")
    assert ran.code == 0, ran.err
    there = json.loads(ran.out)["strategies"]
    for label, row in here.strategies.items():
        figures = {name: score.mean for name, score in row.metrics.items() if score}
        assert {name: there[label]["metrics"][name]["mean"] for name in figures} == pytest.approx(figures)
        assert figures["ndcg@10"] > 0


def test_the_downloaded_file_is_imported_as_an_exam_of_ones_own(page):
    exam = make(page)
    judge(exam)
    judged = exams().judgements(exam.code)
    downloaded = as_zip(judged, engine().wait(CORPUS).passages.values())
    uploaded(page, b"PK no zip")
    assert "This is not the file of an exam. Take it as it was downloaded." in told(page)
    other = replace(judged, exam=replace(exam, corpus="obstetrics"))
    uploaded(page, as_zip(other, ()))
    assert "This exam is about the collection obstetrics. Choose that, or add its documents first." in told(page)
    assert len(exams().all()) == 1
    uploaded(page, downloaded)
    again = next(one for one in exams().all() if one.code != exam.code)
    assert exams().is_owner(again.code, owner_token())
    came = exams().judgements(again.code)
    assert (came.questions, came.qrels) == (judged.questions, judged.qrels)
    assert page.session_state["exam.round"] == 2  # the box is empty


def uploaded(app: AppTest, content: bytes) -> None:
    box = next(one for one in app.file_uploader if one.key.startswith("exam.zip"))
    box.set_value(("exam.zip", content, "application/zip")).run()
    press(app, "Import the exam")


def test_a_judged_passage_that_left_the_collection_is_noted_where_it_is_measured(page):
    exam = make(page)
    gone = Passage("gone:0:1", "gone", "Gone", "This leaflet was replaced.")
    exams().add_found(exam.code, 1, [gone], {"bm25 of an earlier index": "bm25"})
    judge(exam, people=2)
    page.run()
    settle(page, 2)
    assert "Judged documents that corpus.jsonl does not have: 1" in told(measuring_on(exam))


def test_what_could_harm_is_shown_with_the_comment(page):
    exam = make(page)
    first = exams().judgements(exam.code).questions[0]
    exams().tick(exam.code, new_token(), 1, text_key(first.passages[0]), 0, "Three weeks is <wrong>.")
    page.run()
    assert "To settle: 0 of 1." in told(page)
    assert "People said: No" in told(page)
    assert "Could harm: Three weeks is <wrong>." in told(page)


def test_finding_passages_goes_on_after_a_crash_and_adds_a_later_strategy(page):
    exam = make(page)
    left = exams().make(CORPUS, [Draft(one) for one in QUESTIONS[:2]], title="Cut short", owner_token=owner_token())
    found = exams().judgements(exam.code).questions[0]
    exams().add_found(left.code, 1, found.passages[:1], found.pooled)  # the app ended here
    page.session_state[f"exam.{left.code}"] = True
    page.run()
    assert "Questions whose passages are still to be found: 1." in told(page)
    press(page, "Find their passages")
    finish(page)
    assert [one.pooled for one in exams().judgements(left.code).questions] == [found.pooled] * 2
    assert "still to be found" not in told(page)
    assert next(one for one in page.button if one.label == "Find their passages").disabled
    box(page, f"exam.also.{left.code}").set_value(["bm25", "simple_semantic"]).run()
    press(page, "Find their passages")
    finish(page)
    assert [len(one.pooled) for one in exams().judgements(left.code).questions] == [2, 2]


def owner_token() -> str:
    return token_from("exam", VISITOR)


def finish(app: AppTest) -> None:
    for job in measuring.jobs().all("pool"):
        assert job.wait(120)
        assert job.status.phase == "done", job.status.error
    app.run()
    assert not app.exception


def test_while_passages_are_found_the_page_shows_how_far_and_stops_it(page, monkeypatch):
    held = Event()
    monkeypatch.setattr("rag_core.jobs.starting.left_to_pool", lambda *_: held.wait(120) and [])
    box(page, "exam.typed").set_value("\n".join(QUESTIONS)).run()
    box(page, "exam.strategies").set_value(["simple_semantic", "bm25"]).run()
    press(page, "Make the exam")
    (job,) = measuring.jobs().all("pool")
    assert "Passages for leaflets" in told(page)
    assert "No passages have been found yet." in told(page)
    assert "Find their passages" not in labels(page)
    press(page, "Stop")
    held.set()
    assert job.wait(120)
    assert job.status.phase == "stopped"
    page.run()
    assert "The passages that were found are kept: find passages again to go on." in told(page)
    assert "Questions whose passages are still to be found: 3." in told(page)
    measuring.jobs.clear()  # as of a new process
    assert box(opened(), "exam.also").value == ["simple_semantic", "bm25"]


def test_a_deleted_collection_takes_its_exams_along(page):
    make(page)
    gone = visitor().run()
    gone.query_params.update(view="delete", corpus=CORPUS)
    gone.switch_page("pages/documents/documents.py").run()
    gone.text_input(key="own.sure").set_value(CORPUS)
    press(gone, "Delete the collection for good")
    assert exams().all() == []


def test_the_word_on_upload_buttons_is_at_hand_in_the_language_of_the_page(page):
    assert 'data-upload="Upload"' in html(page)
    page.session_state["language"] = "es"
    assert 'data-upload="Subir"' in html(page.run())


def test_without_a_history_there_are_no_exams(home, start):
    start(RAG_HOME=str(home))
    assert "There are no exams here: RAG_HISTORY is off." in told(opened())


def test_a_database_that_fails_is_told(page, monkeypatch):
    make(page)
    monkeypatch.setattr(Exams, "delete_exam", fail)
    press(page, "Delete it for good")
    assert "The disk is full. Free some of it." in told(page)


def test_drafts_of_a_model_are_billed_before_and_agreed_to_one_by_one(home, tmp_path, start, server):
    database = f"sqlite:///{tmp_path / 'exams.db'}"
    server.choose = lambda body: Reply(f"1. What about {len(server.requests)}?", usage=(1000, 100))
    start(RAG_HOME=str(home), RAG_HISTORY="on", RAG_DATABASE_URL=database, OPENAI_BASE_URL=server.url)
    app = opened()
    app.session_state["exam.drafts.0"] = True
    app.run()
    app.number_input[0].set_value(3).run()
    press(app, "Have questions drafted")
    (job,) = measuring.jobs().all("draft")
    while not job.status.bill:
        assert not job.wait(0.05)
    app.run()
    assert "Drafting questions would cost" in told(app)
    assert server.requests == []
    press(app, "Go on")
    assert job.wait(60)
    app.run()
    assert job.status.bill.calls == {"enrich": len(server.requests)} == {"enrich": 2}  # so many passages there are
    paid = sum(call.cost_usd for call in job.status.calls)
    assert paid == pytest.approx(2 * (1000 * 0.5 + 100 * 1.5) / 1e6)  # gpt-3.5-turbo
    assert "done. Spent so far: $0.001300 for 2 calls." in told(app)
    assert "Have questions drafted" not in labels(app)
    assert not any(one.value for one in app.checkbox)
    app.checkbox[1].check().run()
    made = make(app, "My e-mail is ana@gil.es, how do I book a room?")
    assert [one.origin for one in exams().judgements(made.code).questions] == ["written", "model"]


def test_without_a_language_model_the_page_says_what_to_do(page):
    page.session_state["exam.drafts.0"] = True
    page.run()
    assert "can set one up with OPENAI_API_KEY or OPENAI_BASE_URL" in told(page)
    assert "Have questions drafted" not in labels(page)
