"""Which passages did an answer need? The answer again without one of them, shown in that passage."""

from collections.abc import Mapping, Sequence

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.compare import asking, changes, presenter, verdict
from pages.compare.passages import same
from pages.drawing.fragments import note, presser, render
from pages.drawing.translate import problem, t
from pages.drawing.untrusted import label
from pages.shared import account
from pages.shared.engine import engine
from pages.shared.live import Comparison
from rag_core.runtime.run import using
from rag_core.runtime.spending import payer
from rag_core.values.model_choice import OFFLINE_MODEL


def beside(run: Comparison, place: int) -> Mapping[str, Markup]:
    """For each passage of a column, by id: what answers again without it, or that answer."""
    trace = run.columns[place].trace
    if trace is None or not (hits := _hits(run, place)):
        return {}
    words = t("Without it")
    if not (trace.engine.get("llm") or OFFLINE_MODEL).startswith(OFFLINE_MODEL):
        cost = rag_core.Cost.of(trace.steps[-1].calls)  # of the answer from all passages
        words = t("Without it: one call, about {cost}", cost=cost)
    return {
        hit.id: _told(trace, found, place)
        if (found := run.without.get((place, hit.id)))
        else note(presser(_key(place, hit), words, words))
        for hit in hits
    }


def shown(run: Comparison, place: int) -> Sequence[str]:
    """The passages of a column, by id, in which that answer stands."""
    return [hit.id for hit in _hits(run, place) if (place, hit.id) in run.without]


@st.fragment
def buttons(run: Comparison) -> None:
    """The buttons that those in the passages press."""
    for place in range(len(run.columns)):
        for hit in _hits(run, place):
            if st.button(label(hit.passage.full_title), key=_key(place, hit)):
                _leave_out(run, place, hit.id)
                st.rerun()


def _hits(run: Comparison, place: int) -> Sequence[rag_core.Hit]:
    trace = run.columns[place].trace
    offered = run.over and not presenter.on() and asking.may_leave(run.question)
    return trace.ranking.hits if offered and trace and trace.answer else ()


def _key(place: int, hit: rag_core.Hit) -> str:
    return f"without-{place:d}-{same(hit.id)}"


def _leave_out(run: Comparison, place: int, passage: str) -> None:
    trace = run.columns[place].trace
    assert trace is not None  # only a finished column has these buttons
    try:
        with using(payer, account.payer()):
            found = engine().wait(trace.corpus).without(trace, passage)
    except rag_core.RagError as error:
        run.without[place, passage] = error
        run.later += tuple(error.calls)
    else:
        run.without[place, passage] = found
        run.later += found.steps[-1].calls


def _told(before: rag_core.Trace, after: rag_core.Trace | rag_core.RagError, place: int) -> Markup:
    if isinstance(after, rag_core.RagError):
        return render("changes.no_answer_without", problem=problem(after))
    from rag_core import evaluation as ev

    was, now = ev.column_verdicts([before, after], rag_core.read_settings())
    verdicts = None
    if was and now and was != now and was.basis == "judged":
        verdicts = [verdict.sentence(one, [place]) for one in (was, now)]
    kinds = changes.sentences(before.answer, after.answer) if before.answer and after.answer else None
    return render("changes.without", verdicts=verdicts, kinds=kinds)
