import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from helpers.fakes import CountingIndex, Told, WordReranker, talker
from helpers.processes import word_engines
from helpers.small import WordEmbedder

from rag_core import Done, Event, Failed, StageFinished, StageStarted, StoppedEarly, Token, collect
from rag_core.catalog import build
from rag_core.indexing import CorpusIndex
from rag_core.lab.engines import ROLES
from rag_core.lab.lab import Lab
from rag_core.language.analysis import assuming, language_of
from rag_core.pipeline.strategy import Strategy
from rag_core.pipeline.stream import stream
from rag_core.prompts.prompt import Prompt
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.stages import Dense, Generate, Retrieve, Stage, TransformStage
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import RagError, StageError, Stopped
from rag_core.values.trace import Trace
from rag_core.values.types import ModelCall, Query

QUESTION = "Do cats sleep in the house with dogs?"
ENGINE = {"llm": "scripted", "embedding": "words", "reranker": None, "index": "animals"}
SECONDS = 20  # to wait for what must come; nothing waits this long when it does


class Endless:
    """Talks until it is told to stop."""

    name = key = "endless"
    offline = False

    def __init__(self) -> None:
        self.stopped = threading.Semaphore(0)

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        until = time.monotonic() + SECONDS
        pause = threading.Event()
        while not stop():
            assert time.monotonic() < until, "was never told to stop"
            yield "on "
            pause.wait(0.001)
        self.stopped.release()
        yield ModelCall(prompt.purpose, self.name, 1, 1, 0.0, "tokenizer")


ECHO = {"answer": lambda prompt: f"{prompt.fields['question']} [1]"}


@dataclass(frozen=True)
class Broken(TransformStage):
    fans_out = False
    error: BaseException

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        raise self.error


@pytest.fixture
def counting(index: CorpusIndex) -> CountingIndex:
    return CountingIndex(index)


@pytest.fixture
def counted(services: Services, counting: CountingIndex, embedder: WordEmbedder) -> Services:
    embedder.asked.clear()
    return replace(services, index=counting)


def events_of(strategies: Sequence[object], services: Services, question: str = QUESTION, **more) -> list[Event]:
    built = [build(one) for one in strategies]  # type: ignore[arg-type]
    return list(stream(question, built, replace(services, engine=more.pop("engine", ENGINE)), **more))


def traces_of(*args, **more) -> list[Trace]:
    settled = collect(iter(events_of(*args, **more)))
    assert all(isinstance(one, Trace) for one in settled), settled
    return settled  # type: ignore[return-value]


def of_column(events: Sequence[Event], column: int) -> list[Event]:
    return [event for event in events if event.column == column]


def settled_columns(events: Sequence[Event]) -> list[int]:
    return sorted(event.column for event in events if isinstance(event, Done | Failed | StoppedEarly))


def named(event: Event) -> str:
    match event:
        case StageStarted(_, position, stage, _):
            return f"{position} {stage} started"
        case StageFinished(_, position, step):
            return f"{position} {step.stage} finished"
        case _:
            return type(event).__name__


def test_the_events_of_every_column_come_in_order_and_end_once(services):
    strategies = ["simple_semantic", "bm25", "hybrid_rrf"]
    events = events_of(strategies, replace(services, llms={"answer": Told(ECHO)}))
    names = [
        ["Dense", "Generate"],
        ["Bm25", "Generate"],
        ["Bm25 ∥ Dense", "ReciprocalRankFusion", "Top", "Mmr", "Generate"],
    ]
    for column, stages in enumerate(names):
        told = [name for name, _ in itertools.groupby(map(named, of_column(events, column)))]
        last = len(stages) - 1
        before = [f"{i} {stages[i]} {what}" for i in range(last) for what in ("started", "finished")]
        assert told == [*before, f"{last} Generate started", "Token", f"{last} Generate finished", "Done"]
    assert settled_columns(events) == [0, 1, 2]


def test_the_steps_told_are_the_steps_of_the_trace(services):
    events = events_of(["hybrid_rrf"], services)
    (done,) = [event for event in events if isinstance(event, Done)]
    told = tuple(event.step for event in events if isinstance(event, StageFinished))
    assert done.trace.steps == told
    assert done.trace.engine == ENGINE


