from collections.abc import Iterator

import pytest
from helpers.openai_server import OpenAIServer, serve
from helpers.provider_calls import KEY
from helpers.provider_lab import obliging, provider_lab

from rag_core.lab.lab import Lab
from rag_core.models import LlamaLlm
from rag_core.models.llm import load_openai
from rag_core.values.settings import Settings


@pytest.fixture
def server(short_back_off: None) -> Iterator[OpenAIServer]:
    with serve() as running:
        yield running


@pytest.fixture
def base(server, monkeypatch) -> OpenAIServer:
    """The server, and the environment pointing at it."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return server


@pytest.fixture
def llm(base, prices) -> LlamaLlm:
    return load_openai(Settings(timeout=20), "gpt-4o", prices)


@pytest.fixture
def animals(base, read_only_store, embedder, labels) -> Lab:
    """A lab over conftest's documents whose models are the server's."""
    base.choose = obliging
    return provider_lab(base, read_only_store, embedder, labels)
