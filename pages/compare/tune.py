"""One question, one strategy, every control: move one and see at once which passages it lets in and which it drops.

Only stages that call no model run as a control moves. What needs a model says so and waits for Run, with the offline
engine too: the page then teaches what holds with any model, and a slider never queues slow work. Its answer is the
exception: the offline engine writes one in a few hundredths of a second, so it follows every move.
"""

from collections import Counter
from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.compare import asking, changes, column_parts, passages, queries
from pages.compare.asking import pick_demo
from pages.compare.verdict import sentence
from pages.drawing import untrusted
from pages.drawing.fragments import note, render
from pages.drawing.translate import in_words, plural, problem, t, translated
from pages.drawing.untrusted import label
from pages.shared import controls, corpora, country, permalink, presets, question_header, setups, tuning
from pages.shared.engine import engine
from pages.shared.history_sync import held
from pages.shared.live import Column, Comparison
from pages.shared.wording import model_calls
from pages.shared.wording import strategy as title_of
from rag_core.catalog import describe_changes
from rag_core.explain import ControlTips, Move, RankChange, TippingPoint, Work, fates, rank_changes

WATCH_S = 0.7  # between two looks at whether the tipping points are known


def main() -> None:
    """Draw the page."""
    with st.container(key="unseen"):
        st.header(label(t("Tune one strategy, live")), anchor=False)
    tuning.restore()
    run = held(tuning.RUN)
    if run is None and "run" in st.query_params:
        st.info(permalink.gone())
    if on := setups.runs_on(st.session_state[tuning.SETUP]) if tuning.SETUP in st.session_state else "":
        untrusted.say(on)
    running = run is not None and not run.over
    pressed = _ask(run, running=running)
    permalink.warn()
    question = asking.to_run(pressed=pressed)
    if question is not None:
        _start(question, run)
    asking.ask_choice()
    if run:
        question_header.draw(run)
    _workbench(running=running)
    _watch()


def _ask(run: Comparison | None, *, running: bool) -> bool:
    """One row: the question, Run and Stop, the strategy, demo questions, country, documents; whether Run was pressed."""
    pressed, beside = asking.row(run, running=running)
    with beside:
        with st.container(horizontal=True, gap="small", wrap=False):
            names = list(rag_core.RECIPES)
            untrusted.choose(
                t("Strategy"), names, title_of, tuning.STRATEGY, index=names.index(tuning.DEFAULT),
                label_visibility="collapsed", persist_state="session",
            )  # fmt: skip
            country.choose()
        with st.container(horizontal=True, gap="small", vertical_alignment="center", wrap=False):
            pick_demo()
            corpora.choose()
    return pressed


@untrusted.errors()
def _start(question: str, earlier: Comparison | None) -> None:
    """Run the setting on the sliders; stages that an earlier result of the question has are not run again."""
    setup = tuning.setup()
    run = asking.start(question, [setup], earlier)
    if run is None:
        return
    st.session_state[tuning.RUN] = run
    tuning.put_address(run, setup, st.session_state.get(tuning.PINNED))
    st.rerun()


def _progress(run: Comparison, stages: DeltaGenerator) -> None:
    (column,) = run.columns
    answered = st.empty()
    for _ in run.redraws():
        untrusted.draw(column_parts.stages(column), place=stages)
        untrusted.draw(column_parts.answer(column, 0, engine().state), place=answered)
    st.rerun()


@st.fragment
def _workbench(*, running: bool) -> None:
    """The controls, and the result or how far it is: all that a moving control redraws."""
    recipe = rag_core.RECIPES[tuning.strategy()]
    run: Comparison | None = st.session_state.get(tuning.RUN)
    bench, move, setup, failure = None, None, None, ""
    try:
        setup = tuning.setup()
        if run and not running and run.columns[0].strategy.name == recipe.name:
            bench = tuning.bench(run)
            move = bench.move(setup.strategy) if bench else None
            if bench:
                bench.answered()
    except rag_core.RagError as error:
        bench, failure = None, problem(error)  # such as documents that were deleted
    moved = rank_changes(bench.pinned, bench.shown) if bench else ()
    line = _summary(bench, move, moved, failure)
    left, right = st.columns([5, 8], gap="large")
    with left, st.container(key="tune-controls"):
        _controls(recipe, bench)
    with right, st.container(key="tune-result"):
        if run and running:
            _progress(run, line)
        elif bench:
            _result(bench, moved)
        elif run and run.columns[0].strategy.name == recipe.name:
            untrusted.draw(column_parts.answer(run.columns[0], 0, engine().state))  # it failed or was stopped
            _warn(run.columns[0])
        else:
            untrusted.draw(render("column.hint", words=translated(recipe.summary)))
    if run and setup and bench:
        tuning.put_address(run, setup, bench.pinned)