@pytest.mark.parametrize(
    ("page", "languages", "read"), [("es", ("en",), "en"), ("es", ("en", "es"), "es"), ("en", ("es",), "es")]
)
def test_a_column_reads_a_word_of_both_languages_in_that_of_its_collection_or_the_page(services, page, languages, read):
    llms = {"answer": Told({"answer": lambda prompt: f"{language_of('diabetes')} [1]"})}
    profile = replace(services.profile, languages=languages)
    with assuming(page):
        (trace,) = traces_of(["bm25"], replace(services, llms=llms, profile=profile), QUESTION)
    assert trace.answer.text.split()[0] == read


BAD = Strategy("bad", (Broken(ValueError("no")), Retrieve((Dense(),)), Generate()))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_failing_column_leaves_the_others_as_they_are(services, place):
    strategies: list[object] = ["simple_semantic", "bm25"]
    strategies.insert(place, BAD)
    events = events_of(strategies, services)
    settled = collect(iter(events))
    assert settled_columns(events) == [0, 1, 2]
    assert isinstance(settled[place], StageError)
    assert str(settled[place]).startswith("bad: stage Broken failed: ValueError: no")
    others = [one.strategy for one in settled if isinstance(one, Trace)]
    assert others == ["simple_semantic", "bm25"]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), MemoryError("full"), RagError("odd")])
def test_a_column_settles_whatever_is_raised(services, error):
    bad = Strategy("bad", (Broken(error), Retrieve((Dense(),)), Generate()))
    events = events_of([bad, "bm25"], services)
    failed, fine = collect(iter(events))
    assert isinstance(failed, RagError)
    assert (str(error) or type(error).__name__) in str(failed)
    assert isinstance(fine, Trace)


def test_a_failure_in_a_shared_stage_is_named_after_each_column(services):
    twin = replace(BAD, name="twin")
    settled = collect(iter(events_of([BAD, twin], services)))
    assert [str(one).partition(":")[0] for one in settled] == ["bad", "twin"]


def test_stopped_before_it_begins_every_column_settles_and_nothing_is_asked(counted, counting, embedder, llm):
    stop = threading.Event()
    stop.set()
    events = list(stream(QUESTION, [build("bm25"), build("hybrid_rrf")], counted, stop=stop))
    assert sorted(events, key=lambda event: event.column) == [StoppedEarly(0), StoppedEarly(1)]
    assert (counting.asked, embedder.asked, llm.prompts) == ([], [], [])


def test_stopped_during_tokens_every_column_settles_and_the_model_stops(services):
    endless, stop = Endless(), threading.Event()
    services = replace(services, llms={"answer": endless})
    events: list[Event] = []
    for event in stream(QUESTION, [build("simple_semantic"), build("bm25")], services, stop=stop):
        events.append(event)
        if {told.column for told in events if isinstance(told, Token)} == {0, 1}:
            stop.set()
    assert [event for event in events if isinstance(event, Done | Failed)] == []
    assert settled_columns(events) == [0, 1]
    assert [endless.stopped.acquire(timeout=SECONDS) for _ in range(2)] == [True, True]
    assert all(isinstance(one, Stopped) for one in collect(iter(events)))


def test_closing_the_iterator_stops_every_model(services):
    endless = Endless()
    events = stream(QUESTION, [build("simple_semantic"), build("bm25")], replace(services, llms={"answer": endless}))
    talking: set[int] = set()
    while talking != {0, 1}:
        event = next(events)
        if isinstance(event, Token):
            talking.add(event.column)
    events.close()  # type: ignore[attr-defined]
    assert [endless.stopped.acquire(timeout=SECONDS) for _ in range(2)] == [True, True]
    assert list(events) == []


def test_equal_strategies_run_once_and_only_one_column_pays(counted, counting, embedder, llm):
    traces = traces_of(["hybrid_rrf", "hybrid_rrf"], counted)
    assert sorted(counting.asked) == ["dense", "lexical"]
    assert embedder.asked == [(QUESTION,)]
    assert len(llm.prompts) == 1
    assert traces[0].answer is traces[1].answer
    for one, other in zip(traces[0].steps, traces[1].steps, strict=True):
        assert (one.reused, other.reused) in {(True, False), (False, True)}
        assert one.after is other.after


