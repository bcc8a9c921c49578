"""What a comparison took, as HTML (costs.html), and would cost: with other models, at a price of one's own, and over a month."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from markupsafe import Markup

import rag_core
from pages.compare import presenter
from pages.drawing import untrusted
from pages.drawing.fragments import listed, note, render
from pages.drawing.palette import colour
from pages.drawing.translate import plural, t, translated, words_for
from pages.drawing.untrusted import mark
from pages.shared import corpora, history_sync, setups
from pages.shared.engine import engine
from pages.shared.live import Column, Comparison
from pages.shared.wording import money, price_age, seconds
from rag_core.explain import bill, query_title, stage_title
from rag_core.offline import NAME as OFFLINE
from rag_core.values.pricing import Price, PriceList

PER_DAY = 100  # questions, to begin with
LATEST = 40  # questions of the history that are read for a column

Calls = tuple[rag_core.ModelCall, ...]
COLOURS = {"answer": "accent"}  # of a kind of stage; the others have a colour of their name
BAR, AXIS = 24, 50  # pixels: a bar, the axis
ROOM_BESIDE = 1.28  # of the longest time, for the text beside the last bar
REUSED = "/"  # the pattern of what was not run here
SEVERAL = ("transform", "rerank", "select")  # kinds whose stages do different things
LETTERS = 26  # of a row's name that a phone has room for


@untrusted.errors(st.warning)
def cost_and_time(trace: rag_core.Trace, key: str) -> None:
    """What one column took: its waterfall, and what its bill rests on."""
    prices = price_list()
    untrusted.draw(note(t("Bars beside each other in time ran at the same time. Striped: reused, not run here.")))
    untrusted.chart(waterfall(trace), f"waterfall.{key}")
    untrusted.draw(notes(trace, prices))


@st.fragment
@untrusted.errors(st.warning)
def other_prices(run: Comparison, names: Sequence[str]) -> None:
    """Two tables for the named columns: every model of the price list, and a month."""
    traces = {
        name: column.trace for name, column in zip(names, presenter.seen(run), strict=True) if column.trace is not None
    }
    written = price_list().writers
    st.markdown(f"**{untrusted.label(t('The same question with another model'))}**")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        box: dict[str, Any] = {"min_value": 0.0, "max_value": 10_000.0, "step": 0.05, "format": "%.2f"}
        sent = st.number_input(
            t("Your price for input (dollars per million tokens)"), value=0.50, key="cost.input", **box
        )
        received = st.number_input(
            t("Your price for output (dollars per million tokens)"), value=2.00, key="cost.output", **box
        )
    prices = {**written, bill.TYPED: Price(sent, received, datetime.date.today(), t("typed here"))}
    untrusted.draw(_models(traces, prices))
    st.markdown(f"**{untrusted.label(t('What a month would cost'))}**")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        per_day = st.number_input(
            untrusted.label(t("Questions a day")), min_value=1, max_value=1_000_000, value=PER_DAY, step=10,
            key="cost.per_day",
        )  # fmt: skip
        paid = any(trace.cost_usd for trace in traces.values())
        offered = ["", *prices]
        settings = engine().settings
        usual = settings.answer_model if settings else ""
        chosen = untrusted.choose(
            t("With the price of"), offered, _called, "cost.model",
            index=0 if paid or usual not in offered else offered.index(usual),
        )  # fmt: skip
        averaged = st.toggle(
            untrusted.label(t("Average over the history")), key="cost.history",
            help=untrusted.label(t("Uses the latest questions in the history that were asked with the same strategies and settings.")),
        )  # fmt: skip
    measured = _measured(run, averaged=averaged)
    untrusted.draw(_month(traces, measured, prices.get(chosen), per_day))


@st.cache_resource(show_spinner=False)
def price_list() -> PriceList:
    """The price list of this app's settings, read once; raises RagError if it cannot be read."""
    return PriceList.of(engine().settings or rag_core.read_settings())


