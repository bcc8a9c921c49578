"""The jobs running on this server, as every session sees them, and the choice of questions to measure on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import listed, render
from pages.drawing.translate import declared, plural, problem, t, translated, words_for
from pages.drawing.untrusted import Label, label
from pages.shared import account, controls, corpora, permalink, rooms, setups, wording
from pages.shared.engine import engine
from rag_core import evaluation as ev
from rag_core.jobs import Job, JobKind, Jobs, Status
from rag_core.lab.adding import FileOutcome
from rag_core.sessions.exam.exam import Exam
from rag_core.sessions.exam.folder import for_measuring
from rag_core.sessions.exam.judgements import JUDGED_BY
from rag_core.values.message import Message
from rag_core.values.types import spent_so_far

BUILTIN_LABEL = declared("Built-in questions")
_started_by: WeakKeyDictionary[Job, str] = WeakKeyDictionary()
TICK = 1.0  # seconds between updates
STOPPED = words_for("stopped")


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The jobs of this server."""
    return Jobs()


@st.cache_resource(show_spinner=False)
def _lab_of(data: str, _consent: Callable[[ev.CostEstimate], None]) -> rag_core.Lab:
    return ev.open_judged(data, rag_core.read_settings(), engines=engine().wait().engines, consent=_consent)


def lab_for(data: str, consent: Callable[[ev.CostEstimate], None]) -> rag_core.Lab:
    """The lab over a judged set's documents, embedded with consent to the cost; raises RagError."""
    if data == ev.BUILTIN_DATA:
        return engine().wait()
    lab = _lab_of(data, consent)
    try:
        lab.index  # noqa: B018  # opens it, and fails when it was deleted since
    except rag_core.RagError:
        _lab_of.clear()
        lab = _lab_of(data, consent)
    return lab


@st.fragment(run_every=TICK)
def under_way(kind: JobKind) -> None:
    """The running and finished jobs of this server, whoever started them; redraws itself."""
    listed = jobs().all(kind)
    key = f"{kind}.open"
    still_open = {id(job) for job in listed if not job.over}
    ended = st.session_state.get(key, set()) - still_open
    st.session_state[key] = still_open
    if ended:
        st.rerun()  # the page, which shows results, once when a job ends
    running = [job for job in jobs().all() if not job.over]
    if len(running) > 1:
        st.caption(t("{count} jobs are running on this server, so each takes longer.", count=len(running)))
    # all uploads that ended but the latest would bury the form
    earlier = [job for job in listed if job.over and job.kind in ("index", "reindex")][1:]
    for job in listed:
        if job not in earlier:
            with st.container(border=True):
                _job(job)
    if earlier:
        with st.expander(t("Earlier ({count:d})", count=len(earlier))):
            for job in earlier:
                _job(job)


def _job(job: Job) -> None:
    status = job.status
    began = time.strftime("%H:%M", time.localtime(job.started))
    title = Label(t("**{title}** · started {began}", title=label(translated(job.title)), began=label(began)))
    key = f"{job.kind}.{job.key}"
    match status.phase:
        case "asking" if not job.stopping:
            st.markdown(title)
            st.warning(
                t(
                    "{billed} would cost **{bill}**. Nothing is sent before you agree.",
                    billed=label(translated(status.billed)),
                    bill=label(_bill(status.bill)),
                )
            )
            yes, no = st.columns(2)
            if refused := st.session_state.get(f"{key}.refused"):
                untrusted.say(refused, st.error)
            if _started_by.get(job) == account.visitor():
                yes.button(
                    t("Go on"), type="primary", width="stretch", on_click=_agree, args=(job, status.bill),
                    key=f"{key}.yes",
                )  # fmt: skip
            else:
                yes.caption(t("Only the visitor who started it can agree."))
            if account.may_operate():
                no.button(t("Do not run it"), width="stretch", on_click=job.stop, key=f"{key}.no")
        case "running" | "asking":
            _running(job, status, title, key)
        case _:
            _ended(job, status, title, key)


