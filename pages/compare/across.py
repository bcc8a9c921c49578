"""What covers all columns, as HTML (across.html): which found which passage, how well, how answers differ and begin."""

import itertools
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.compare import asking, presenter
from pages.compare.passages import same
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import language, t
from pages.drawing.untrusted import label
from pages.shared import controls, corpora, setups, wording
from pages.shared.engine import engine
from pages.shared.live import LETTERS, Column, Comparison
from rag_core.explain import Quoted, answer_differences, together
from rag_core.values.sources import listed
from rag_core.values.trace import SharedPassage, shared_passages

FIRST_WORDS = 60  # characters shown to tell passages with the same title apart


def rows_of(columns: Sequence[Column]) -> list[SharedPassage]:
    """The passages of all columns that are done, with their ranks."""
    return shared_passages([column.trace.ranking if column.trace else None for column in columns])


def table(columns: Sequence[Column], names: Sequence[str]) -> Markup:
    """A table of the passages and their rank in each column, by name; first those that some column missed."""
    rows = rows_of(columns)
    searched = {place: column.trace.corpus for place, column in enumerate(columns) if column.trace}
    rows.sort(key=lambda row: len(row.ranks) == len(searched))
    titles = Counter(row.passage.full_title for row in rows)
    drawn = [
        (same(row.passage.id), row.passage.full_title, _first_words(row.passage, titles), row.ranks) for row in rows
    ]
    heads = [(LETTERS[place], name.removeprefix(LETTERS[place])) for place, name in enumerate(names)]
    return render("across.table", apart=_apart(searched), names=heads, rows=drawn)


def _apart(searched: Mapping[int, str]) -> str:
    """That columns searched different documents, so that a dash is no miss; empty if they did not."""
    if len(set(searched.values())) < 2:
        return ""
    documents = ", ".join(f"{LETTERS[place]} {corpora.title(name)}" for place, name in searched.items())
    return t(
        "The columns searched different documents: {documents}. A dash need not be a miss.",
        documents=documents,
    )


def also_in(columns: Sequence[Column]) -> list[dict[str, str]]:
    """For each column: id of a passage -> which other columns found it too."""
    rows = rows_of(columns)
    return [
        {
            row.passage.id: t("the same in {columns}", columns=", ".join(LETTERS[one] for one in row.ranks))
            if len(row.ranks) == len(columns) and len({*row.ranks.values()}) == 1
            else t(
                "also in {columns}",
                columns=", ".join(LETTERS[other] for other in row.ranks if other != position),
            )
            for row in rows
            if position in row.ranks and len(row.ranks) > 1
        }
        for position in range(len(columns))
    ]


def lights(columns: Sequence[Column]) -> Markup:
    """Style that lights up a shared passage in every column while one of its places has the pointer or the focus."""
    return render("across.lights", shared=[same(row.passage.id) for row in rows_of(columns) if len(row.ranks) > 1])


def _first_words(passage: rag_core.Passage, titles: Mapping[str, int]) -> str:
    """The first words of a passage where another has the same title."""
    if titles[passage.full_title] < 2:
        return ""
    return t("“{title}”", title=textwrap.shorten(passage.text, FIRST_WORDS, placeholder="…"))


def quality(names: Sequence[str], columns: Sequence[Column]) -> Markup:
    """One quiet line with each column's recall, precision, MRR and nDCG; empty unless the question is a judged one."""
    from rag_core import evaluation as ev  # not with the first page

    settings = rag_core.read_settings()
    found = []
    for name, column in zip(names, columns, strict=True):
        try:
            quality = ev.quality_of(column.trace, settings) if column.trace else None
        except rag_core.RagError:  # the judgements cannot be read; Measure says so
            return Markup()
        if quality:
            values = (f"{wording.metric(metric)} {score:.2f}" for metric, score in quality.items())
            found.append((name, ", ".join(values)))
    return render("across.quality", columns=found) if found else Markup()


NAMED = 3  # sections or figures of an answer; more are counted


def draw_differences(run: Comparison, best: int = 0) -> None:
    """Draw what differs, and all answers as one in the order of column `best`, once all end."""
    found = answer_differences([column.trace for column in presenter.seen(run)])
    blind = presenter.blind()
    # strategies close to each other often agree, which would give names away; who declines the verdict says
    found = replace(found, same=(), quoting=()) if blind else replace(found, declined=())
    merged = () if blind else together([column.trace for column in presenter.seen(run)], best)
    answers = {column for quoted in merged for one in quoted.statements for column in one.columns}
    differ = any(len(one.columns) < len(answers) for quoted in merged for one in quoted.statements)
    sections = [(quoted.title, _statements(quoted, len(answers))) for quoted in merged] if differ else []
    words = " ".join(found.in_words(language(), NAMED))
    if words or sections:
        untrusted.draw(render("across.differences", words=words, sections=sections))


def offer_other(run: Comparison) -> None:
    """Offer, for a column whose answer another gives too, a strategy that answers differently: found once a comparison."""
    twins = [columns[-1] for columns in run.differences.same if columns[-1] < controls.columns()]
    if not twins or not engine().free or presenter.on():  # where it costs, nothing is answered only to see
        return
    place = twins[-1]
    if place not in run.others:
        run.others[place] = _other(run, run.columns[place].setup)
    if setup := run.others[place]:
        words = t("Replace {column} by a strategy that answers differently", column=LETTERS[place])
        st.button(label(words), key="apart.replace", on_click=_replace, args=(run, place, setup))


def alike(columns: Sequence[Column]) -> list[tuple[str, bool]]:
    """For each column: that others give the same answer, in words, and whether an earlier one does."""
    found = [("", False)] * len(columns)
    for first, *others in answer_differences([column.trace for column in columns]).same:
        found[first] = t("The same in {columns}", columns=letters((first, *others))), False
        for place in others:
            found[place] = t("The same as in {column}", column=LETTERS[first]), True
    return found


def _statements(quoted: Quoted, answers: int) -> Sequence[tuple[str, str, bool]]:
    """What the columns say of a section: their letters, the words, and whether all say so."""
    return [
        (" ".join(LETTERS[place] for place in columns), " ".join(one.text for one in statements), len(columns) == answers)
        for columns, statements in itertools.groupby(quoted.statements, key=lambda one: one.columns)
    ]  # fmt: skip


def letters(columns: Iterable[int]) -> str:
    """Columns by their letters: "A, B and C"."""
    return listed([LETTERS[place] for place in columns], language())


def _replace(run: Comparison, place: int, setup: rag_core.Setup) -> None:
    setups.put(place, setup)
    st.session_state[asking.NOW] = run.question


def _other(run: Comparison, twin: rag_core.Setup) -> rag_core.Setup | None:
    """What to run instead of `twin`; None if every other strategy gives an answer that is there, or fails."""
    shown = {column.strategy.name for column in run.columns}
    names = dict.fromkeys((*controls.DEFAULT_COLUMNS, *rag_core.RECIPES))
    found = (replace(twin, strategy=rag_core.build(name)) for name in names if name not in shown)
    return next((setup for setup in found if _differs(run, setup)), None)


def _differs(run: Comparison, setup: rag_core.Setup) -> bool:
    """Whether a column would give an answer that no column gives yet."""
    try:
        lab = engine().wait(setup.corpus or run.corpus)
        (trace,) = lab.compare(run.question, [setup], country=run.country)
    except rag_core.RagError:
        return False
    found = answer_differences([*(column.trace for column in run.columns), trace])
    last = len(run.columns)
    return last not in found.declined and not any(last in columns for columns in found.same)
