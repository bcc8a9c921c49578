"""Private data in a question, an external model and the command line: nothing is sent before a choice, nothing is logged.

The provider is reached at 0.0.0.0, an address of this machine that is no loopback address, and so counts as external.
"""

import json
import logging
from collections.abc import Callable, Iterator

import pytest
from helpers.behaviours import Status
from helpers.openai_server import OpenAIServer
from helpers.provider_lab import provider_lab

from rag_core.cli import main
from rag_core.lab.lab import Lab
from rag_core.values.settings import Settings, read_settings

PRIVATE = "Do cats sleep? Call 07700 900854 or ana@example.com"
REDACTED = "Do cats sleep? Call [phone] or [e-mail]"
SECRETS = ("07700", "ana@example.com")
STRATEGY = ("--strategy", "hyde")
COMMANDS = [("query", *STRATEGY), ("compare", "--strategies", "hyde,bm25")]


@pytest.fixture
def settled(monkeypatch, server, read_only_store, embedder, labels) -> Callable[[str], Lab]:
    """Settings whose models are the server's, at an address, and the lab that they open."""

    def at(url: str) -> Lab:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        lab = provider_lab(server, read_only_store, embedder, labels, openai_base_url=url)
        monkeypatch.setattr("rag_core.open_lab", lambda corpus, **options: lab)
        return lab

    return at


@pytest.fixture
def external(settled, server) -> Lab:
    return settled(server.url.replace("127.0.0.1", "0.0.0.0"))


def sent(server: OpenAIServer) -> str:
    return json.dumps([request.body for request in server.requests])


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_sent_before_a_choice(rag, external, server, command):
    ran = rag(command[0], PRIVATE, *command[1:])
    assert ran.code == 1
    assert server.requests == []
    assert "a phone number and an e-mail address" in ran.err
    assert "--redact" in ran.err
    assert "--send-private" in ran.err
    assert not any(secret in ran.err + ran.out for secret in SECRETS)


@pytest.mark.parametrize("command", COMMANDS)
def test_redact_sends_the_kinds_and_not_the_data(rag, external, server, command):
    ran = rag(command[0], PRIVATE, *command[1:], "--redact", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["question"] == REDACTED
    assert REDACTED in sent(server)
    assert not any(secret in sent(server) for secret in SECRETS)


@pytest.mark.parametrize("command", COMMANDS)
def test_send_private_sends_the_question_as_typed(rag, external, server, command):
    assert rag(command[0], PRIVATE, *command[1:], "--send-private").code == 0
    assert PRIVATE in sent(server)


def test_a_question_without_private_data_is_not_held_back(rag, external, server):
    assert rag("query", "Do cats sleep?", *STRATEGY).code == 0
    assert server.requests


def test_the_two_choices_exclude_each_other(rag, external, server):
    assert rag("query", PRIVATE, "--redact", "--send-private").code == 2
    assert server.requests == []


@pytest.mark.parametrize(("chosen", "question"), [("redact", REDACTED), ("send", PRIVATE)])
def test_the_setting_chooses_once_for_all(rag, external, server, monkeypatch, chosen, question):
    monkeypatch.setenv("RAG_PRIVATE", chosen)
    assert rag("query", PRIVATE, *STRATEGY, "--json").json["question"] == question
    assert question in sent(server)
    assert (PRIVATE in sent(server)) == (chosen == "send")


def test_a_saved_session_is_held_back_too(rag, external, server, tmp_path):
    saved = tmp_path / "session.json"
    saved.write_text(rag("query", PRIVATE, *STRATEGY, "--send-private", "--json").out, encoding="utf-8")
    server.requests.clear()
    assert rag("replay", str(saved)).code == 1
    assert server.requests == []
    assert rag("replay", str(saved), "--redact").code == 0
    assert REDACTED in sent(server)
    assert not any(secret in sent(server) for secret in SECRETS)


def test_a_model_server_on_a_loopback_address_is_this_machine(rag, settled, server):
    settled(server.url)
    assert rag("query", PRIVATE, *STRATEGY).code == 0
    assert PRIVATE in sent(server)


class TestWhatIsOutside:
    def test_without_a_provider_nothing_is(self):
        assert read_settings().outside == ()
        assert Settings(llm="offline", openai_base_url="https://models.example/v1").outside == ()

    @pytest.mark.parametrize(
        "url",
        ["http://localhost:11434/v1", "http://127.0.0.1:1/v1", "http://127.9.9.9/v1", "http://[::1]:8000/v1"],
    )
    def test_a_loopback_address_is_not(self, url):
        assert Settings(openai_base_url=url).outside == ()

    @pytest.mark.parametrize(
        "url",
        ["https://models.example/v1", "http://192.168.1.20:11434", "http://0.0.0.0:1", "http://localhost.example/v1", "http://127.0.0.1.example"],
    )  # fmt: skip
    def test_any_other_address_is(self, url):
        assert len(Settings(openai_base_url=url).outside) == 1

    def test_openai_itself_is(self):
        assert Settings(openai_api_key="sk-1").outside == ("openai",)

    def test_every_role_that_reads_questions_counts(self):
        here, there = "http://localhost:1/v1", "https://there.example/v1"
        for role in ("rewriter_base_url", "judge_base_url"):
            assert Settings(openai_base_url=here, **{role: there}).outside == ("there.example",)
        hosted = Settings(llm="offline", openai_base_url=there, embedding="openai:text-embedding-3-small")
        assert hosted.outside == ("there.example",)

    def test_a_proxy_takes_a_loopback_address_outside(self, monkeypatch):
        here = Settings(openai_base_url="http://localhost:11434/v1")
        monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
        monkeypatch.setenv("no_proxy", "")
        assert here.outside == ("localhost:11434",)
        monkeypatch.setenv("no_proxy", "localhost")
        assert here.outside == ()


STRANGE = "Zyxwvut"
ASKED = f"Do {STRANGE} cats sleep in one house?"


class Records(logging.Handler):
    """Everything that is logged, as it would be written, with tracebacks."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{self.format(record)} {record.args!r}")


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """All loggers at DEBUG, those of the HTTP and model clients by name."""
    records = Records()
    names = [None, "openai", "httpx", "httpcore", "llama_index", "chromadb", "rag_core"]
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    loggers[0].addHandler(records)
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    yield records.lines
    loggers[0].removeHandler(records)
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.mark.parametrize("fault", [None, Status(500), Status(400)])
def test_no_question_reaches_a_log_or_stderr(external, server, logged, capfd, fault):
    if fault:
        server.choose = lambda body: fault
    with pytest.raises(SystemExit) as ended:
        main(["query", ASKED, "--strategy", "rag_msr", "--json"])
    assert ended.value.code == (1 if fault else 0)
    list(external.stream(ASKED, ["multi_query", "hybrid_rrf"]))
    assert STRANGE in sent(server)
    assert any(line.startswith("httpx") for line in logged)  # the handler does hear the clients
    assert [line for line in logged if STRANGE in line] == []
    assert STRANGE not in capfd.readouterr().err


def test_no_question_of_the_offline_engine_is_logged(lab, logged, capfd):
    lab.run(f"When is {STRANGE} anti-D given?", "ensemble")
    lab.run(f"¿Cuándo se pone {STRANGE} la anti-D?", "contextual", rerank=True)
    assert [line for line in logged if STRANGE in line] == []
    assert STRANGE not in capfd.readouterr().err
