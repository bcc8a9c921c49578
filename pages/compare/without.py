"""Which passages did an answer need? The answer again without one of them, shown in that passage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

import rag_core
from pages.compare import asking, changes, presenter, verdict
from pages.compare.passages import same
from pages.drawing.pieces import presser
from pages.drawing.translate import problem, t
from pages.drawing.untrusted import escape, label
from pages.shared import account
from pages.shared.engine import engine
from pages.shared.live import Comparison
from rag_core.runtime.spending import paying
from rag_core.values.model_choice import OFFLINE_MODEL


class Beside(NamedTuple):
    """What stands below the text of a passage, as HTML, and whether it is shown open."""

    html: str = ""
    opened: bool = False


def beside(run: Comparison, place: int) -> Mapping[str, Beside]:
    """For each passage of a column, by id: what answers again without it, or that answer."""
    trace = run.columns[place].trace
    if trace is None or presenter.on() or not (run.over and trace.answer and asking.may_leave(run.question)):
        return {}
    words = _priced(trace)
    return {
        hit.id: Beside(_told(trace, found, place), opened=True)
        if (found := run.without.get((place, hit.id)))
        else Beside(f'<p class="rl-note">{presser(_key(place, hit), words, words)}</p>')
        for hit in trace.ranking
    }


@st.fragment
def buttons(run: Comparison) -> None:
    """The buttons, hidden, that those in the passages press."""
    with st.container(key="withouts"):
        for place in range(len(run.columns)):
            trace = run.columns[place].trace
            for hit in trace.ranking if trace and beside(run, place) else ():
                if st.button(label(hit.passage.full_title), key=_key(place, hit)):
                    _leave_out(run, place, hit.id)
                    st.rerun()


def _key(place: int, hit: rag_core.Hit) -> str:
    return f"without-{place:d}-{same(hit.id)}"


def _priced(trace: rag_core.Trace) -> str:
    """What the button says; where a paid model answers, what the answer with all passages cost."""
    if (trace.engine.get("llm") or OFFLINE_MODEL).startswith(OFFLINE_MODEL):
        return t("Without it")
    cost = rag_core.Cost.of(trace.steps[-1].calls)
    if cost.usd is None:
        return t("Without it: one call, whose price is not known")
    return t("Without it: one call, about {cost}", cost=cost)


def _leave_out(run: Comparison, place: int, passage: str) -> None:
    trace = run.columns[place].trace
    assert trace is not None  # only a finished column has these buttons
    try:
        with paying(account.payer()):
            found = engine().wait(trace.corpus).without(trace, passage)
    except rag_core.RagError as error:
        run.without[place, passage] = error
        run.later += tuple(error.calls)
    else:
        run.without[place, passage] = found
        run.later += found.steps[-1].calls


def _told(before: rag_core.Trace, after: rag_core.Trace | rag_core.RagError, place: int) -> str:
    if isinstance(after, rag_core.RagError):
        return f'<p class="rl-box rl-bad" role="alert">{escape(problem(after))}</p>'
    from rag_core import evaluation as ev

    assert before.answer is not None  # its last stage wrote it, as here
    assert after.answer is not None
    told = changes.without(before.answer, after.answer)
    was, now = ev.column_verdicts([before, after], rag_core.read_settings())
    if was and now and "judged" == was.basis == now.basis and was != now:
        told += f"<p>{t('With it:')} {verdict.sentence(was, [place])} {t('Without it:')} {verdict.sentence(now, [place])}</p>"
    return f'<div class="rl-without" role="status"><b>{escape(t("Without this passage"))}</b>{told}</div>'
