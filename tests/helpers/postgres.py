"""A PostgreSQL of its own, on loopback, and a question to keep in it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr

from rag_core.sessions.history.record import Asked, AskedColumn
from rag_core.sessions.history.store import History
from rag_core.values.settings import Settings

from .ports import free_port

OWNER = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
SECRET = "Is Ewa Nowak's baby well?"


def opened(address: str) -> History:
    return History.opened(Settings(database_url=SecretStr(address)))


def question(identity: str) -> Asked:
    return Asked(identity, datetime(2026, 5, 4, tzinfo=UTC), SECRET, (AskedColumn("bm25", {}),))


def binaries() -> Path | None:
    """The folder of the newest installed server's commands."""
    found = shutil.which("initdb")
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return Path(found).resolve().parent if found else packaged[-1] if packaged else None


@contextmanager
def postgres() -> Iterator[str]:
    """A server with nothing in it; its address, for SQLAlchemy."""
    commands = binaries()
    assert commands
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="rag-postgres-") as folder:
        if OWNER:
            shutil.chown(folder, OWNER)

        def run(*command: str) -> None:
            subprocess.run(
                [commands / command[0], *command[1:], "-D", f"{folder}/data"],
                user=OWNER, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60,
            )  # fmt: skip

        run("initdb", "--username=owner", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
        run("pg_ctl", "start", "--wait", "-o", options, "-l", f"{folder}/log")
        try:
            yield f"postgresql+psycopg://owner@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "stop", "--mode=immediate")
