"""The history in a real PostgreSQL: slow, silent, locked, with few rights, or with other columns."""

import socket

import pytest
from helpers.postgres import SECRET, opened, question
from sqlalchemy import create_engine, text

from rag_core.sessions.history import database
from rag_core.values.errors import StorageError


@pytest.fixture
def address(postgres_address: str) -> str:
    return postgres_address


def test_a_question_is_kept_found_and_deleted(address):
    history = opened(address)
    history.add(question("a"))
    assert [one.question for one in history.search("EWA")] == [SECRET]
    assert history.find("a") == question("a")
    assert history.showing("obstetrics") == []
    assert history.forget(["a", "b"]) == 1


@pytest.mark.timeout(30)
def test_a_server_that_accepts_and_never_answers_is_given_up_without_its_address(monkeypatch):
    monkeypatch.setattr(database, "CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(StorageError, match="timeout") as caught:
            opened(f"postgresql+psycopg://owner@127.0.0.1:{port}/postgres").search()
    assert "127.0.0.1" not in caught.value.sentence


@pytest.mark.timeout(30)
def test_a_statement_that_waits_too_long_is_given_up(address, owner, monkeypatch):
    history = opened(address)
    history.add(question("a"))
    monkeypatch.setattr(database, "ANSWER_S", 1)
    with create_engine(address).begin() as other:
        other.execute(text("LOCK TABLE rag_questions IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(StorageError, match="statement timeout"):
            history.search()
    assert history.count() == 1


@pytest.mark.parametrize(("rights", "writes"), [("SELECT", False), ("SELECT, INSERT, UPDATE, DELETE", True)])
def test_a_role_that_may_create_nothing_reads_and_writes_as_far_as_it_may(address, owner, rights, writes):
    opened(address).add(question("a"))
    with owner.connect() as connection:
        connection.execute(text("CREATE ROLE guest LOGIN"))
        connection.execute(text(f"GRANT {rights} ON rag_questions TO guest"))
    try:
        guest = opened(address.replace("owner@", "guest@"))
        assert [one.id for one in guest.search()] == ["a"]
        assert guest.find("a") == question("a")
        if writes:
            guest.add(question("b"))
            assert guest.count() == 2
        else:
            with pytest.raises(StorageError, match="permission denied for table rag_questions"):
                guest.add(question("b"))
    finally:
        with owner.connect() as connection:
            connection.execute(text("DROP OWNED BY guest"))
            connection.execute(text("DROP ROLE guest"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("RENAME COLUMN folded TO searched", "does not exist"),
        ("ALTER COLUMN question TYPE integer USING 0", "is of type integer"),
        ("ADD COLUMN visitor text NOT NULL", "not-null constraint"),
    ],
)
def test_a_table_with_other_columns_is_one_sentence_without_a_question(address, owner, change, said):
    history = opened(address)
    history.add(question("first"))
    with owner.connect() as connection:
        if "ADD" in change:
            connection.execute(text("DELETE FROM rag_questions"))
        connection.execute(text(f"ALTER TABLE rag_questions {change}"))
    with pytest.raises(StorageError, match=said) as caught:
        history.add(question("second"))
    assert "Ewa" not in caught.value.sentence
    assert "127.0.0.1" not in caught.value.sentence
