"""Presenter mode: large type, no controls, columns shuffled and without names until they are revealed, and a vote."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.compare import answers, asking, passages
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import t
from pages.shared import history_sync, setups
from pages.shared.engine import engine
from pages.shared.live import LETTERS, Column, Comparison
from rag_core.values.answers import Grounded

KEYS = {
    "run": "G", "stop": "S", "next": "N", "tie": "T", "none": "0", "reveal": "V", "back": "B", "enter": "F2",
}  # fmt: skip
VOTES = "votes"  # of this session: question -> titles of those voted best, and whether their answers tie


def on() -> bool:
    """Whether the page is in presenter mode."""
    return bool(st.session_state.get("presenting"))


def blind() -> bool:
    """Whether everything that gives a strategy away is hidden: names, stages, times, costs, scores and labels."""
    run: Comparison | None = st.session_state.get("run")
    return on() and (upcoming() or run is None or not run.revealed)


def upcoming() -> bool:
    """Whether the question on screen waits to be run, so that no other question's answers may stand below it."""
    return on() and bool(st.session_state.get("upcoming"))


def places(run: Comparison) -> Sequence[int]:
    """The places of the columns from left to right: shuffled in presenter mode, also once names are revealed."""
    return run.order if on() else range(len(run.columns))


def seen(run: Comparison) -> list[Column]:
    """The columns from left to right."""
    return [run.columns[place] for place in places(run)]


def settings() -> Mapping[str, object]:
    """What a reload brings back, so that it shows no hidden name and loses no vote."""
    return {"presenting": True, VOTES: _votes()} if on() else {}


def resume(run: Comparison) -> None:
    """Go on as the comparison was last presented, in a session that is new."""
    if "presenting" not in st.session_state:
        st.session_state.update(run.presented)


def button() -> None:
    """The button that enters presenter mode."""
    st.button(
        t("Present"), key="present", shortcut=KEYS["enter"],
        help=t("Large type, no controls, strategies shuffled and named A, B, C until you reveal them."),
        on_click=st.session_state.update, kwargs={"presenting": True, "upcoming": False, "panel": None},
    )  # fmt: skip


def bar(run: Comparison | None, *, running: bool) -> bool:
    """Draw the question and the few buttons of presenter mode; whether Run was pressed."""
    asked = st.session_state.get("question", "")
    untrusted.draw(render("asking.presented", question=asked))
    with st.container(horizontal=True, gap="small", key="presenter-bar"):
        pressed = st.button(
            t("Run"), key="present.run", type="primary", shortcut=KEYS["run"], disabled=not asked.strip()
        )
        st.button(
            t("Stop"), key="present.stop", shortcut=KEYS["stop"], disabled=not running, on_click=run.stop if run else None
        )  # fmt: skip
        st.button(t("Next question"), key="present.next", shortcut=KEYS["next"], on_click=_next, args=(run,))
        st.button(
            t("Reveal"), key="present.reveal", shortcut=KEYS["reveal"], on_click=reveal, args=(run,),
            disabled=run is None or upcoming() or run.revealed,
        )  # fmt: skip
        st.button(t("Leave"), key="present.back", shortcut=KEYS["back"], on_click=_leave, args=(run,))
    if run and not upcoming():
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key="ballot"):
            ballot(run, running=running)
            if _votes() and not st.session_state.get("panel.room"):  # the room counts for itself
                untrusted.say(_tally(run))
    return pressed


def ballot(run: Comparison, *, running: bool = False) -> None:
    """A button for each vote, until names that were hidden are revealed; nothing on a page where all answer the same."""
    answered = tuple(place for place, column in enumerate(run.columns) if column.trace)
    found, presented = run.differences, on()
    if not (presented or found.is_tie(answered)):
        return
    choices = [
        (f"column{position}", t("{column} is best", column=letter), f"{position + 1}", found.alike(place))
        for position, (letter, place) in enumerate(zip(LETTERS, places(run), strict=False))
    ]
    choices += [
        ("tie", t("Tie") if presented else t("Equally good"), KEYS["tie"], answered),
        ("none", t("None is good enough"), KEYS["none"], ()),
    ]
    for name, words, key, best in choices:
        possible = found.is_tie(answered) if name == "tie" else set(best) <= set(answered)
        equal = name == "tie" and len(answered) > 1 and not possible
        st.button(
            untrusted.label(words), key=f"vote.{name}", type="primary" if run.best == best else "secondary",
            shortcut=key if presented else None, disabled=running or (presented and not blind()) or not possible,
            help=t("All give the same answer.") if equal else None, on_click=_vote, args=(run, best),
        )  # fmt: skip


