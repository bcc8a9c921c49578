"""What covers all columns, drawn as HTML: which found which passage, how well, how answers differ and begin."""

import itertools
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

import rag_core
from pages.compare import asking, presenter
from pages.compare.passages import same
from pages.drawing import untrusted
from pages.drawing.pieces import note, opener, presser
from pages.drawing.translate import language, t
from pages.drawing.untrusted import bold, escape, label
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


def table(columns: Sequence[Column], names: Sequence[str]) -> str:
    """A table of the passages and their rank in each column, by name; first those that some column missed."""
    rows = rows_of(columns)
    searched = {place: column.trace.corpus for place, column in enumerate(columns) if column.trace}
    rows.sort(key=lambda row: len(row.ranks) == len(searched))
    titles = Counter(row.passage.full_title for row in rows)
    head = "".join(
        f'<th scope="col" class="rl-rank">{escape(LETTERS[place])}'
        f'<span class="rl-wide">{escape(name.removeprefix(LETTERS[place]))}</span></th>'
        for place, name in enumerate(names)
    )
    body = "".join(
        f'<tr class="{same(row.passage.id)}"><td>{_title(row.passage, titles)}</td>'
        + "".join(_rank(row, position) for position in range(len(columns)))
        + "</tr>"
        for row in rows
    )
    return (
        f'{_apart(searched)}<div class="rl-scroll"><table class="rl-table rl-found"><thead><tr>'
        f'<th scope="col">{t("Passage")}</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _apart(searched: Mapping[int, str]) -> str:
    """That columns searched different documents, so that a dash is no miss; empty if they did not."""
    if len(set(searched.values())) < 2:
        return ""
    documents = ", ".join(f"{LETTERS[place]} {corpora.title(name)}" for place, name in searched.items())
    return note(
        t(
            "The columns searched different documents: {documents}. A dash need not be a miss.",
            documents=documents,
        )
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


def lights(columns: Sequence[Column]) -> str:
    """Style that lights up a shared passage in every column while one of its places has the pointer or the focus."""
    shared = [same(row.passage.id) for row in rows_of(columns) if len(row.ranks) > 1]
    rules = "".join(
        f".stMain:has(.{escape(one)}:is(:hover, :focus-within)) .{escape(one)} "
        "{ outline: 2px solid var(--rl-accent); background: color-mix(in srgb, var(--rl-accent) 8%, transparent); }"
        for one in shared
    )
    return f"<style>{rules}</style>"


def _rank(row: SharedPassage, position: int) -> str:
    if position not in row.ranks:
        name = t("How {column} lost “{title}”", column=LETTERS[position], title=row.passage.full_title)
        return f'<td class="rl-rank rl-absent">{presser(f"way-{same(row.passage.id)}", "–", name)}</td>'
    rank = row.ranks[position]
    return f'<td class="rl-rank">{opener(position, rank, f"#{rank:d}", "rl-open", t("Open passage {rank:d} of {column}", rank=rank, column=escape(LETTERS[position])))}</td>'


def _title(passage: rag_core.Passage, titles: Mapping[str, int]) -> str:
    """A passage's title, with its first words where another passage has the same title."""
    title = escape(passage.full_title)
    if titles[passage.full_title] < 2:
        return title
    quoted = t("“{title}”", title=textwrap.shorten(passage.text, FIRST_WORDS, placeholder="…"))
    return f"{title} <small>{escape(quoted)}</small>"


def quality(names: Sequence[str], columns: Sequence[Column]) -> str:
    """One quiet line with each column's recall, precision, MRR and nDCG; empty unless the question is a judged one."""
    from rag_core import evaluation as ev  # not with the first page

    settings = rag_core.read_settings()
    found = []
    for name, column in zip(names, columns, strict=True):
        try:
            quality = ev.quality_of(column.trace, settings) if column.trace else None
        except rag_core.RagError:  # the judgements cannot be read; Measure says so
            return ""
        if quality:
            values = (f"{wording.metric(metric)} {score:.2f}" for metric, score in quality.items())
            found.append(f"<b>{escape(name)}</b>: {escape(', '.join(values))}")
    if not found:
        return ""
    told = t("One of the lab's measuring questions; by its judgements, which language models made:")
    return f'<p class="rl-note">{escape(told)} {"; ".join(found)}.</p>'


NAMED = 3  # sections or figures of an answer; more are counted


def draw_differences(run: Comparison, best: int = 0) -> None:
    """Draw what differs, and all answers as one in the order of column `best`, once all end."""
    found = answer_differences([column.trace for column in presenter.seen(run)])
    blind = presenter.blind()
    # strategies close to each other often agree, which would give names away; who declines the verdict says
    found = replace(found, same=(), quoting=()) if blind else replace(found, declined=())
    merged = () if blind else together([column.trace for column in presenter.seen(run)], best)
    sentences = bold(" ".join(found.in_words(language(), NAMED)))
    told = f"<p>{sentences}</p>" if sentences else ""
    answers = {column for quoted in merged for one in quoted.statements for column in one.columns}
    differ = any(len(one.columns) < len(answers) for quoted in merged for one in quoted.statements)
    whole = "".join(_quoted(quoted, len(answers)) for quoted in merged) if differ else ""
    if whole:
        title = t("What differs between the answers")
        untrusted.draw(f'<details class="rl-apart"><summary>{title}</summary>{told}{whole}</details>')
    elif told:
        untrusted.draw(f'<div class="rl-apart">{told}</div>')


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


def _quoted(quoted: Quoted, answers: int) -> str:
    """One section, with the letters of the columns before what they say of it; quiet where all do."""
    rows = "".join(
        f'<li class="{"rl-all" if len(columns) == answers else "rl-some"}">'
        f'<b class="rl-by">{escape(" ".join(LETTERS[place] for place in columns))}</b>'
        f"<span>{escape(' '.join(one.text for one in statements))}</span></li>"
        for columns, statements in itertools.groupby(quoted.statements, key=lambda one: one.columns)
    )
    title = quoted.title or t("In no passage")
    return f'<section class="rl-together"><h5>{escape(title)}</h5><ul>{rows}</ul></section>'


def letters(columns: Iterable[int]) -> str:
    """Columns by their letters: "A, B and C"."""
    return escape(listed([LETTERS[place] for place in columns], language()))


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
