"""A real PostgreSQL for all files of the history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.postgres import binaries, postgres
from sqlalchemy import Engine, create_engine, text


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
        connection.execute(text("DROP TABLE IF EXISTS rag_questions, rag_questions_version"))


@pytest.fixture
def owner(address: str) -> Engine:
    return create_engine(address, isolation_level="AUTOCOMMIT")