def _called(model: str) -> str:
    return t("the models that ran") if not model else t("your price") if model == bill.TYPED else model


def _models(traces: Mapping[str, rag_core.Trace], prices: Mapping[str, Price]) -> Markup:
    calls = [call for trace in traces.values() for call in trace.calls]
    texts = {call: text for trace in traces.values() for call, text in bill.texts_of(trace).items()}
    by_column = {
        name: {quote.model: quote for quote in bill.quotes(trace.calls, prices, bill.texts_of(trace))}
        for name, trace in traces.items()
    }
    counted = {
        "same": t("same tokeniser"),
        "counted again": t("counted again with its tokeniser"),
        "another": t("the original's; its tokeniser differs"),
        "unknown": t("the original's; its tokeniser is not known"),
    }
    rows: list[Sequence[str]] = []
    for quote in bill.quotes(calls, prices, texts):
        cells = (
            _called(quote.model), *(money(found[quote.model].cost_usd) for found in by_column.values()),
            f"{quote.price.input:.2f} / {quote.price.output:.2f}", _dated(quote), counted[quote.tokeniser],
        )  # fmt: skip
        rows.append([_strong(cell) for cell in cells] if quote.model == bill.TYPED else cells)
    heads = (t("Model"), *traces, t("$ per million, in / out"), t("Price of"), t("Token counts"))
    return note(_basis(calls)) + render("costs.models", table=listed(heads, rows))


def _strong(text: str) -> Markup:
    return Markup("<b>{}</b>").format(text)


def _basis(calls: Sequence[rag_core.ModelCall]) -> str:
    same = t(
        "The same texts for every model, the cheapest first. Embeddings keep their cost. A model's own replies would be "
        "longer or shorter. Llama 3.1 8B, with which RAG-MSR rewrites, has open weights and no one price: "
        "llama-3.1-8b-instant is Groq's."
    )
    if any(call.model == OFFLINE for call in calls):
        return t(
            "Estimates: no language model was asked. They count the prompts that a model would have been sent, and the "
            "offline engine's replies in place of its own. {same}",
            same=same,
        )
    return same


def _dated(quote: bill.Quote) -> str:
    if quote.model == bill.TYPED:
        return quote.price.source
    age = price_age(quote.price)
    return f"{quote.price.date:%Y-%m-%d}, {quote.price.source}{age and f' ({age})'}"


def _month(
    traces: Mapping[str, rag_core.Trace],
    measured: Sequence[Sequence[Sequence[rag_core.ModelCall]]],
    price: Price | None,
    per_day: float,
) -> Markup:
    """One row a column: the cost of a question, of a month, and how sure that is."""
    rows: list[Sequence[str]] = []
    for (name, trace), questions in zip(traces.items(), measured, strict=True):
        costs = [bill.cost_at(calls, price) for calls in (questions or [trace.calls])]
        known = [cost for cost in costs if cost is not None]
        if not known:
            rows.append((name, "n/a", "n/a", t("a price is unknown")))
            continue
        month = bill.project(known, per_day)
        rows.append((name, money(month.per_question), _strong(money(month.per_month)), _sureness(month)))
    heads = (t("Strategy"), t("A question"), t("30 days"), t("How sure"))
    return listed(heads, rows, "rl-scroll rl-month")


def _sureness(month: bill.Projection) -> str:
    if month.low is None or month.high is None:
        return t("one question measured: others may cost several times as much or as little")
    return plural(
        "mean of {count} question, 95 % interval {low} to {high}",
        "mean of {count} questions, 95 % interval {low} to {high}",
        month.n,
        low=money(month.low),
        high=money(month.high),
    )


def _measured(run: Comparison, *, averaged: bool) -> Sequence[Sequence[Calls]]:
    """For each finished column its calls on this question, then on those of the history if `averaged`."""
    traces = run.traces
    if not averaged:
        return [[trace.calls] for trace in traces]
    kept = f"cost.past.{run.id}"
    with untrusted.errors(st.warning):
        if kept not in st.session_state:
            st.session_state[kept] = [_of(trace) for trace in traces]
    found: Sequence[Sequence[Calls]] = st.session_state.get(kept) or [[trace.calls] for trace in traces]
    return found