def started_here(job: Job) -> Job:
    """Note that this visitor started a job, unless another did; returns it."""
    _started_by.setdefault(job, account.visitor())
    return job


def _bill(bill: ev.CostEstimate | None) -> str:
    if bill is None:
        return ""
    cost = t("an unknown price") if bill.cost.unpriced else t("about {cost}", cost=bill.cost)
    return plural(
        "at most {cost} for at most {count:,} call", "at most {cost} for at most {count:,} calls", sum(bill.calls.values()),
        cost=cost,
    )  # fmt: skip


@untrusted.errors()
def start(kind: JobKind, begin: Callable[[], Job], already: str) -> None:
    """Start a job and redraw the page; if it cannot start, or is running `already`, say so on screen."""
    before = jobs().all(kind)
    job = started_here(begin())
    if job in before:  # and is drawn already; a rerun would take the toast away
        st.toast(label(already))
    else:
        st.rerun()


def _agree(job: Job, bill: ev.CostEstimate) -> None:
    """Agree to a bill. It counts in full towards the budgets, since what is really spent is known only at the end."""

    def reserve() -> None:
        spending = account.spending()
        most = spending.at_most(bill.cost.known, bill.unpriced)
        spending.reserve(account.visitor(), sum(bill.calls.values()), most)

    try:
        job.agree(bill, reserve)
    except rag_core.RagError as error:
        st.session_state[f"{job.kind}.{job.key}.refused"] = problem(error)


