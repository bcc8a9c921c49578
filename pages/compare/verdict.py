"""Which answer answers the question: a line above the columns, and how the others lost the section that answers it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st
from markupsafe import Markup
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.compare import across, asking, presenter, room
from pages.compare.how_it_got_here import UNQUOTED, lost, quotes
from pages.compare.passages import same
from pages.drawing import untrusted
from pages.drawing.fragments import render, tip
from pages.drawing.translate import in_words, problem, t, translated, words_for
from pages.drawing.untrusted import label
from pages.shared import account, rooms, setups
from pages.shared.engine import engine
from pages.shared.live import LETTERS, Column, Comparison
from rag_core.explain import Fate, WhyNot, fates, flow_columns
from rag_core.runtime.context import Context
from rag_core.runtime.run import using
from rag_core.runtime.spending import payer
from rag_core.sessions.panel.room import Room
from rag_core.values.answers import bold_as_html

if TYPE_CHECKING:
    from rag_core import evaluation as ev

SENTENCES = words_for("verdicts")
MISSED = ("partly", "misses", "declines", "harmful", "by_notice", "buries")  # what a column is asked why for
ORDER = [(kind, basis) for kind, bases in SENTENCES.items() for basis in bases]  # best first


def draw(run: Comparison) -> DeltaGenerator | None:
    """Draw the verdict and what differs, or the room for them; returns the place for what takes longer to know, if any."""
    with st.container(key="verdict", gap="xsmall"):
        if not run.over:
            untrusted.draw(render("across.verdict_to_come"))
            with _row():
                untrusted.draw(render("across.missed", words="\u00a0"))
            return None
        if presenter.blind():
            with _row():
                across.draw_differences(run)
            return None
        from rag_core import evaluation as ev  # not with the first page

        columns = presenter.seen(run)
        try:
            if run.verdicts is None:
                run.verdicts = ev.column_verdicts([column.trace for column in run.columns], rag_core.read_settings())
            verdicts = run.verdicts
        except rag_core.RagError as error:  # the judgements cannot be read
            untrusted.say(problem(error))
            verdicts = (None,) * len(columns)
        judged = any(one and one.basis == "judged" for one in verdicts)
        if run.by_model and not judged:
            verdicts = run.by_model[0]
        found = [verdicts[place] for place in presenter.places(run)]
        untrusted.draw(render("across.verdict", sentences=list(_sentences(run, found)), basis=_basis(run, found)))
        with _row():
            _why(run, columns, found)
            if not (judged or run.by_model):
                _ask_model(run)
            told = any(one and one.basis != "urgent" for one in found)
            if not told and run.traces and not presenter.on():
                presenter.ballot(run)
            best = [place for place, one in enumerate(found) if one and one.kind == "answers"]
            across.draw_differences(run, best[0] if best else 0)
            return st.container(key="other")


def _row() -> DeltaGenerator:
    return st.container(horizontal=True, vertical_alignment="center", gap="small", key="apart")


def _sentences(run: Comparison, found: Sequence[ev.ColumnVerdict | None]) -> Iterator[str]:
    """What is to be said of each column, best first, of those of whom it is the same at once; after people unless judged."""
    groups: dict[str, list[int]] = {}
    for place, one in sorted(enumerate(found), key=lambda each: _order(each[1])):
        if one:
            groups.setdefault(sentence(one, [0]), []).append(place)
    told = [sentence(one, places) for places in groups.values() if (one := found[places[0]])]
    people = [*_people(run)]
    judged = any(one and one.basis == "judged" for one in found)
    yield from (*told, *people) if judged else (*people, *told)
    if not (told or people):
        yield t("Not judged: which answer is better?")


def sentence(one: ev.ColumnVerdict, places: Sequence[int], called: str = "") -> Markup:
    """The verdict on columns that share it, by their letters or as they are called."""
    kind, basis = ORDER[_order(one)]
    words = SENTENCES[kind][basis][len(places) > 1]
    begins = (one.begins.heading or one.begins.title) if one.begins else t("no source")
    columns = called or across.letters(places)
    return bold_as_html(t(words, columns=columns, lacks=one.lacks, says=one.says, begins=begins))


def _order(one: ev.ColumnVerdict | None) -> int:
    """The place in ORDER of what is said of a column; a model's verdict is worded as a judged one."""
    if one is None:
        return len(ORDER)
    as_if = ("estimated" if one.kind == "declines" else "judged") if one.basis == "model" else one.basis
    return ORDER.index((one.kind, as_if))