def _of(trace: rag_core.Trace) -> list[Calls]:
    """Those of the trace, then of the latest other questions; raises RagError without the history."""
    history = history_sync.history()
    by_question = {trace.question: trace.calls}
    for entry in history.search(strategy=trace.strategy, limit=LATEST) if history else ():
        asked = history.find(entry.id) if history and entry.question not in by_question else None
        for column in asked.columns if asked else ():
            past = column.trace
            if past and (past.fingerprint, past.engine) == (trace.fingerprint, trace.engine):
                by_question.setdefault(past.question, past.calls)
    return list(by_question.values())


def waterfall(trace: rag_core.Trace) -> go.Figure:
    """Each stage of a column, and under it its searches and model calls, which may overlap."""
    found = bill.spans(trace)
    figure = go.Figure()
    for level in ("stage", "search", "call"):
        rows = [place for place, span in enumerate(found) if span.level == level]
        spans = [found[place] for place in rows]
        figure.add_bar(
            y=rows,
            x=[span.seconds for span in spans],
            base=[span.started for span in spans],
            orientation="h",
            width=0.7 if level == "stage" else 0.4,
            marker={
                "color": [colour(COLOURS.get(span.kind, span.kind)) for span in spans],
                "opacity": 1.0 if level == "stage" else 0.6,
                "pattern": {"shape": [REUSED if span.reused else "" for span in spans]},
            },
            text=[t("reused") if span.reused else seconds(span.seconds) for span in spans],
            textposition="outside",
            textfont={"size": 11},
            constraintext="none",
            cliponaxis=False,
            showlegend=False,
            hovertemplate=[f"{_hover(span)}<extra></extra>" for span in spans],
        )
    figure.update_yaxes(
        tickvals=list(range(len(found))),
        ticktext=[_shortened(span) for span in found],
        autorange="reversed",
        automargin=True,
    )
    end = max((span.ended for span in found), default=0.0) or 1.0
    figure.update_xaxes(title=t("seconds"), range=[0, ROOM_BESIDE * end])
    figure.update_layout(
        height=AXIS + BAR * len(found), margin={"l": 8, "r": 8, "t": 8, "b": 8}, barmode="overlay", dragmode=False,
    )  # fmt: skip
    return figure


def bar_title(span: bill.Span) -> str:
    """What a bar is: "Search", "Keyword search", "Embedding search, synonyms", "Answer, gpt-4o"."""
    if span.level == "stage":
        return doing(span.kind, span.name)
    names = {"bm25": t("Keyword search"), "dense": t("Embedding search"), "answer": t("Model")}
    called = names.get(span.name) or of_purpose(span.name)
    said = setups.reranker if span.name == "rerank" else setups.called
    detail = said(span.detail) if span.level == "call" else translated(query_title(span.detail))
    return f"{called}, {detail}" if detail else called


def _hover(span: bill.Span) -> str:
    title = mark(f"{bar_title(span)} ({span.name})" if span.level == "stage" else bar_title(span))
    took = t("{took}, from {start} on", took=seconds(span.seconds), start=seconds(span.started))
    if span.reused:
        took = t("{took}; reused: it ran once, for several columns", took=took)
    return f"{title}<br>{took if span.seconds or not span.reused else t('reused: an earlier run did this')}"


def _shortened(span: bill.Span) -> str:
    text = bar_title(span)
    short = text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
    return mark(short) if span.level == "stage" else f"· {mark(short)}"