def test_strategies_share_their_first_stages_up_to_the_first_difference(counted, counting):
    plain, varied = traces_of(["hybrid_rrf", ("hybrid_rrf", {"mmr_lambda": 0.0})], counted)
    assert sorted(counting.asked) == ["dense", "lexical"]
    pairs = list(zip(plain.steps, varied.steps, strict=True))
    assert [one.after is other.after for one, other in pairs] == [True, True, True, False, False]
    assert [one.reused + other.reused for one, other in pairs] == [1, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("control", "value", "kept", "searches"),
    [
        ("k_bm25_candidates", 3, 0, ["dense", "lexical"]),
        ("k_semantic_candidates", 3, 0, ["dense", "lexical"]),
        ("rrf_k", 5, 1, []),
        ("k_rrf_pool", 4, 2, []),
        ("mmr_lambda", 0.2, 3, []),
        ("k_final", 2, 3, []),
        ("k_final", 5, 5, []),
    ],
)
def test_what_if_runs_only_from_the_first_changed_stage(counted, counting, llm, control, value, kept, searches):
    (old,) = traces_of(["hybrid_rrf"], counted)
    counting.asked.clear()
    llm.prompts.clear()
    events = events_of([("hybrid_rrf", {control: value})], counted, reuse=[old])
    (new,) = collect(iter(events))
    assert isinstance(new, Trace)
    assert [step.reused for step in new.steps] == [True] * kept + [False] * (5 - kept)
    for before, after in itertools.islice(zip(old.steps, new.steps, strict=True), kept):
        assert after == replace(before, reused=True, started=None)  # on another clock
        assert after.after is before.after
        assert all(one is other for one, other in zip(before.calls, after.calls, strict=True))
    assert sorted(counting.asked) == searches
    assert len(llm.prompts) == (0 if kept == 5 else 1)
    assert any(isinstance(event, Token) for event in events) == (kept < 5)
    assert new.controls[control] == value
    (alone,) = traces_of([("hybrid_rrf", {control: value})], counted)
    assert [step.after for step in new.steps] == [step.after for step in alone.steps]


@pytest.mark.parametrize(
    ("question", "engine"),
    [
        ("Do fish sleep?", ENGINE),
        (QUESTION, {**ENGINE, "llm": "another"}),
        (QUESTION, {**ENGINE, "embedding": "another"}),
        (QUESTION, {**ENGINE, "index": "animals, generation 2"}),
        (QUESTION, {**ENGINE, "anything else": "another"}),
        (QUESTION, {}),
    ],
    ids=["question", "llm", "embedding", "index", "more", "no engine"],
)
def test_a_trace_of_another_question_or_engine_is_not_reused(counted, counting, question, engine):
    (old,) = traces_of(["hybrid_rrf"], counted)
    counting.asked.clear()
    (new,) = traces_of(["hybrid_rrf"], counted, question, engine=engine, reuse=[old])
    assert [step.reused for step in new.steps] == [False] * 5
    assert sorted(counting.asked) == ["dense", "lexical"]


def test_a_trace_serves_every_strategy_with_the_same_first_stages(counted, counting):
    (old,) = traces_of(["hybrid_rrf"], counted)
    counting.asked.clear()
    stages: tuple[Stage, ...] = (*build("hybrid_rrf").stages[:2], Generate())
    (mine, plain) = traces_of([Strategy("mine", stages), "simple_semantic"], counted, reuse=[old])
    assert [step.reused for step in mine.steps] == [True, True, False]
    assert [step.reused for step in plain.steps] == [False, False]
    assert counting.asked == ["dense"]


@pytest.fixture
def animals(store, index, embedder, llm, labels, settings) -> Lab:
    """A lab over conftest's documents in which one scripted model plays every role."""
    reranker = WordReranker()
    engines = word_engines(
        labels=labels, embedder=embedder, scorer=reranker, reranker=reranker, paid=dict.fromkeys(ROLES, llm)
    )
    return Lab(settings, "animals", engines, store)