def _people(run: Comparison) -> Iterator[str]:
    """How it was voted here, and by the room that was asked, once its names are shown."""
    order = [*presenter.places(run)]
    if run.best is not None and run.differences.is_tie(run.best):
        yield t("Voted here: all are equally good.")
    elif run.best:
        best = across.letters(map(order.index, run.best))
        yield bold_as_html(t("Voted best here: **{columns}**.", columns=best))
    elif run.best is not None:
        yield t("Voted here: none is good enough.")
    if votes := _preferred(run):
        counts = (f"**{LETTERS[order.index(place)]}** {count}" for place, count in votes.most_common())
        yield bold_as_html(t("Votes of the room: {votes}.", votes=", ".join(counts)))


def _preferred(run: Comparison) -> Counter[int]:
    opened: Room | None = st.session_state.get(room.ROOM)
    answered = {place: one.trace for place, one in enumerate(run.columns) if one.trace and one.trace.answer}
    try:
        kept = rooms.store() if opened else None
        asked = kept.current(opened.code) if kept and opened else None
        if not (kept and asked and asked.revealed and asked.question.text == run.question):
            return Counter()
        votes = [one for one in kept.votes(asked.room) if one.round == asked.number]
    except rag_core.RagError:  # the line of the room says why
        return Counter()
    put = [one.trace.fingerprint for one in asked.question.answers]
    if put != [trace.fingerprint for trace in answered.values()]:
        return Counter()  # it was asked with other columns
    return Counter([*answered][one.better] for one in votes if one.better is not None)


def _basis(run: Comparison, found: Sequence[ev.ColumnVerdict | None]) -> Markup:
    """What the verdicts rest on: a word, and more on hover or focus."""
    bases = {one.basis for one in found if one}
    if run.by_model and "model" in bases:
        calls = run.by_model[1]
        word = t("By {model}", model=setups.called(calls[-1].model) if calls else t("a model"))
        told = t(
            "Judged by a language model, which read the answers without names and may be wrong; no person has checked "
            "it. It cost {cost}.",
            cost=rag_core.Cost.of(calls),
        )
    elif "judged" in bases:
        word = t("Judged")
        told = t(
            "Judged by what an answer to this question must say; language models wrote that, no clinician has "
            "reviewed it."
        )
    elif "urgent" in bases:
        word = t("Urgent")
        told = t(
            "By what each begins with. Whether it answers is not estimated for an urgent question: sections on harmless cases "
            "look like the right ones."
        )
    elif "estimated" in bases:
        from rag_core import evaluation as ev

        counted = ev.estimates(rag_core.read_settings().data)
        word = t("Estimated")
        told = t(
            "Estimated by the section that each begins with: its label, and whether another column begins with it too. Of "
            "test answers, {answers} that “probably answer” did, and {partly} that “may answer”.",
            **{
                kind: t("{answered} of {of}", answered=counted[kind].answered, of=counted[kind].of)
                for kind in ("answers", "partly")
            },
        )
    else:
        return Markup()
    return tip(word, told, "rl-how")


@untrusted.errors(st.caption)
def _ask_model(run: Comparison) -> None:
    """The button that asks the judge for verdicts, with their price; nothing where that would send private data."""
    from rag_core import evaluation as ev

    lab, traces = engine().wait(run.corpus), [column.trace for column in run.columns]
    judge = lab.engines.paid.get("judge")
    written = any(trace and trace.answer and not trace.answer.abstained for trace in traces)
    if judge is None or not written or not asking.may_leave(run.question):
        return
    bill = ev.bill_of_verdicts(traces, lab.rehearsal()).cost
    model = label(setups.called(judge.name))
    words = t("Ask {model}: at most {bill}", model=model, bill=label(bill))
    told = t("One call for all answers, which it gets without names.")
    if not st.button(words, key="verdict.ask", help=told):
        return
    try:
        with st.spinner(t("Asking {model}…", model=model)), using(payer, account.payer()):
            run.by_model = ev.verdicts_by_model(traces, Context(lab.services(run.country)))
    except rag_core.RagError as error:
        run.later += tuple(error.calls)
        raise
    run.later += tuple(run.by_model[1])
    st.rerun()


