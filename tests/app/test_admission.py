import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

from pydantic import SecretStr

import rag_core
from pages.compare import column_parts
from pages.shared.engine import Admission, Engine
from pages.shared.live import LiveRun
from rag_core.values.model_choice import AS_SET, OFFLINE_MODEL, ModelChoice

BM25 = rag_core.build("bm25")
OFFLINE = ModelChoice(OFFLINE_MODEL)


class Server:
    """An engine whose questions end when told to; it notes the order in which they began."""

    def __init__(self, most: int) -> None:
        self.admission = Admission(most)
        self.settings: rag_core.Settings | None = None
        self.began: list[str] = []
        self.end: dict[str, threading.Event] = {}
        self.changed = threading.Condition()

    def wait(self, corpus: str) -> SimpleNamespace:
        return SimpleNamespace(stream=self.stream)

    def stream(self, question: str, *_: object, stop: threading.Event, **__: object) -> Iterator[rag_core.StoppedEarly]:
        with self.changed:
            self.began.append(question)
            self.changed.notify_all()
        if not stop.is_set():
            assert self.end[question].wait(60)
        yield rag_core.StoppedEarly(0, ())

    def ask(self, question: str, models: ModelChoice = AS_SET) -> LiveRun:
        """A question that has its place in the line when this returns."""
        self.end[question] = threading.Event()
        known = sum(self.admission.counts)
        run = LiveRun(cast(Engine, self), question, [rag_core.Setup(BM25, models)])
        self.until(lambda: sum(self.admission.counts) > known)
        return run

    def until(self, condition: object) -> None:
        assert callable(condition)
        line = self.admission._changed
        with line:
            assert line.wait_for(condition, 60)

    def until_began(self, *questions: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.began == [*questions], 60)


def test_who_waits_sees_how_many_are_ahead_and_who_stops_leaves_the_line():
    server = Server(1)
    first, second, third = (server.ask(name) for name in "abc")
    server.until(lambda: server.admission.ahead(third) == 2)
    assert "2 questions are ahead of yours." in column_parts.answer(third.columns[0], 0, "ready")
    second.stop()
    assert second.wait(60)
    server.until(lambda: server.admission.ahead(third) == 1)
    assert "1 question is ahead of yours." in column_parts.answer(third.columns[0], 0, "ready")
    server.end["a"].set()
    server.end["c"].set()
    assert first.wait(60)
    assert third.wait(60)
    assert "ahead of yours" not in column_parts.answer(third.columns[0], 0, "ready")


def test_a_free_question_does_not_wait_for_those_that_a_model_server_holds_up():
    server = Server(2)
    server.settings = rag_core.Settings(llm="openai", openai_api_key=SecretStr("k"), embedding="minilm")
    hung = [server.ask(name) for name in "ab"]
    server.until_began("a", "b")
    judged = server.ask("c", ModelChoice(OFFLINE_MODEL, judge_model="gpt-4o"))
    free = server.ask("d", OFFLINE)
    server.until_began("a", "b", "d")
    assert [server.admission.ahead(run) for run in (judged, free)] == [1, 0]
    assert server.admission.counts == (3, 1)
    for name in "abcd":
        server.end[name].set()
    assert all(run.wait(60) for run in (*hung, judged, free))


def test_a_question_that_a_provider_embeds_is_not_free():
    server = Server(1)
    server.settings = rag_core.Settings(
        llm="openai", openai_api_key=SecretStr("k"), embedding="openai:text-embedding-3-small"
    )
    first, second = server.ask("a"), server.ask("b", OFFLINE)
    server.until(lambda: server.admission.ahead(second) == 1)
    for name in "ab":
        server.end[name].set()
    assert first.wait(60)
    assert second.wait(60)
