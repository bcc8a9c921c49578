"""One question, two to four strategies side by side."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.compare import (
    across,
    asking,
    column_parts,
    costs,
    export,
    how_it_got_here,
    presenter,
    room,
    verdict,
    without,
)
from pages.compare.asking import look_for, offer_demos, pick_demo
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import problem, t, translated
from pages.shared import controls, corpora, country, history_sync, permalink, question_header, setups, shipped
from pages.shared.history_sync import comparisons
from pages.shared.live import LETTERS, Comparison


def main() -> None:
    """Draw the page."""
    run = _current()
    asked = run is not None or presenter.on()
    with st.container(key="unseen" if asked else "purpose"):  # results need the room
        st.header(t("Which retrieval strategy answers best?"), anchor=False)
        if not asked:
            st.caption(
                t(
                    "Ask one question: each strategy searches the same documents, and their "
                    "answers stand side by side with their sources."
                )
            )
    running = run is not None and not run.over  # read once: what is drawn for a running comparison is redrawn
    pressed = presenter.bar(run, running=running) if presenter.on() else _ask(run, running=running)
    if presenter.on():
        room.draw(run, running=running)
    if run:
        run.presented = presenter.settings()
    notices = st.container()
    with notices:
        if st.session_state.get("forgotten"):
            st.info(permalink.gone())
        permalink.warn()
    top = st.container()
    count = max(controls.columns(), len(run.columns) if run else 0)
    with st.container(key="switches"):
        untrusted.draw(render("column.switches", count=count))
    with st.container(key="tabs"):
        untrusted.draw(render("column.tabs", names=_names(run, count)))
    cards = [place.container(border=True, key=f"card{position}") for position, place in enumerate(st.columns(count))]
    order = [*presenter.places(run)] if run and not presenter.upcoming() else []
    order += range(len(order), count)
    heads = {}
    for position, (place, card) in enumerate(zip(order, cards, strict=True)):
        if place < controls.columns():
            heads[place] = _head(place, position, card, run)
        else:
            card.caption(t("Not in the next run."))
    columns = [heads[place] for place in range(controls.columns())]
    cards = [card.container() for card in cards]
    # the room below comes first: cleared last, it would jump up as those above it shrink
    spots = [st.container(), *cards, top]
    question = asking.to_run(pressed=pressed)
    with notices:
        if question is not None:
            _start(question, columns, run, spots)
        asking.ask_choice([one.corpus for one in columns])
    if run is None or presenter.upcoming():
        below, *places, top = [_place(spot) for spot in spots]
        for position, (setup, spot) in enumerate(zip(columns, places, strict=False)):
            with spot, st.container(key=f"idle{position}"):
                _empty(setup)
        if not presenter.on():
            with top:
                shipped.draw(corpora.chosen())
                controls.offer_more()
            with below, st.container(key="demos"):
                offer_demos()
        return
    run.settings = setups.settings(*how_it_got_here.KEPT)
    _results(run, columns, spots, running=running)


def _ask(run: Comparison | None, *, running: bool) -> bool:
    """One row: the question, Run and Stop, demo questions, country, number of columns; whether Run was pressed."""
    pressed, beside = asking.row(run, running=running)
    with beside:
        with st.container(horizontal=True, gap="small", vertical_alignment="center", wrap=False):
            pick_demo()
            corpora.choose()
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            country.choose()
            controls.count_columns()
            presenter.button()
    return pressed


def _head(place: int, position: int, card: DeltaGenerator, run: Comparison | None) -> rag_core.Setup:
    """The head of a card: what chooses its strategy, the `place`th set, or its name; the column as set."""
    with card, st.container():
        if presenter.blind():
            untrusted.draw(render("column.title", letter=LETTERS[position], name="", voted=False))
        elif presenter.on():
            voted = run is not None and place in (best := run.best or ()) and not run.differences.is_tie(best)
            name = setups.title(setups.of(place))
            untrusted.draw(render("column.title", letter=LETTERS[position], name=name, voted=voted))
        else:
            controls.strategy_box(place, setups.draw)
        return setups.of(place)


def _names(run: Comparison | None, count: int) -> list[str]:
    """What the columns are called: a letter, and the strategy that ran there unless names are hidden."""
    ran = [] if run is None or presenter.blind() else presenter.seen(run)
    names = [f"{letter} · {setups.title(column.setup)}" for letter, column in zip(LETTERS, ran, strict=False)]
    return [*names, *LETTERS[len(names) : count]]


def _empty(setup: rag_core.Setup) -> None:
    summary = ""
    if not presenter.blind():
        untrusted.draw(render("column.status", chips=column_parts.chips(setup)))
        summary = translated(rag_core.RECIPES[setup.strategy.name].summary)
    untrusted.draw(render("column.empty", summary=summary))


def _current() -> Comparison | None:
    """The comparison to show: the one in the page's address, else the session's last. Restores its widgets."""
    current = history_sync.held("run")
    requested = st.query_params.get("run")
    wished = permalink.is_wish()
    if requested and (current is None or (wished and current.id != requested)):
        try:
            found = history_sync.find(requested)
        except rag_core.RagError as error:  # keep the address: the history may be back at the next try
            untrusted.say(problem(error), st.warning)
            return current
        if found:
            _show(found)
            current = found
        else:
            st.session_state["forgotten"] = True
            del st.query_params["run"]
    if "run" not in st.query_params:
        permalink.take()
    if current:
        presenter.resume(current)
        comparisons().keep(current)
        permalink.put(current)
    return current


def _show(run: Comparison) -> None:
    st.session_state["run"] = run
    st.session_state.update(forgotten=False, upcoming=False, misread=())
    st.session_state["turn"] = 1 - st.session_state.get("turn", 0)


def _place(spot: DeltaGenerator) -> DeltaGenerator:
    """Where results are drawn: one of two places in turn, or the old results would stay, greyed out."""
    mine: int = st.session_state.get("turn", 0)
    places = [spot.container() if turn == mine else spot.empty() for turn in range(2)]
    return places[mine]


def _start(
    question: str,
    columns: Sequence[rag_core.Setup],
    earlier: Comparison | None,
    spots: Sequence[DeltaGenerator],
) -> None:
    """Start a comparison; after an invalid question the earlier one stays on screen."""
    started = asking.start(question, columns, earlier)
    if started is None:
        return
    _show(started)
    *_, top = [_place(spot) for spot in spots]
    with top:
        _above(started)  # what to do at once comes at once
    st.rerun()


def _above(run: Comparison) -> None:
    question_header.draw(run, "" if presenter.blind() else look_for(run.question, run.corpus))


def _results(
    run: Comparison, columns: Sequence[rag_core.Setup], spots: Sequence[DeltaGenerator], *, running: bool
) -> None:
    below, *places, top = [_place(spot) for spot in spots]  # all at once: old answers go before the new question comes
    with top:
        _above(run)
        if presenter.on():
            room.draw_result(run)
        history_sync.opened(run, named=not presenter.blind())
        if not running:
            column_parts.draw_failures(run)
        beside = verdict.draw(run)
    seen = presenter.seen(run)
    also = across.also_in(seen) if run.over else [{} for _ in seen]
    alike = across.alike(seen) if run.over else [("", False)] * len(seen)
    views = []
    for position, (place, column, spot) in enumerate(zip(presenter.places(run), seen, places, strict=False)):
        chosen, found = columns[place : place + 1], (also[position], alike[position])
        views.append(column_parts.ColumnView(column, position, spot, chosen, run, *found))
    for setup, spot in zip(columns[len(views) :], places[len(views) :], strict=False):
        with spot:
            _empty(setup)
    pulse = st.empty()
    for _ in run.redraws():
        for view in views:
            view.draw()
        pulse.empty()  # lets Streamlit handle the user's clicks: it does so only inside its own calls
    if running:
        st.rerun()  # disables Stop and draws the charts
    with below:
        _below(run)
    if beside:
        with beside:  # last: the page is there while it is found out
            across.offer_other(run)


def _below(run: Comparison) -> None:
    """What covers all columns: what each found that the others did not, time, cost."""
    traces, cost = run.traces, costs.cost_note(run.calls)
    history_sync.unkept(run)
    if presenter.blind():
        return
    if not traces:
        untrusted.say(cost)
        return
    seen = presenter.seen(run)
    names = _names(run, len(run.columns))
    st.subheader(t("What did one find that another did not?"), anchor=False)
    untrusted.draw(across.lights(seen))
    untrusted.draw(across.table(seen, names))
    with st.container(key="pressed"):  # hidden: buttons in tables and passages press these
        verdict.ways(run, seen)
        without.buttons(run)
    untrusted.draw(across.quality(names, seen))
    shipped.draw(run.corpus)
    how_it_got_here.why_not(run)
    how_it_got_here.teaching(run)
    with st.expander(t("What would other models cost?")):
        costs.other_prices(run, names)
    with st.container(horizontal=True, vertical_alignment="center"):
        export.menu(run)
        untrusted.draw(render("asking.copy_link"))
        untrusted.say(cost)


if __name__ == "__main__":
    main()
