"""An exam on a collection, by its owner: made, its passages found, followed while people judge, settled, measured, deleted."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import plural, t, translated
from pages.shared import account, corpora, country, judging, measuring, presets, rooms, shipped
from pages.shared.engine import engine
from pages.shared.history_sync import history
from rag_core import evaluation as ev
from rag_core.catalog import StrategySpec
from rag_core.jobs import start_drafting, start_pooling
from rag_core.safety import privacy
from rag_core.sessions.exam.drafting import MOST_DRAFTS, drafts
from rag_core.sessions.exam.exam import Draft, Exam, ExamQuestion, read_drafts
from rag_core.sessions.exam.folder import as_zip, drop_written, read_zip
from rag_core.sessions.exam.judgements import Judgements, Standing
from rag_core.sessions.exam.pooling import left_to_pool
from rag_core.sessions.panel.room import token_from
from rag_core.values.errors import InputError
from rag_core.values.message import Message

if TYPE_CHECKING:
    from rag_core.sessions.exam.store import Exams  # with its database library

TICK_S = 3.0  # between two looks at how far the judges are
FIRST = ("bm25", "simple_semantic", "hybrid_rrf", "ensemble")  # chosen at first: words, vectors, both, and more
DEPTHS = (5, 10)
FINER = 0.08  # a difference between strategies that is worth telling apart
RECENT = 50  # questions of the history that are offered
ROUND = "exam.round"  # how many exams were made, so that each begins with empty boxes
SETTLED = "exam.settled"  # by the key of each control that settles: the grade stored


@untrusted.errors()
def draw(corpus: str) -> None:
    """Draw the exams of a collection and the form of a new one."""
    if account.operators_only():
        return
    kept = rooms.exams()
    if kept is None:
        st.info(t("There are no exams here: RAG_HISTORY is off."))
        return
    st.markdown(
        t(
            "An exam finds out which strategy works on these documents. You write questions; people say on their phones "
            "which passages answer them; Evaluate then compares the strategies by what they said."
        )
    )
    if not engine().settled.is_set():
        st.info(t("One moment: the models are loading."))
        return
    measuring.under_way("draft")
    measuring.under_way("pool")
    for key in st.session_state.setdefault(SETTLED, {}):
        _settle(kept, key)  # before the cards are read, which may be gone since
    lab = engine().wait(corpus)
    found = [one for one in kept.all() if one.corpus == corpus]
    for exam in found:
        judged = kept.judgements(exam.code)
        latest = exam == found[0]
        # an expander whose label changes closes
        box = st.expander(untrusted.label(exam.title), expanded=latest, key=f"exam.{exam.code}", on_change="rerun")
        if box.open:
            with box:
                _exam(kept, judged, lab)
        else:
            untrusted.say(_state(judged.standing))
    box = st.expander(t("A new exam"), expanded=not found, key=f"exam.new.{len(found):d}", on_change="rerun")
    if box.open:
        with box:
            _new(kept, corpus)
    with st.expander(t("An exam that was downloaded"), key=f"exam.import.{len(found):d}"):
        _import(kept, corpus)


def _state(now: Standing) -> str:
    if not now.pooled:
        return t("No passages have been found yet.")
    return t("{complete} of {count} questions judged", complete=now.complete, count=now.questions)


def _new(kept: Exams, corpus: str) -> None:
    turn = st.session_state.setdefault(ROUND, 0)
    title = st.text_input(
        t("Name of the exam"), key=f"exam.title.{turn:d}", placeholder=untrusted.plain(corpora.title(corpus))
    )
    asked = _questions(corpus, turn)
    if asked:
        pairs = shipped.results().comparisons
        count = plural("{count} question", "{count} questions", len(asked))
        told = t(
            "{count}: enough to tell strategies apart that differ by {difference:.2f} on a scale from 0 to 1 (nDCG@10); for "
            "{finer:.2f} it takes {needed}. Estimated from the built-in questions.",
            count=count, difference=ev.detectable(len(asked), pairs), finer=FINER,
            needed=ev.questions_for(FINER, pairs),
        )  # fmt: skip
        untrusted.say(told, st.info)
    chosen = _strategies(f"exam.strategies.{turn:d}", FIRST)
    depth = st.segmented_control(
        t("First passages of each strategy that are judged"), DEPTHS, default=DEPTHS[0], key=f"exam.depth.{turn:d}",
        required=True, help=t("Equal passages are judged once. Ten take up to twice the time of five."),
    )  # fmt: skip
    st.caption(
        t(
            "One question in four goes to two people, to see how far they agree. If finding passages costs money, you see "
            "how much and agree before anything is sent."
        )
    )
    if st.button(t("Make the exam"), type="primary", disabled=not (asked and chosen)):
        exam = kept.make(corpus, asked, title=title.strip() or corpora.title(corpus), depth=depth, owner_token=_token())
        st.session_state[ROUND] = turn + 1
        _pool(kept, exam, chosen)


@untrusted.errors()
def _import(kept: Exams, corpus: str) -> None:
    turn = st.session_state.setdefault(ROUND, 0)
    file = st.file_uploader(t("The file of “Download (BEIR folder)”"), "zip", key=f"exam.zip.{turn:d}")
    st.caption(t("It comes with its questions, passages and judgements, under a new code, and is yours."))
    if st.button(t("Import the exam"), disabled=file is None) and file:
        judged = read_zip(file)
        if judged.exam.corpus != corpus:
            said = Message("This exam is about the collection {corpus}.", corpus=judged.exam.corpus)
            raise InputError(said, Message("Choose that, or add its documents first."))
        kept.add(judged, _token())
        st.session_state[ROUND] = turn + 1
        st.rerun()


def _questions(corpus: str, turn: int) -> list[Draft]:
    """The questions that were written, uploaded, and agreed to from the history or from drafts, without private data, each once."""
    typed = st.text_area(
        t("Questions, one a line"), key=f"exam.typed.{turn:d}", height=180,
        help=t("As people ask them, also in their own words and with their mistakes. Private data is taken out."),
    )  # fmt: skip
    file = st.file_uploader(
        t("Or a file: one question a line, a CSV with a column “question”, or a queries.jsonl"),
        ["csv", "tsv", "txt", "jsonl"], key=f"exam.file.{turn:d}",
    )  # fmt: skip
    written: list[Draft] = []
    with untrusted.errors():
        for text in (typed, file.getvalue().decode("utf-8-sig", "replace") if file else ""):
            written += read_drafts(text) if text.strip() else []
    more = {
        "asked": (t("Questions that were asked of this collection"), _asked),
        "drafts": (t("Questions that a language model drafts"), _drafted),
    }
    for name, (words, chosen) in more.items():
        box = st.expander(untrusted.label(words), key=f"exam.{name}.{turn:d}", on_change="rerun")
        if box.open:
            with box:
                written += chosen(corpus, turn)
    clean = [one._replace(text=privacy.redact(one.text, country.chosen())) for one in written]
    return list({one.text.casefold(): one for one in reversed(clean)}.values())[::-1]


def _drafted(corpus: str, turn: int) -> list[Draft]:
    lab = engine().wait(corpus)
    if "enrich" not in lab.engines.paid:
        st.caption(t("There is no language model here. Whoever runs this server can set one up with OPENAI_API_KEY or "
                     "OPENAI_BASE_URL; without one, write the questions above."))  # fmt: skip
        return []
    sections = st.number_input(
        t("Draft a question for each of so many sections"), 1, MOST_DRAFTS, 10, key=f"exam.sections.{turn:d}",
        help=t("Chosen by chance, of all documents in turn. What is drafted is kept, and paid for once."),
    )  # fmt: skip
    now = drafts(lab, sections)
    if now.left and st.button(t("Have questions drafted"), help=t("You see what it costs and agree before that.")):
        begin = functools.partial(start_drafting, measuring.jobs(), lambda: lab, corpus, sections)
        measuring.start("draft", begin, t("Questions are already being drafted; above is the progress."))
    if now.refused:
        untrusted.say(translated(now.refusal), st.info)
    if now.offered:
        st.caption(t("Choose those that people would ask. Each has the name of its section."))
    return _agreed([(one, f" ({passage.full_title})") for one, passage in now.offered], turn)


def _agreed(offered: Iterable[tuple[Draft, str]], turn: int) -> list[Draft]:
    """Those of the questions, each with what is said beside it, that are ticked."""
    return [
        one
        for one, beside in offered
        if st.checkbox(untrusted.label(one.text + beside), key=f"exam.agreed.{turn:d}.{one.origin}.{one.text}")
    ]


def _asked(corpus: str, turn: int) -> list[Draft]:
    kept = history()
    here = set(kept.showing(corpus)) if kept else set()
    asked = [one.question for one in kept.search() if one.id in here] if kept else []
    offered = list(dict.fromkeys(privacy.redact(one, country.chosen()) for one in asked))[:RECENT]
    if not offered:
        st.caption(t("The history has none."))
        return []
    st.caption(t("Private data is taken out. Choose those that people may see who judge."))
    return _agreed([(Draft(one, "history"), "") for one in offered], turn)


def _strategies(key: str, first: Sequence[str]) -> Mapping[str, StrategySpec]:
    offered = _offered()
    chosen = st.multiselect(
        t("Strategies whose passages are judged"), list(offered), [name for name in first if name in offered], key=key,
        placeholder=t("Choose"),
        format_func=lambda name: untrusted.plain(presets.called(name, offered[name])),
        help=t("A strategy that is not among them can be added later: only what it alone finds is then to be judged."),
    )  # fmt: skip
    return {label: offered[label] for label in chosen}


def _offered() -> dict[str, StrategySpec]:
    return {**{name: name for name in rag_core.RECIPES}, **presets.saved()}


def _pool(kept: Exams, exam: Exam, chosen: Mapping[str, StrategySpec]) -> None:
    lab_of = functools.partial(engine().wait, exam.corpus)
    begin = functools.partial(start_pooling, measuring.jobs(), lab_of, kept, exam, chosen)
    measuring.start("pool", begin, t("Passages of this exam are already being found; here is the progress."))


def _exam(kept: Exams, judged: Judgements, lab: rag_core.Lab) -> None:
    exam, now = judged.exam, judged.standing
    mine = kept.is_owner(exam.code, _token())
    if now.pooled:
        _progress(kept, exam, now)
    else:
        untrusted.say(_state(now))
    if judged.to_look_at:
        _look_at(kept, judged, mine=mine)
    if judged.measurable:
        with st.container(horizontal=True, vertical_alignment="center"):
            names = [label for label in judged.strategies if label in rag_core.RECIPES]
            chosen = {"run.data": measuring.exam_title(exam), "strategies": names}
            st.page_link("pages/evaluate/evaluate.py", label=t("Measure on it"), icon="📊", query_params=chosen)
            st.download_button(
                t("Download (BEIR folder)"), functools.partial(as_zip, judged, list(lab.passages.values())),
                f"exam-{exam.code}.zip", "application/zip", key=f"exam.download.{exam.code}", on_click="ignore",
            )  # fmt: skip
    elif now.pooled:
        st.caption(t("It can be measured once somebody says that a passage answers a question, fully or in part."))
    _more(kept, judged)
    if not mine:
        st.caption(t("Only who made this exam, in the same browser, can settle disagreements and delete it."))
        return
    with st.popover(t("Delete this exam")):
        untrusted.say(t("Its questions and what people said of them are deleted for good."), st.markdown)
        if st.button(t("Delete it for good"), type="primary", key=f"exam.delete.{exam.code}"):
            kept.delete_exam(exam.code, _token())
            drop_written(lab.settings.home)
            st.rerun()


def _progress(kept: Exams, exam: Exam, now: Standing) -> None:
    """How far the judges are, and the way in for others; the page is drawn again when they go on."""
    st.progress(now.complete / now.questions, untrusted.label(_state(now)))
    untrusted.draw(render("room.standing", now=now))
    untrusted.draw(rooms.invitation("judge", exam.code, shown_on="documents"))
    rooms.watch(lambda: kept.judgements(exam.code).standing != now, TICK_S)


def _look_at(kept: Exams, judged: Judgements, *, mine: bool) -> None:
    """The passages on which people disagree, which the owner settles, and those that somebody says could harm."""
    with st.expander(t("Passages to look at"), key=f"exam.said.{judged.exam.code}"):
        told = t(
            "People disagree on a passage, and the lower answer counts until you settle it; or they say that it could harm. "
            "To settle: {left} of {count}.", left=len(judged.unsettled), count=len(judged.to_look_at),
        )  # fmt: skip
        untrusted.say(told)
        for card in judged.to_look_at:
            number, passage = card.place
            key = f"settled.{judged.exam.code}.{number:d}.{passage}"
            stored = st.session_state[SETTLED].get(key)
            if st.session_state.get(key) in (None, stored):  # else it could not be stored, which was said
                st.session_state[key] = card.settled
                st.session_state[SETTLED][key] = card.settled
            with st.container(border=True, key=f"card.{key}"):
                st.markdown(f"**{untrusted.label(card.question.text)}**")
                untrusted.draw(judging.card(card.passage))
                answers = ", ".join(judging.words(one.grade) for one in card.people)
                untrusted.say(t("People said: {answers}", answers=answers))
                for how in card.harms:
                    untrusted.say(t("Could harm: {how}", how=how), st.warning)
                judging.grade(
                    t("What counts"), key, labelled=True, required=card.settled is not None, disabled=not mine
                )


def _more(kept: Exams, judged: Judgements) -> None:
    """The strategies whose passages are judged: goes on where finding them stopped, and adds others."""
    code, questions = judged.exam.code, judged.questions
    if any(job.key == f"pool {code}" and not job.over for job in measuring.jobs().all("pool")):
        return
    offered = _offered()
    before = {label: offered[label] for label in judged.strategies if label in offered}
    left = _left(questions, before) if before else len(questions)
    with st.expander(t("Strategies"), expanded=left > 0, key=f"exam.more.{code}.{left > 0}"):
        if left:
            untrusted.say(t("Questions whose passages are still to be found: {count}.", count=left))
        chosen = _strategies(f"exam.also.{code}.{len(before):d}", [*before] or FIRST)
        if st.button(t("Find their passages"), key=f"exam.pool.{code}", disabled=not _left(questions, chosen)):
            _pool(kept, judged.exam, chosen)


def _left(questions: Sequence[ExamQuestion], chosen: Mapping[str, StrategySpec]) -> int:
    """For how many questions these strategies have yet to find passages."""
    return sum(len(asked) for asked, _ in left_to_pool(questions, ev.build_strategies(chosen)))


def _token() -> str:
    return token_from("exam", account.visitor())


@untrusted.errors()
def _settle(kept: Exams, key: str) -> None:
    """Store what the owner says counts, if it is not stored."""
    said = st.session_state.get(key)
    if said in (None, st.session_state[SETTLED][key]):
        return
    _, code, number, passage = key.split(".")
    kept.settle(code, _token(), int(number), passage, said)
    st.session_state[SETTLED][key] = said