@pytest.mark.parametrize(
    ("strategy", "controls", "asked"),
    [
        # moved after the rewrites and the judgements: neither is asked for again
        ("multi_query", {"weighting": "exponential"}, {"answer": 1}),
        ("multi_query", {"weight_step": 0.4}, {"answer": 1}),
        ("multi_query", {"weighting": "custom", "query_weights": [0.1, 1, 1]}, {"answer": 1}),
        ("multi_query", {"k_per_query": 9}, {"answer": 1}),
        ("multi_query", {"k_final": 3}, {"answer": 1}),
        ("rag_msr", {"alpha": 0.6}, {"answer": 1}),
        ("rag_msr", {"theta": 0.6}, {"answer": 1}),
        ("rag_msr", {"theta": 1.0}, {}),
        ("rag_msr", {"k_final": 2}, {"answer": 1}),
        ("contextual", {"vector_weight": 0.1}, {"answer": 1}),
        ("contextual", {"rrf_k": 5}, {"answer": 1}),
        ("hyde", {"k_final": 2}, {"answer": 1}),
        # moved before them: they are
        ("multi_query", {"templates": ["standalone", "complications"]}, {"rewrite": 2, "answer": 1}),
        ("multi_query", {"rewriter_temperature": 0.5}, {"rewrite": 3, "answer": 1}),
        ("rag_msr", {"prompt_set": "improved"}, {"rewrite": 3, "judge": 5, "answer": 1}),
        ("rag_msr", {"m_per_query": 1}, {"judge": 3, "answer": 1}),
        ("contextual", {"transform": True}, {"rewrite": 1, "answer": 1}),
    ],
)
def test_what_if_asks_only_for_what_has_changed(full, strategy, controls, asked):
    (old,) = traces_of([strategy], full)
    llm = talker()
    shared = replace(full, llms=dict.fromkeys(full.llms, llm))
    (new,) = traces_of([(strategy, {**old.controls, **controls})], shared, reuse=[old])
    assert llm.purposes == asked
    (alone,) = traces_of([(strategy, {**old.controls, **controls})], full)
    assert [step.after for step in new.steps] == [step.after for step in alone.steps]


def test_two_streams_at_the_same_time_never_mix(services):
    services = replace(services, llms={"answer": Told(ECHO)})
    questions = ["Do cats sleep?", "Do fish swim in schools?"]
    strategies = [build("simple_semantic"), build("bm25"), build("hybrid_rrf")]
    streams = [stream(question, strategies, services) for question in questions]
    told: list[list[Event]] = [[], []]
    for events in itertools.zip_longest(*streams):
        for mine, event in zip(told, events, strict=True):
            if event is not None:
                mine.append(event)
    for question, events in zip(questions, told, strict=True):
        assert settled_columns(events) == [0, 1, 2]
        for event in events:
            if isinstance(event, StageFinished):
                assert event.step.after.question.text == question
                assert {query.text for query in event.step.after.queries} == {question}
        for trace in collect(iter(events)):
            assert isinstance(trace, Trace)
            assert (trace.question, trace.answer and trace.answer.text) == (question, f"{question} [1]")
        for column in range(3):
            words = [event.text for event in of_column(events, column) if isinstance(event, Token)]
            assert "".join(words) == f"{question} [1]"


def test_stopping_one_stream_leaves_the_other(services):
    endless = Endless()
    stopped = stream(QUESTION, [build("bm25")], replace(services, llms={"answer": endless}))
    other = stream(QUESTION, [build("bm25")], replace(services, llms={"answer": Told(ECHO)}))
    next(other)
    next(event for event in stopped if isinstance(event, Token))
    stopped.close()  # type: ignore[attr-defined]
    assert endless.stopped.acquire(timeout=SECONDS)
    (finished,) = collect(other)
    assert isinstance(finished, Trace)


def test_settled_columns_are_collected_in_their_order(services):
    (trace,) = traces_of(["bm25"], replace(services, llms={"answer": ScriptedLlm("Yes [1].")}))
    error = RagError("no")
    settled = collect(iter([StoppedEarly(2), Failed(1, error), Token(0, "x"), Done(0, trace)]))
    assert settled[:2] == [trace, error]
    assert isinstance(settled[2], Stopped)