def _tally(run: Comparison) -> str:
    """The votes of this session; by strategy once names are revealed. A vote counts for all that gave the answer."""
    votes = _votes().values()
    ties, none = sum(tie for _, tie in votes), sum(not best for best, _ in votes)
    others = [t("tie: {count}", count=ties), t("none good enough: {count}", count=none)]
    if blind():
        return " · ".join([t("votes so far: {count}", count=len(votes)), *others])
    won = Counter(dict.fromkeys((setups.title(column.setup) for column in run.columns), 0))
    won.update(title for best, tie in votes if not tie for title in set(best))
    return " · ".join([*(f"{title}: {count}" for title, count in won.most_common()), *others])


def _votes() -> Mapping[str, tuple[tuple[str, ...], bool]]:
    votes: Mapping[str, tuple[tuple[str, ...], bool]] = st.session_state.get(VOTES, {})
    return votes


def _vote(run: Comparison, best: tuple[int, ...]) -> None:
    run.best = best
    titles = tuple(setups.title(run.columns[place].setup) for place in best)
    st.session_state[VOTES] = {**_votes(), run.question: (titles, run.differences.is_tie(best))}
    history_sync.keep_vote(run)


def _leave(run: Comparison | None) -> None:
    st.session_state["presenting"] = False
    if run:
        reveal(run)  # the page shows names again


def reveal(run: Comparison) -> None:
    """Show the names, which ends the vote."""
    run.revealed = True


def _next(run: Comparison | None) -> None:
    if run:
        run.stop()
    asking.take_next()
    st.session_state.update(upcoming=True)
    if engine().free:
        st.session_state[asking.NOW] = st.session_state["question"]
    else:  # another turn, so that the answers to the question before vanish at once
        st.session_state["turn"] = 1 - st.session_state.get("turn", 0)


def nameless(trace: rag_core.Trace, place: int, title: str) -> Markup:
    """A titled answer with nothing that gives its strategy away, and the passages that its citations open."""
    shown = renumbered(trace, trace.answer) if trace.answer else trace
    column = Column(rag_core.build((trace.strategy, trace.controls)), list(shown.steps), trace=shown)
    written = answers.finished(shown, shown.answer, place, blind=True) if shown.answer else ""
    opened = passages.opened(column, place, trace.question, blind=True)
    return render("room.answer", title=title, answer=written, opened=opened)


def renumbered(trace: rag_core.Trace, said: rag_core.Answer) -> rag_core.Trace:
    """Passages numbered as the answer cites them: their ranks would hint at how many of them a strategy keeps."""
    hits, cited = trace.ranking.hits, [one.n for one in said.citations]
    ranks = sorted(range(1, len(hits) + 1), key=lambda rank: cited.index(rank) if rank in cited else len(cited))
    numbers = {rank: number for number, rank in enumerate(ranks, start=1)}

    def new(rank: int) -> int:
        return numbers.get(rank, rank)

    def text(old: str) -> str:
        return re.sub(r"\[(\d+)\]", lambda marker: f"[{new(int(marker[1]))}]", old)

    def sentence(one: Grounded) -> Grounded:
        start, end = (len(text(said.written[:place])) for place in (one.start, one.end))
        return replace(one, start=start, end=end, n=new(one.n), by=tuple(sorted(map(new, one.by))))

    answer = replace(
        said,
        text=said.notice + text(said.text.removeprefix(said.notice)),
        citations=tuple(replace(one, n=new(one.n)) for one in said.citations),
        sentences=tuple(map(sentence, said.sentences)),
    )
    ranking = replace(trace.ranking, hits=tuple(hits[rank - 1] for rank in ranks))
    last = replace(trace.steps[-1], after=replace(trace.final, rankings=(ranking,), answer=answer))
    return replace(trace, steps=(*trace.steps[:-1], last))
