"""Stop cuts the connection, wherever a call hangs: nothing is sent afterwards, and what was sent is billed."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.behaviours import Drip, Endless, Hang, Status
from helpers.openai_server import role_of
from helpers.provider_lab import aimed, billed, owed, provider_lab
from helpers.small import WordEmbedder

from rag_core import Done, Failed, StoppedEarly
from rag_core.models import load_embedder
from rag_core.prompts.prompt import Template
from rag_core.runtime.context import Context
from rag_core.runtime.run import Run
from rag_core.values.errors import ProviderError, Stopped
from rag_core.values.settings import Settings

QUESTION = "Do cats and dogs sleep in one house?"
LONG = 600  # seconds: a call that only its timeout ends holds a test up for longer than it may take
BUSY = {"Retry-After": str(LONG)}
PATIENCE = 30  # seconds to wait for what must come
pytestmark = pytest.mark.timeout(2 * PATIENCE)
FAULTS = {
    "before the headers": Hang(),
    "after the headers": Hang(after=0, begun=True),
    "between two words": Hang(after=2),
    "in comments": Drip(),
    "in an endless reply": Endless(),
    "waiting after a 500": Status(500, headers=BUSY),
    "waiting after a 429": Status(429, headers=BUSY),
}
STRATEGIES = {  # the role that hangs, and how many of its requests go out together
    "an answer": ("bm25", "answer", 1),
    "rewrites": ("multi_query", "rewrite", 3),
    "judgements": (("rag_msr", {"theta": 0}), "judge", 3),
}


def senders() -> set[threading.Thread]:
    """The threads that could send a request: all but a server's own."""
    return {one for one in threading.enumerate() if "process_request" not in one.name}


def nobody_is_left(before: set[threading.Thread]) -> None:
    """Wait for the threads begun since `before`: without them nothing can be sent later."""
    for one in senders() - before:
        one.join(PATIENCE)
        assert not one.is_alive(), f"{one.name} goes on after Stop"


def connects_to(port: int) -> bool:
    """Whether a connection of this machine to a port is open or opening, as Linux tells."""
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    there = f"0100007F:{port:04X}"
    return any(row.split()[2] == there and row.split()[3] in ("01", "02") for row in rows)


def stopped_when(lab, strategies, ready) -> list:
    """The outcomes of a run that is stopped once `ready`."""
    stop = threading.Event()

    def press() -> None:
        while not ready():
            time.sleep(0.01)
        stop.set()

    finger = threading.Thread(target=press, daemon=True)
    finger.start()
    events = list(lab.stream(QUESTION, strategies, stop=stop))
    finger.join()
    return [event for event in events if isinstance(event, Done | Failed | StoppedEarly)]


class TestLanguageModels:
    @pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
    @pytest.mark.parametrize(("strategy", "role", "hanging"), STRATEGIES.values(), ids=STRATEGIES)
    def test_nothing_is_sent_after_stop_and_what_was_sent_is_billed(
        self, base, read_only_store, embedder, labels, fault, strategy, role, hanging
    ):
        base.choose = aimed(fault, lambda body: role_of(body) == role)
        lab = provider_lab(base, read_only_store, embedder, labels, timeout=LONG)

        def ready() -> bool:
            return sum(request.role == role for request in base.requests) >= hanging

        before = senders()
        (outcome,) = stopped_when(lab, [strategy], ready)
        sent = list(base.requests)
        assert isinstance(outcome, StoppedEarly), outcome
        if isinstance(fault, Drip | Endless) or fault == Hang(after=2):  # how much was read is not known here
            assert len([call for call in outcome.calls if call.of_language_model]) == len(sent)
        else:
            # A request whose refusal had not arrived yet when Stop came counts as answered.
            unsure = hanging if isinstance(fault, Status) else 0
            assert not owed(sent) - billed(outcome.calls)
            assert (billed(outcome.calls) - owed(sent)).total() <= unsure
        nobody_is_left(before)
        assert base.requests == sent, "a request left after Stop"
        if not isinstance(fault, Status):
            assert base.gone.wait(PATIENCE), "the server sees the disconnect"


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """The port of a server that takes no connection, as behind a firewall that drops packets."""
    with socket.socket() as listening, contextlib.ExitStack() as queue:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(8):  # fills the queue; later connections wait for an answer
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]


@contextlib.contextmanager
def mute() -> Iterator[int]:
    """The port of a server that takes connections and says nothing, not even to begin encryption."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


class TestConnecting:
    @pytest.mark.parametrize(
        ("server", "scheme"), [(silent, "http"), (mute, "https")], ids=["connecting", "encrypting"]
    )
    def test_stop_ends_a_connection_that_does_not_come_about(self, read_only_store, embedder, labels, server, scheme):
        with server() as port:
            lab = provider_lab(
                None, read_only_store, embedder, labels,
                openai_base_url=f"{scheme}://127.0.0.1:{port}/v1", timeout=LONG,
            )  # fmt: skip
            (outcome,) = stopped_when(lab, ["bm25"], lambda: connects_to(port))
        assert isinstance(outcome, StoppedEarly)
        assert billed(outcome.calls) == {}


class TestEmbeddings:
    @pytest.mark.parametrize("fault", [Hang(), Status(429, headers=BUSY), Status(500, headers=BUSY)], ids=repr)
    def test_nothing_is_sent_after_stop_and_what_was_sent_is_billed(self, base, services, prices, fault):
        base.choose = lambda body: fault
        server = load_embedder(Settings(embedding="openai:text-embedding-3-small", timeout=LONG), prices)
        stop = threading.Event()
        ctx = Context(replace(services, embedder=server), Run(stop=stop))

        def press() -> None:
            while not base.requests:
                time.sleep(0.01)
            stop.set()

        before = senders()
        finger = threading.Thread(target=press, daemon=True)
        finger.start()
        with pytest.raises(Stopped):
            ctx.embed(("hello world",))
        finger.join()
        # A refusal that had not arrived yet when Stop came counts as answered.
        assert [call.input_tokens for call in ctx.meter.calls] in ([[2]] if fault == Hang() else [[], [2]])
        nobody_is_left(before)
        assert len(base.requests) == 1


def test_a_failure_of_any_model_after_stop_is_a_stop(services):
    """Also of a caller's own model, whose connection is not ours to cut."""
    stop = threading.Event()

    class Failing(WordEmbedder):
        name = key = "failing"
        offline = False

        def stream(self, prompt, stopped):
            stop.set()
            raise RuntimeError("the connection was lost")
            yield

        def embed(self, texts, kind="query", languages=()):
            stop.set()
            raise ProviderError("The connection was lost.")

    ctx = Context(replace(services, llms={"answer": Failing()}, embedder=Failing()), Run(stop=stop))
    with pytest.raises(Stopped):
        ctx.complete(Template("t", "answer", "", "{question}").fill(question="Why?"))
    stop.clear()
    with pytest.raises(Stopped):
        ctx.embed(("Why?",))
