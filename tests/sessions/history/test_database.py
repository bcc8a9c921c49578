"""The database of the history: made, migrated and opened by processes at once; on PostgreSQL too."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from helpers.postgres import SECRET, opened, question
from helpers.small import ROOT, python
from sqlalchemy import Connection, create_engine, inspect, text

from rag_core.sessions.history import database, schema
from rag_core.values.errors import MissingResource, StorageError

THIRD = '''
"""A column more."""
import sqlalchemy as sa
from alembic import op
revision, down_revision = "3", "2"
def upgrade():
    op.add_column("rag_questions", sa.Column("note", sa.Text))
'''
ADD_ONE = """
import sys
from datetime import UTC, datetime
from pydantic import SecretStr
from rag_core.sessions.history.record import Asked
from rag_core.sessions.history.store import History
from rag_core.values.settings import Settings
history = History.opened(Settings(database_url=SecretStr(sys.argv[1])))
print("ready", flush=True)
sys.stdin.readline()
history.add(Asked(sys.argv[2], datetime.now(UTC), "Where do cats sleep?", ()))
"""


def marked(connection: Connection) -> list[str]:
    return list(connection.execute(text("SELECT version_num FROM rag_questions_version")).scalars())


def with_third_version(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str = THIRD) -> None:
    """Let this program have a third version."""
    shutil.copytree(schema.MIGRATIONS, folder)
    (folder / "versions" / "v3.py").write_text(script)
    monkeypatch.setattr(schema, "MIGRATIONS", folder)
    monkeypatch.setattr(schema, "VERSION", "3")


def test_a_new_database_has_the_latest_version_and_exactly_the_table_that_is_used(address, owner):
    assert opened(address).count() == 0
    with owner.connect() as connection:
        assert marked(connection) == [schema.VERSION]
        seen = MigrationContext.configure(connection, opts={"version_table": schema.VERSIONS})
        assert compare_metadata(seen, schema.METADATA) == []
    assert ScriptDirectory(str(schema.MIGRATIONS)).get_heads() == [schema.VERSION]


def test_an_older_database_is_migrated_and_keeps_its_questions(address, owner, tmp_path, monkeypatch):
    opened(address).add(question("a"))
    with_third_version(tmp_path / "100% migrated", monkeypatch)
    assert opened(address).find("a") == question("a")
    with owner.connect() as connection:
        assert marked(connection) == ["3"]
        assert "note" in {one["name"] for one in inspect(connection).get_columns("rag_questions")}


def test_a_migration_that_fails_changes_nothing(address, owner, tmp_path, monkeypatch):
    opened(address).add(question("a"))
    with monkeypatch.context() as changed:
        with_third_version(tmp_path / "versions", changed, THIRD + '    op.execute("no SQL")\n')
        with pytest.raises(StorageError, match="cannot be used"):
            opened(address).count()
    with owner.connect() as connection:
        assert marked(connection) == ["2"]
        assert "note" not in {one["name"] for one in inspect(connection).get_columns("rag_questions")}
    assert opened(address).count() == 1


def test_a_newer_database_is_refused_in_a_sentence_and_left_as_it_is(address, owner):
    opened(address).add(question("a"))
    with owner.connect() as connection:
        connection.execute(text("UPDATE rag_questions_version SET version_num = '7'"))
    for use in (opened(address).search, lambda: opened(address).add(question("b"))):
        with pytest.raises(StorageError, match="written by a newer version of this program: 7") as caught:
            use()
        assert "SELECT" not in caught.value.sentence
        assert "Ewa" not in caught.value.sentence
        assert "Use the newer program" in caught.value.next_step
        assert "own.db" not in caught.value.sentence  # visitors read it
    with owner.connect() as connection:
        assert marked(connection) == ["7"]
        assert connection.execute(text("SELECT count(*) FROM rag_questions")).scalar_one() == 1


def test_processes_that_start_at_once_on_an_empty_database_all_keep_their_question(address):
    names = "abcd"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ADD_ONE, address, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for name in names
    ]  # fmt: skip
    for one in processes:
        assert one.stdout.readline() == "ready\n"
    for one in processes:
        one.stdin.write("\n")
        one.stdin.flush()
    errors = [one.communicate(timeout=60)[1] for one in processes]
    assert [one.returncode for one in processes] == [0] * len(names), errors
    assert sorted(one.id for one in opened(address).search()) == list(names)


def test_alembic_is_loaded_only_to_change_a_database(tmp_path):
    address = f"sqlite:///{tmp_path / 'own.db'}"
    look = (
        "import sys, rag_core; from pydantic import SecretStr; from rag_core.sessions.history.store import History; "
        "from rag_core.values.settings import Settings; "
        f"History.opened(Settings(database_url=SecretStr({address!r}))).count(); print('alembic' in sys.modules)"
    )
    assert [python("-c", look).out for _ in ("a new database", "the same one")] == ["True\n", "False\n"]


def test_an_empty_file_is_not_locked_while_alembic_is_imported(tmp_path):
    file = tmp_path / "own.db"
    look = (
        "import sqlite3, sys; from helpers.postgres import opened; seen = []; sys.addaudithook(lambda event, given: "
        "event == 'import' and given[0] == 'alembic.command' and seen.append("
        f"sqlite3.connect({str(file)!r}, timeout=0).execute('BEGIN IMMEDIATE').connection.rollback())); "
        f"opened('sqlite:///{file}').count(); assert len(seen) == 1"
    )
    ran = python("-c", look, PYTHONPATH=str(ROOT / "tests"))
    assert ran.code == 0, ran.err


def test_an_address_as_hosts_of_databases_write_it_is_taken(postgres_server, monkeypatch):
    history = opened(postgres_server.replace("postgresql+psycopg://", "postgres://"))
    assert history.where.startswith("postgresql+psycopg://")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingResource, match="package psycopg") as caught:
        opened("postgres://owner@127.0.0.1/x")
    assert "the extra `postgres`" in caught.value.next_step


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