def _controls(recipe: rag_core.Recipe, bench: tuning.Bench | None) -> None:
    """Every control, each with a note on what moving it would do; those that may need Run, and prompts, come last."""
    prefix = tuning.prefix(recipe.name)
    presets.choose(recipe, prefix, lambda chosen: controls.put(recipe, prefix, chosen.strategy.controls))
    reach = bench.tuner.reach if bench else {}
    tips = bench.tipping.found if bench and bench.tipping else None
    for control in sorted(
        recipe.controls, key=lambda one: (isinstance(one, controls.PROMPTS), bool(reach.get(one.name)))
    ):
        idle = controls.why_idle(recipe, control, prefix)
        with st.container(gap=None):
            controls.widget(recipe, control, prefix, idle)
            works = reach.get(control.name, ()) if bench else None
            untrusted.draw(_note(idle, works, (tips or {}).get(control.name)))
    if bench and bench.tipping and tips is not None:
        bench.tipping.drawn = True
    with st.container(horizontal=True):
        presets.save_as(recipe, prefix, tuning.values)
        st.button(label(t("Reset to defaults")), key="tune.reset", on_click=controls.reset, args=(recipe, prefix))


def _summary(
    bench: tuning.Bench | None, move: Move | None, moved: Sequence[RankChange], failure: str
) -> DeltaGenerator:
    """What the last move cost and changed, always in view, and what can be done; the former's place."""
    if failure:
        untrusted.say(failure, st.error)
    line = st.empty()
    untrusted.draw(_counter(bench, move, moved), place=line)
    waits = bench is None or move is None
    with st.container(key="tune-buttons", horizontal=True, gap="small", vertical_alignment="center"):
        if st.button(
            label(t("Run this setting")), key="tune.run-again", type="primary", on_click=_again,
            disabled=bench is None or move is None or (move.trace is not None and bench.answered() is not None),
        ):  # fmt: skip
            st.rerun()  # the whole page: this part cannot show a run
        st.button(
            label(t("Pin as baseline")), key="tune.pin", on_click=bench.pin if bench else None,
            disabled=move is None or move.trace is None,
        )  # fmt: skip
        # opened from a column of Compare, it may take that one's place
        full = tuning.FROM not in st.session_state and len(tuning.kept()) >= controls.MOST_COLUMNS
        st.button(
            label(t("Keep as a column")), key="tune.keep", on_click=tuning.keep,
            disabled=full or waits or tuning.is_kept(),
            help=label(
                t("Compare shows {most} columns at most.", most=controls.MOST_COLUMNS) if full
                else t("Compare gets a column with this strategy and setting, and the question.")
            ),
        )  # fmt: skip
        if tuning.kept() or tuning.FROM in st.session_state:
            way_back = t("Back to the comparison")
            if count := len(tuning.kept()):
                way_back = plural("Open Compare ({count} column kept)", "Open Compare ({count} columns kept)", count)
            st.page_link("pages/compare/compare.py", label=label(way_back), icon=":material/compare_arrows:")
    return line


def _again() -> None:
    question = st.session_state[tuning.RUN].question
    st.session_state.update({"question": question, asking.NOW: question})


def _counter(bench: tuning.Bench | None, move: Move | None, moved: Sequence[RankChange]) -> Markup:
    """What the move cost, and what it changed; or what it would ask of models; or what to do first."""
    if bench is None or move is None:
        first = t("Press Run once. After that, moving a control redraws the ranking at once.")
        return render("tune.counter", words=first)
    if move.trace is None:
        notice = t("This setting needs a run: {calls}.", calls=_calls(move.needs))
        below = t("Shown is still: {setting}.", setting=_setting(bench.shown))
        return render("tune.counter", words=notice, more=below, waits=True)
    counted = plural("{count} model call", "{count} model calls", move.calls)
    took = t("{counted}, {ms} ms", counted=counted, ms=f"{1000 * move.seconds:.1f}")
    setting, found = _setting(bench.pinned), changes.in_short(moved)
    against = t("against the baseline ({setting}): {found}", setting=setting, found=found)
    return render("tune.counter", words=took, more=against)


def _setting(trace: rag_core.Trace) -> str:
    return translated(describe_changes((trace.strategy, trace.controls))) or t("the defaults")