def _running(job: Job, status: Status, title: Label, key: str) -> None:
    left = ""
    if status.seconds_left is not None:
        minutes, seconds = divmod(round(status.seconds_left), 60)
        left = t(", {time} left", time=f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s")
    counted = t(" {done:,} of {total:,}", done=status.done, total=status.total) if status.total else ""
    doing = f"{wording.step(status.doing)}{counted}{left}"
    if job.stopping and job.kind in ("index", "reindex"):
        doing = t("stopping after what is under way")
    elif job.stopping:
        doing = t("stopping after the questions under way")
    st.progress(status.share, f"{title}: {label(doing)}")
    if status.paid:
        untrusted.say(
            t("You agreed to {bill}. It continues when this page is closed; Stop ends it.", bill=_bill(status.bill))
        )
    if account.may_operate():
        st.button(t("Stop"), on_click=job.stop, disabled=job.stopping, key=f"{key}.stop")
    if status.means:
        st.dataframe(
            untrusted.cells(
                {t("Strategy"): translated(name), t("Questions"): mean.count, t("Mean so far"): mean.value}
                for name, mean in status.means.items()
            ),
            hide_index=True,
            column_config={t("Mean so far"): st.column_config.NumberColumn(format="%.3f")},
        )


def _ended(job: Job, status: Status, title: Label, key: str) -> None:
    match status.phase:
        case "done" if job.kind == "index":
            files_added(title, status.files)
        case "done":
            paid_for = label(translated(spent_so_far(status.calls)))
            st.success(f"{t('{title}: done.', title=title)} {paid_for}")
        case "stopped":
            st.info(f"{title}: {translated(STOPPED[job.kind])} {label(translated(spent_so_far(status.calls)))}")
        case _:
            kept = t("What was measured is kept.") if job.kind == "run" and status.done else ""
            spent = translated(spent_so_far(status.calls))
            why = problem(status.error or "")
            st.error(f"{title}: {label(f'{why} {kept} {spent}')}")
    if status.phase == "done" and not rag_core.Cost.of(status.embedded).free:
        untrusted.say(t("Embedding the documents cost {cost}.", cost=rag_core.Cost.of(status.embedded)))
    if status.phase == "done" and status.unread:
        untrusted.say(f"{translated(status.unread)}.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if status.result and job.kind == "index" and status.result.name in corpora.names():
            with st.container(key=f"ask-these.{job.key}", width="content"):
                columns = [setups.of(position) for position in range(controls.columns())]
                permalink.link(t("Ask these documents"), columns, status.result.name)
        elif status.result and job.kind in ("run", "sweep"):
            words, view = t("See the results"), {"view": "results", "run": status.result.name}
            if job.kind == "sweep":
                words, view = t("See the sweep"), {"view": "search-settings", "sweep": status.result.stem}
            st.page_link("pages/evaluate/evaluate.py", label=words, icon="📊", query_params=view)
        if account.may_operate():
            st.button(t("Dismiss"), on_click=jobs().clear, args=(job,), key=f"{key}.clear",
                  help=t("Removes this line from every session. Results stay on disk."))  # fmt: skip


def choose_data(key: str, *, in_address: bool = False) -> str:
    """Choose "builtin" or a folder of RAG_BENCHMARKS, kept over reloads; not on pages that call `st.switch_page`."""
    settings = rag_core.read_settings()
    # named by the operator: a visitor's path would tell which folders exist, and index them
    folders = {**settings.benchmark_folders, ev.BUILTIN_DATA: ev.BUILTIN_DATA}
    kept = rooms.exams() if in_address else None  # an exam has no questions to tune on
    exams = {exam_title(one): one for one in kept.all()} if kept else {}
    chosen = st.selectbox(
        t("Questions"), [*sorted(folders, key=lambda name: (name != ev.BUILTIN_DATA, name)), *exams], key=f"{key}.data",
        format_func=lambda name: translated(BUILTIN_LABEL) if name == ev.BUILTIN_DATA else untrusted.plain(name),
        persist_state="session", bind="query-params" if in_address else None,
        help=t("Measuring needs questions with judgements. To measure on your own documents, make an exam on the page "
        "Documents; or put them and your judged questions into a BEIR folder, and name it in RAG_BENCHMARKS or run "
        "`rag eval --data FOLDER`."),
    )  # fmt: skip
    if kept and chosen in exams:
        exam = exams[chosen]
        return str(for_measuring(kept, exam, engine().wait(exam.corpus).passages, settings.home))
    return str(folders[chosen])


def exam_title(exam: Exam) -> str:
    """What an exam is called among the questions to measure on, and in the address of Evaluate, whatever its language."""
    return f"{exam.title} ({exam.code})"


def judged_by(data: str, split: str) -> None:
    """One line that says who judged; nothing for a set that cannot be read."""
    say_judged_by(_judged_by(data, split))


def say_judged_by(sentence: str) -> None:
    """The same of a sentence that was stored."""
    if sentence:
        untrusted.say(translated(Message.read(JUDGED_BY, sentence)))


@st.cache_data(show_spinner=False, ttl=60)
def _judged_by(data: str, split: str) -> str:
    try:
        return ev.read_judged(data, split, rag_core.read_settings()).judged_by
    except rag_core.RagError:
        return ""  # measuring shows the error


def files_added(title: Label, files: Sequence[FileOutcome]) -> None:
    """Draw a line with the counts, then a table."""
    counted: Counter[str] = Counter(one.status for one in files)
    words = {
        "failed": plural("{count} not added", "{count} not added", counted["failed"]),
        "added": plural("{count} added", "{count} added", counted["added"]),
        "changed": plural("{count} replaced", "{count} replaced", counted["changed"]),
        "unchanged": plural("{count} unchanged", "{count} unchanged", counted["unchanged"]),
    }
    counts = ", ".join(words[status] for status in words if counted[status])
    message = f"{title}: {untrusted.label(counts)}."
    if counted["failed"] == len(files):
        st.error(message)
    elif counted["failed"]:
        st.warning(message)
    else:
        st.success(message)
    told = [one for one in files if one.status == "failed" or one.reason or one.hidden or one.orders]
    if told:
        untrusted.draw(_outcome_table(sorted(told, key=lambda one: one.status != "failed")))
    if smooth := [one for one in files if one not in told]:
        table = _outcome_table(smooth)
        untrusted.draw(render("files.others", count=len(smooth), table=table) if told else table)


def _outcome_table(files: Sequence[FileOutcome]) -> Markup:
    rows = [(one.name, render("files.result", status=one.status), render("files.notes", file=one)) for one in files]
    return listed((t("File"), t("Result"), t("Why, and what to know")), rows, "rl-files")
