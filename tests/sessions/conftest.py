"""A real PostgreSQL for all files of the history and the panel, and a lab with a server of models."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.behaviours import Reply
from helpers.postgres import binaries, postgres
from helpers.provider_lab import provider_lab
from sqlalchemy import Engine, create_engine, text

from rag_core.lab.lab import Lab
from rag_core.sessions.history import schema


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="psycopg, which connects to PostgreSQL, is not installed")
    if binaries() is None:
        pytest.skip("no PostgreSQL server is installed")
    with postgres() as address:
        yield address


@pytest.fixture
def postgres_address(postgres_server: str) -> Iterator[str]:
    """The server without a table."""
    yield postgres_server
    with create_engine(postgres_server).begin() as connection:
        schema.METADATA.drop_all(connection)
        connection.execute(text("DROP TABLE IF EXISTS rag_questions_version"))


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with nothing in it."""
    return (
        f"sqlite:///{tmp_path / 'own.db'}" if request.param == "SQLite" else request.getfixturevalue("postgres_address")
    )


@pytest.fixture
def owner(address: str) -> Engine:
    return create_engine(address, isolation_level="AUTOCOMMIT")


@pytest.fixture
def server(server):
    server.choose = lambda body: Reply("Cats purr [1].", usage=(1000, 200))
    return server


@pytest.fixture
def animals(server, read_only_store, embedder, labels, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab over conftest's documents, which the command opens too."""
    lab = provider_lab(server, read_only_store, embedder, labels, openai_api_key="sk-0123456789")
    monkeypatch.setattr("rag_core.open_lab", lambda corpus, **options: lab)
    return lab