def paid(column: Column) -> Markup:
    """What each part of a column took, in tokens, dollars and time, under a bar of their shares; what is to come has its room."""
    parts = dict.fromkeys(bill.part_of(stage.kind, stage.name) for stage in column.strategy.stages)
    found = bill.bill_of(column.trace) if column.trace else None
    lines, shares = (found.parts, found.shares) if found else ({}, {})
    without = "–" if column.settled else "\u00a0"
    rows = [(part, of_purpose(part), _cells(lines.get(part), without)) for part in bill.PARTS if part in parts]
    return render("costs.paid", shares=shares, rows=rows)


def headline(trace: rag_core.Trace) -> str:
    """What a column took, which parts its money went to, and which parts others had paid for."""
    found = bill.bill_of(trace)
    cost = money(found.total.cost.usd)
    if found.total.cost.usd:
        shares = (f"{of_purpose(part)} {share:.0%}" for part, share in found.shares.items() if share)
        cost = f"{cost}: {', '.join(shares)}"
    over = ", ".join(of_purpose(part) for part, line in found.parts.items() if line.shared or line.reused)
    reused = t("reused: {parts}", parts=over) if over else ""
    return " · ".join(filter(None, (seconds(found.total.seconds), cost, reused)))


def _cells(line: bill.BillLine | None, without: str) -> Sequence[str]:
    if not line:
        return (without,) * 3
    sent, received = line.tokens
    about = "" if line.counting in ("", "measured") else "≈ "
    called = line.calls or line.shared
    tokens = t("{sent:,} → {received:,} tokens", sent=sent, received=received)
    return (
        about + tokens if line.calls else t("reused") if line.shared else "–",
        money(line.cost.usd) if called else "–",
        t("reused") if line.reused else seconds(line.seconds),
    )


def made_by(trace: rag_core.Trace) -> Markup:
    """The language model and the documents behind a result."""
    model = setups.called(trace.engine.get("llm") or "")
    return note(t("Answered by: {model}. Searched: {documents}.", model=model, documents=corpora.title(trace.corpus)))


def doing(kind: str, stage: str) -> str:
    """What a stage does: "Search"; with its own name where others of its kind do something else: "Select: MMR"."""
    does = translated(words_for("stage_kinds")[kind])
    return f"{does}: {translated(stage_title(stage))}" if kind in SEVERAL else does


def of_purpose(purpose: str) -> str:
    """What models were called for, or a part of a bill."""
    return translated(words_for("purposes").get(purpose, purpose))


def notes(trace: rag_core.Trace, prices: PriceList) -> Markup:
    """What the counts and the prices rest on, and what this would have cost without reuse."""
    found, said = bill.bill_of(trace), []
    if found.total.counting not in ("", "measured"):
        said.append(t("≈: tokens counted here, with a tokeniser, and not by the provider."))
    if found.total.shared:
        said.append(t("Reused: another stage, another column or an earlier run did it, so it cost nothing here."))
        if not found.alone.free:
            said.append(t("With nothing to reuse, this result costs {cost}.", cost=found.alone))
    for model in dict.fromkeys(call.model for call in found.total.calls):
        price = prices.get(model)
        if price is None:
            said.append(t("{model}: its price is not known.", model=setups.called(model)))
        elif price.input or price.output:
            age = price_age(price)
            said.append(
                t(
                    "{model}: ${sent:.2f} in, ${received:.2f} out per million tokens, on {date}{age}.",
                    model=model, sent=price.input, received=price.output, date=price.date.isoformat(),
                    age=age and f" ({age})",
                )
            )  # fmt: skip
    return note(" ".join(said) or t("No model was called."))


def cost_note(calls: Sequence[rag_core.ModelCall]) -> str:
    """What all calls of a comparison cost."""
    cost = rag_core.Cost.of(calls)
    if cost.free:
        return t("Cost of this comparison: $0. No paid model was called.")
    missing = t(" (no price in data/prices.toml)") if cost.unpriced else ""
    return t(
        "Cost of this comparison: {cost}{missing}. Failed and stopped strategies are included; "
        "calls shared by several strategies count once.",
        cost=cost,
        missing=missing,
    )