@untrusted.errors(st.caption)
def _why(run: Comparison, columns: Sequence[Column], found: Sequence[ev.ColumnVerdict | None]) -> None:
    """What became, in each column that does not answer, of the section that does."""
    from rag_core import evaluation as ev

    traces = [column.trace for column in columns]
    lab = engine().wait(run.corpus)
    section = ev.would_answer(traces, found, lab.passages, lab.settings)
    if section is None:
        return
    missed = {
        place: trace
        for place, (trace, one) in enumerate(zip(traces, found, strict=True))
        if trace and trace.corpus == lab.corpus and one and one.kind in MISSED and not quotes(trace, section.id)
    }
    ways_lost = {place: _lost(lab.why_not(trace, section.id)) for place, trace in missed.items()}
    if not ways_lost:
        return
    bases = {one.basis for one in found if one}
    title = section.heading or section.title
    if "judged" in bases:
        told = t("“{title}” answers it.", title=title)
    elif "urgent" in bases:
        told = t("“{title}” says what to do now.", title=title)
    else:
        told = t("“{title}” probably answers it.", title=title)
    lost_so = (f"**{LETTERS[place]}** {sentence}" for place, sentence in ways_lost.items())
    untrusted.draw(render("across.missed", words=" ".join((told, *lost_so))))
    if not presenter.on() and st.button(t("How it was lost"), key="verdict.why"):
        st.dialog(t("How it was lost"), width="large")(_way)(run, columns, section)


def _lost(found: WhyNot) -> str:
    if found.fate is None:
        return t("never found it.")
    if found.fate.used:
        return t(UNQUOTED, rank=found.fate.rank)
    return t("lost it: {how}.", how=translated(found.fate.text))


def ways(run: Comparison, columns: Sequence[Column]) -> None:
    """The buttons that the dashes of the table press: each opens the way of a passage through all columns."""
    for row in across.rows_of(columns):
        if len(row.ranks) < len(columns) and st.button(
            label(row.passage.full_title), key=f"way-{same(row.passage.id)}"
        ):
            st.dialog(t("How it was lost"), width="large")(_way)(run, columns, row.passage)


@untrusted.errors()
def _way(run: Comparison, columns: Sequence[Column], section: rag_core.Passage) -> None:
    """The way of a section through the stages of every column, and the control values that would bring it back."""
    st.markdown(f"**{label(section.full_title)}**")
    shown = zip(LETTERS, presenter.places(run), columns, st.columns(len(columns)), strict=False)
    for letter, place, column, cell in shown:
        if (trace := column.trace) is None:
            continue
        lab = engine().wait(trace.corpus)
        fate = next((one for one in fates(trace) if one.passage.id == section.id), None)
        with cell:
            way = render(
                "across.way", letter=letter, title=setups.title(column.setup), lost=lost(trace, section.id, lab),
                steps=_steps(trace, fate) if fate else (),
            )  # fmt: skip
            untrusted.draw(way)
            if section.id in lab.passages and not (fate and fate.used) and not presenter.on():
                _bring_back(run, place, lab, trace, section)


def _steps(trace: rag_core.Trace, fate: Fate) -> Sequence[tuple[str, str, str]]:
    """Each step up to the one that lost a passage: its title, the passage's rank, and that it is lost there."""
    flow = flow_columns(trace)
    ranks = fate.ranks(flow)
    last = max(place for place, rank in enumerate(ranks) if rank)
    rows = []
    for place, (step, rank) in enumerate(zip(flow[: last + 2], ranks, strict=False)):
        found, mark = f"#{rank}" if rank else "–", ""
        if place > last:
            found, mark = "", t("lost here")
        elif place == len(flow) - 1 == last and not quotes(trace, fate.passage.id):
            mark = t("not quoted")
        rows.append((translated(step.title), found, mark))
    return rows


def _bring_back(
    run: Comparison, place: int, lab: rag_core.Lab, trace: rag_core.Trace, section: rag_core.Passage
) -> None:
    """The nearest value of each control with which the column uses the section, and a button that sets it."""
    with st.spinner(t("Trying values; no model is called…")):
        tips = lab.tipping_points(trace)
    points = [(one, point) for one in tips for point in one.points if section in [each for _, each in point.gained]]
    for one, point in points:
        control, value = label(translated(one.label)), label(in_words(point.value))
        if st.button(
            t("Set {control} to {value} and run again", control=control, value=value),
            key=f"verdict.set.{place}.{one.control}.{point.value}",
            disabled="[" in one.control,
            on_click=_set,
            args=(run, place, one.control, point.value),
        ):
            st.rerun()  # the page too, not the dialog alone
    if not points:
        st.caption(t("No single control brings it back."))


def _set(run: Comparison, place: int, control: str, value: object) -> None:
    setup = run.columns[place].setup
    strategy = rag_core.build((setup.strategy.name, {**setup.strategy.controls, control: value}))
    setups.put(place, replace(setup, strategy=strategy))
    st.session_state[asking.NOW] = run.question