def _result(bench: tuning.Bench, moved: Sequence[RankChange]) -> None:
    answered = bench.answered()
    labels = {
        hit.id: hit.relevance.label
        for one in (bench.base, bench.pinned, answered) if one
        for hit in one.ranking if hit.relevance
    }  # fmt: skip
    untrusted.draw(changes.ranks(moved, bench.shown.fingerprint, labels))
    untrusted.draw(_helps(bench.pinned, answered or bench.shown))
    trace = answered or bench.base
    column = Column(rag_core.build((trace.strategy, trace.controls)), list(trace.steps), trace=trace)
    if answered is None:
        untrusted.draw(render("tune.outdated", setting=_setting(trace)))
    untrusted.draw(column_parts.answer(column, 0, engine().state))
    if trace.answer and bench.pinned.answer:
        untrusted.draw(changes.answers(bench.pinned.answer, trace.answer))
    untrusted.draw(passages.opened(column, 0, trace.question))
    if answered is None:  # its citations still open what it was written from; the list is the new one
        listed = bench.listed()
        column = Column(rag_core.build((listed.strategy, listed.controls)), list(listed.steps), trace=listed)
    untrusted.draw(queries.rewrites(column, trace.question))
    untrusted.draw(passages.passages(column, 1 if answered is None else 0, trace.question))
    box = st.expander(label(t("Every passage that was found, and its fate")), key="tune.fates", on_change="rerun")
    if box.open:
        with box:
            untrusted.draw(changes.fates(fates(bench.shown)))
    _warn(column)


def _helps(before: rag_core.Trace, after: rag_core.Trace) -> Markup:
    """Whether the move helps: the verdicts on both answers and, where the question is judged, both rankings' nDCG."""
    from rag_core import evaluation as ev  # not with the first page

    settings, compared = rag_core.read_settings(), {t("Baseline"): before, t("Now"): after}
    if before.fingerprint == after.fingerprint:
        del compared[t("Baseline")]
    try:
        verdicts = ev.column_verdicts([*compared.values()], settings)
        quality = [ev.quality_of(one, settings) or {} for one in compared.values()]
    except rag_core.RagError as error:  # the judgements cannot be read
        return note(problem(error))
    said = [sentence(one, [0], name) for name, one in zip(compared, verdicts, strict=True) if one]
    scores = [
        f"{ev.parse_metric(name).title} {value:.2f}"
        for one in quality for name, value in one.items() if name.startswith("ndcg")
    ]  # fmt: skip
    return render("tune.helps", verdicts=said, scores=" → ".join(scores))


def _warn(column: Column) -> None:
    if warnings := column_parts.warnings(column):
        untrusted.draw(warnings)


@st.fragment(run_every=WATCH_S)
def _watch() -> None:
    """Draw the tipping points once they are known; moving controls does not wait for them."""
    bench: tuning.Bench | None = st.session_state.get(tuning.BENCH)
    tipping = bench.tipping if bench else None
    if tipping and tipping.found is not None and not tipping.drawn:
        tipping.drawn = True
        st.rerun()


def _note(idle: str, works: Sequence[Work] | None, tips: Sequence[ControlTips] | None) -> Markup:
    """Two lines of fixed height, so that nothing below moves with them; one while there is no result."""
    lines: list[str] = []
    if idle:
        lines = [translated(idle)]
    elif works:
        lines = [t("May need Run: {calls}", calls=_calls(works))]
    elif tips:
        points = [(place, point) for place, one in enumerate(tips, start=1) for point in one.points][:2]
        lines = [f"{place}. {_point(point)}" if tips[1:] else _point(point) for place, point in points]
        lines = lines or [translated(next((one.unmoved for one in tips if one.unmoved), ""))]
    return render("tune.note_of", lines=lines, short=works is None and tips is None)


def _point(point: TippingPoint) -> str:
    value = in_words(point.value)
    rank, passage = (point.gained or point.lost)[0]
    title = passage.full_title
    more = len(point.gained or point.lost) - 1
    if point.gained:
        moved = t("{value}: no. {rank} enters, “{title}”", value=value, rank=rank, title=title)
    else:
        moved = t("{value}: no. {rank} drops out, “{title}”", value=value, rank=rank, title=title)
    return t("{said} and {more} more", said=moved, more=more) if more else moved


def _calls(works: Sequence[Work]) -> str:
    asked: Counter[str] = Counter()
    for one in works:
        asked[one.purpose] += one.calls
    known = [purpose for purpose in ("rewrite", "rerank", "judge", "answer", "embed") if purpose in asked]
    return ", ".join(model_calls(purpose, asked[purpose]) for purpose in dict.fromkeys((*known, *asked)))


main()
