"""Every strategy: its stages, when it helps, what it costs, where it comes from and what its source claims."""

from collections.abc import Mapping

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import listed, render
from pages.drawing.translate import in_words, t, translated
from pages.drawing.untrusted import Label, label
from pages.shared import claims, presets, shipped
from pages.shared.controls import preset_column, strategy_of
from pages.shared.wording import model_calls
from rag_core.catalog import Control
from rag_core.explain.flow import outline


def main() -> None:
    """Draw the page."""
    st.header(t("How each strategy works"), anchor=False)
    st.caption(t("Generated from the definitions that the app, the command line and the tests use."))
    names = list(rag_core.RECIPES)
    for name, tab in zip(
        names, st.tabs([label(translated(rag_core.RECIPES[name].title)) for name in names]), strict=True
    ):
        with tab:
            _strategy(rag_core.RECIPES[name])
    st.divider()
    _claims()


def _strategy(recipe: rag_core.Recipe) -> None:
    st.markdown(label(translated(recipe.summary)))
    preset, key, shown = None, f"guide.{recipe.name}", presets.offered(recipe)
    if shown:
        preset = st.segmented_control(
            t("Preset"), [one.name for one in shown], key=key, format_func=lambda name: label(presets.title(name)),
            help=presets.helps(shown),
        )  # fmt: skip
    values = next((one.values for one in shown if one.name == preset), {})
    strategy = strategy_of(recipe, values)  # a saved preset may no longer fit
    if preset:
        presets.edit(recipe, preset, key)
    untrusted.draw(render("strategies.diagram", name=strategy.name, stages=outline(strategy)))
    left, right = st.columns(2)
    left.markdown(t("**Good for.** {helps}", helps=label(translated(recipe.helps))))
    right.markdown(t("**Not good for.** {hurts}", hurts=label(translated(recipe.hurts))))
    calls = _calls(recipe.calls)
    cost = t("**Cost.** Language model calls per question with the defaults, at most: {calls}.", calls=calls)
    if calls := _calls(recipe.most_calls):
        cost += " " + t("With other switches and choices, at most: {calls}.", calls=calls)
    left.markdown(cost)
    right.markdown(t("**Source.** {source}", source=label(translated(recipe.source))))
    with st.expander(t("Controls and their defaults")):
        untrusted.draw(_controls(recipe))
    if st.button(t("Try it on the Compare page"), key=f"guide.try.{recipe.name}"):
        preset_column(0, recipe.name, strategy.controls)
        st.switch_page("pages/compare/compare.py")


def _calls(counted: Mapping[str, int]) -> Label:
    return label(" + ".join(model_calls(purpose, count) for purpose, count in counted.items()))


def _controls(recipe: rag_core.Recipe) -> Markup:
    rows = (
        (
            render("strategies.control", control=control),
            in_words(control.plain(control.parse(control.default))),
            _range(control),
            translated(control.help),
        )
        for control in recipe.controls
    )
    return listed((t("Control"), t("Default"), t("Range"), t("What it does")), rows, "rl-scroll")


def _range(control: Control) -> str:
    shape = control.as_json()
    if shape["choices"]:
        return ", ".join(map(in_words, shape["choices"]))
    if control.type == "prompt":
        return t("your own text")
    if shape["min"] is None:
        return t("on, off")
    unit = translated(shape["unit"])
    return t("{min:g} to {max:g}, step {step:g} {unit}", **{**shape, "unit": unit}).strip()


def _claims() -> None:
    results = shipped.results()
    st.subheader(t("Published claims and our own measurements"), anchor=False)
    st.caption(
        t(
            "Grey: as published. Below or beside it: our results on {queries:,} built-in test questions with "
            "the offline engine (mean and 95 % interval over questions, from `make results`).",
            queries=results.queries,
        )
    )
    st.markdown(
        t("**Multi-query and its alternatives** (Multi-Query Rewriter RAG, Comparison with Other Architectures)")
    )
    untrusted.draw(claims.comparison(results))
    st.markdown(
        t("**What a question to multi-query takes and costs** (Multi-Query Rewriter RAG, Performance Characteristics)")
    )
    untrusted.draw(claims.spent(results))
    st.caption(
        t(
            "The published parts add up to 4 to 7 s and 0.0033 to 0.0066 dollars, less than the published total; its "
            "Trade-offs say 5 to 7 s and 0.005 to 0.008 dollars. Measuring writes no answers. With a language model, "
            "Compare shows the time and cost of every question."
        )
    )
    st.markdown(t("**RAG-MSR's ablation** (its README, Experiment Results)"))
    untrusted.draw(claims.ablation(results))
    untrusted.draw(claims.order(results))
    untrusted.draw(claims.decided(results, ("msr_origin", "msr_raw"), ("msr_origin", "msr_reranking")))
    st.caption(
        t(
            "The README's figures are for ten selected questions, with yes-or-no relevance and the ideal order taken "
            "from the retrieved list itself. That metric is 1 whenever the relevant results come first, however many "
            "were missed. The last column uses graded judgements for both."
        )
    )
    st.markdown(
        t("**“Reranking consistently improves”** (Query System with Contextual Retrieval); nDCG@10 by trec_eval")
    )
    untrusted.draw(claims.reranking(results))
    st.markdown(
        t(
            "**Error rate of the reformulations** (RAG-MSR README, Reformulation Error Analysis: the share of irrelevant passages they add)"
        )
    )
    untrusted.draw(claims.error_rates(results))
    st.caption(
        t(
            "Unjudged passages count as irrelevant, so these rates are upper bounds. The README says that failures are "
            "frequent in keyword questions; the two columns tell them apart, with the number of questions."
        )
    )


main()
