"""The tables of the history and of the panel, and the version of their database, which Alembic brings up to date."""

import threading
from pathlib import Path

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    text,
)

from ...values.errors import StorageError
from ...values.message import Message

MIGRATIONS = Path(__file__).with_name("migrations")
VERSION = "2"  # the latest migration
VERSIONS = "rag_questions_version"
LOCK = 0x7261_6771  # an arbitrary number: of the lock that one process at a time has on a PostgreSQL database
OFF = Message("Or set RAG_HISTORY=off to keep no history.")

METADATA = MetaData()
QUESTIONS = Table(
    "rag_questions",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("asked", String(32), nullable=False),  # ISO 8601, UTC, to the microsecond: sorts as text
    Column("question", Text, nullable=False),
    Column("folded", Text, nullable=False),  # the question as it is searched
    Column("strategies", Text, nullable=False),  # names, each between spaces
    Column("finished", Integer, nullable=False),
    Column("record", LargeBinary, nullable=False),
    # a digest of who asked; empty without sign-in
    Column("owner", String(32), nullable=False, server_default=text("''")),
    Index("rag_questions_by_time", "asked"),
    Index("rag_questions_by_owner", "owner", "asked"),
)
ROOMS = Table(
    "rag_rooms",
    METADATA,
    Column("code", String(8), primary_key=True),
    Column("title", Text, nullable=False),
    Column("opened", String(32), nullable=False),
    Column("presenter", String(64), nullable=False),  # SHA-256 of the presenter's token
    Column("owner", String(32), nullable=False),
    Index("rag_rooms_by_time", "opened"),
)
ROUNDS = Table(
    "rag_rounds",
    METADATA,
    Column("room", String(8), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("asked", String(32), nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("revealed", Boolean, nullable=False),
    Column("record", LargeBinary, nullable=False),
)
PEOPLE = Table(
    "rag_people",
    METADATA,
    Column("room", String(8), primary_key=True),
    # a digest of room and token: nobody is known in two rooms
    Column("person", String(32), primary_key=True),
    Column("joined", String(32), nullable=False),
    # the pair in front of this person; 0 and empty before the first
    Column("round", Integer, nullable=False),
    Column("left", Integer, nullable=False),
    Column("right", Integer, nullable=False),
)
VOTES = Table(
    "rag_votes",
    METADATA,
    Column("room", String(8), primary_key=True),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("person", String(32), primary_key=True),
    Column("pair", String(8), primary_key=True),  # the places of its answers, the smaller one first
    Column("left", Integer, nullable=False),
    Column("right", Integer, nullable=False),
    Column("choice", String(16), nullable=False),
    Column("reasons", Text, nullable=False),  # separated by spaces
    Column("comment", Text, nullable=False),
    Column("voted", String(32), nullable=False),
)
EXAMS = Table(
    "rag_exams",
    METADATA,
    Column("code", String(8), primary_key=True),
    Column("title", Text, nullable=False),
    Column("corpus", Text, nullable=False),
    Column("opened", String(32), nullable=False),
    Column("owner", String(64), nullable=False),  # SHA-256 of the owner's token
    Column("depth", Integer, nullable=False),
    Column("twice", Float, nullable=False),
    Index("rag_exams_by_time", "opened"),
)
EXAM_QUESTIONS = Table(
    "rag_exam_questions",
    METADATA,
    Column("exam", String(8), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("language", String(8), nullable=False),
    Column("record", LargeBinary, nullable=False),
)
EXAM_SHARES = Table(
    "rag_exam_shares",
    METADATA,
    Column("exam", String(8), primary_key=True),
    Column("person", String(32), primary_key=True),
    Column("question", Integer, nullable=False),  # in front of this person
    Column("begun", String(32), nullable=False),
)
EXAM_TICKS = Table(
    "rag_exam_ticks",
    METADATA,
    Column("exam", String(8), primary_key=True),
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("passage", String(16), primary_key=True),  # a digest of its text
    Column("person", String(32), primary_key=True),
    Column("grade", Integer, nullable=False),
    Column("harm", Text, nullable=False),
    Column("judged", String(32), nullable=False),
)
EXAM_TABLES = (EXAMS, EXAM_QUESTIONS, EXAM_SHARES, EXAM_TICKS)
_one_thread = threading.Lock()  # Alembic's `op` and `context` are global


def bring_up_to_date(connection: Connection, named: str) -> None:
    """Create or migrate the tables in the connection's transaction; raises StorageError if a newer version wrote them."""
    if _version(connection) != VERSION:
        with _one_thread:
            _migrate(connection, named)


def _version(connection: Connection) -> str | None:
    """The database's version; None if it is new."""
    if not inspect(connection).has_table(VERSIONS):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {VERSIONS}")).scalar_one_or_none()
    return found


def _migrate(connection: Connection, named: str) -> None:
    from alembic import command  # slow to import, and seldom needed
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    # no other process migrates until the transaction ends; once Alembic is imported: on SQLite others give up after 5 s
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
    elif connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # sqlite3 begins none before a CREATE
    found = _version(connection)
    if found == VERSION:  # another thread or process was first
        return
    script = ScriptDirectory(str(MIGRATIONS))
    if found is not None and found not in {one.revision for one in script.walk_revisions()}:
        raise StorageError(
            Message(
                "The history in {where} was written by a newer version of this program: {found}, and this one reads "
                "up to {known}.",
                where=named,
                found=found,
                known=VERSION,
            ),
            Message("Use the newer program, or name another database. {off}", off=OFF),
        )
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    command.upgrade(config, "head")
    if found is None and connection.dialect.name == "postgresql":
        # also to roles that only the questions are granted to
        connection.execute(text(f"GRANT SELECT ON {VERSIONS} TO PUBLIC"))
