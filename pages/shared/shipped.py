"""The measurement that ships with the lab, read without `rag_core.evaluation`, which the first page does not load."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import declared, t, translated
from pages.shared import wording
from rag_core.documents.documents import BUILTIN
from rag_core.values.places import DATA

if TYPE_CHECKING:
    from rag_core import evaluation as ev

RESULTS = DATA / "results.json"
NAME = "shipped"  # of this measurement in the address of Evaluate
NAMED = 3  # strategies in the line; its table has all
MEANING = declared(
    "nDCG@10: how early the documents judged relevant come; 1 is perfect, 0 is none of them. In brackets: 95 % interval. "
    "Language models judged."
)
ABOUT = declared("This measurement ships with the lab: the built-in documents, searched with the offline engine.")
ROLES = ("embedding_model", "reranker_model", "index_content")  # of an engine, that every strategy may use
# purpose of a strategy's calls -> the role that answers them
CALLED = {"rewrite": "rewriter", "judge": "judge"}


@functools.cache
def results() -> ev.Results:
    """The stored result of `make results`, whole."""
    from rag_core import evaluation as ev

    return ev.Results.read(RESULTS, "Run `make results`.")


@functools.cache
def _measured() -> dict[str, Any]:
    measured: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return measured


@functools.cache
def _labels() -> dict[str, str]:
    """Fingerprint -> label of every strategy, with its settings, that was measured."""
    return {row["fingerprint"]: label for label, row in _measured()["manifest"]["strategies"].items()}


def _score(label: str) -> dict[str, float]:
    score: dict[str, float] = _measured()["strategies"][label]["metrics"][_measured()["primary"]]
    return score


def _written(label: str) -> str:
    score = _score(label)
    return f"{score['mean']:.2f} ({score['ci_low']:.2f}–{score['ci_high']:.2f})"


def measured(trace: rag_core.Trace) -> tuple[float, float, float] | None:
    """nDCG@10 of what a trace ran, its mean and 95 % interval; None unless it ran as measured."""
    strategy = rag_core.build((trace.strategy, trace.controls)).without_answer()
    label = _labels().get(strategy.fingerprint)
    other = trace.models or trace.where or trace.corpus != BUILTIN
    if label is None or other or not _as_measured(strategy, trace.engine):
        return None
    score = _score(label)
    return score["mean"], score["ci_low"], score["ci_high"]


def _as_measured(strategy: rag_core.Strategy, now: Mapping[str, str | None]) -> bool:
    """Whether the models and indexes that decide a strategy's ranking are those that were measured."""
    then = _measured()["manifest"]["engine"]
    calls = rag_core.RECIPES[strategy.name].calls
    roles = (*ROLES, *(role for purpose, role in CALLED.items() if purpose in calls))
    same = all(now.get(role) == then[role] for role in roles)
    # its name counts how often it was built; the content's digest comes last
    if strategy.controls.get("enriched"):
        indexes = (then["enriched_index"], now.get("enriched_index"))
        same = same and len({(one or "").rpartition(", ")[2] for one in indexes}) == 1
    return same


@st.fragment
def draw(corpus: str) -> None:
    """The strategies in one line, best first, and whether that is real, on a click; nothing for one's own documents."""
    if corpus != BUILTIN:
        return
    with st.container(horizontal=True, vertical_alignment="top", gap="small", key="shipped"):
        untrusted.draw(_line())
        asked = st.button(t("Is it real?"), key="shipped.real", type="tertiary")
    if not asked:
        return
    page = {"view": "results", "run": NAME}
    with st.container(key="shipped.told", gap="xsmall"):
        untrusted.say(whether_real(results()))
        st.page_link("pages/evaluate/evaluate.py", label=t("All of it"), query_params=page)


def whether_real(found: ev.Results) -> str:
    """A sentence that says whether the best strategy really differs from the one it is compared with."""
    from pages.shared import claims  # with the libraries of measuring

    entries = _measured()["manifest"]["strategies"]
    best = {label for label, one in entries.items() if one["strategy"] == _best_first()[0]}
    pair = next(one for one in found.comparisons if one.a in best)
    verdict = claims.verdict(found, pair)
    if pair.different:
        return t("Yes: {verdict} {count:,} questions.", verdict=verdict, count=pair.n)
    return t("No: {verdict} {count:,} questions.", verdict=verdict, count=pair.n)


def _best_first() -> list[str]:
    known = rag_core.RECIPES.keys() & _measured()["strategies"]  # one of a package has not been measured
    return sorted(known, key=lambda name: (-_score(name)["mean"], name))


def _line() -> Markup:
    measured, names = _measured(), _best_first()
    return render(
        "strategies.measured", count=measured["queries"],
        best=[(wording.strategy(name), f"{_score(name)['mean']:.2f}") for name in names[:NAMED]],
        rows=[(wording.strategy(name), _written(name)) for name in names],
        about=" ".join(map(translated, (ABOUT, measured["judged_by"], MEANING))),
    )  # fmt: skip
