"""The addresses of the server below a path of a proxy; one tells whether the app can answer.

It says so also while another process writes the index that the app needs.
"""

import re
import shutil
import time
import tomllib
import urllib.request
from collections.abc import Callable
from http.client import HTTPConnection
from urllib.error import HTTPError

from filelock import FileLock
from helpers.browser import serving
from helpers.small import ROOT

from pages.frame.gate import LIVE, PAGES, STYLE
from pages.shared.engine import Engine
from rag_core.indexing import Progress
from rag_core.indexing.uploads import MAX_UPLOAD
from rag_core.lab.lab import Lab

READY_S = 60


def told(address: str, path: str = "readyz") -> tuple[int, str]:
    return answered(urllib.request.Request(f"{address}/{path}"))


def answered(asked: urllib.request.Request) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except HTTPError as refused:
        return refused.code, refused.read().decode()


def once(holds: Callable[[tuple[int, str]], bool], address: str) -> tuple[int, str]:
    deadline = time.monotonic() + READY_S
    while not holds(now := told(address)):
        assert time.monotonic() < deadline, now
        time.sleep(0.05)
    return now


def test_an_app_waits_for_the_index_that_another_process_writes_and_says_so(lab, real_home, tmp_path):
    home = tmp_path / "home"
    built = lab.index.generation.parent.relative_to(real_home)
    (home / built).mkdir(parents=True)
    with serving(below="/lab", RAG_HOME=str(home), RAG_LLM="offline") as address:
        with FileLock(home / built / "LOCK"):
            assert once(lambda now: "another process" in now[1], address)[0] == 503
            assert told(address, "healthz") == (200, "ok")
            shutil.copytree(real_home / "corpora", home / "corpora", dirs_exist_ok=True)
        assert once(lambda now: now[0] == 200, address) == (200, "ready")
        assert "# TYPE rag_columns_total counter" in told(address, "metrics")[1]
        for page, _, _ in PAGES:
            with urllib.request.urlopen(f"{address}/{page}", timeout=10) as answer:
                assert LIVE in answer.read().decode(), page
                assert answer.headers["Referrer-Policy"] == "no-referrer", page
                assert "visitor=" in answer.headers["Set-Cookie"], page
                assert "Secure" not in answer.headers["Set-Cookie"], page  # a browser would not send it back
        mine = answer.headers["Set-Cookie"].partition(";")[0]
        for cookie, known in ((mine, True), ("visitor=ana", False), (f"{mine}0", False)):
            asked = urllib.request.Request(f"{address}/", headers={"Cookie": cookie})
            with urllib.request.urlopen(asked, timeout=10) as answer:
                assert (answer.headers["Set-Cookie"] is None) == known  # a reload renews no budget
        by_tls = urllib.request.Request(f"{address}/", headers={"X-Forwarded-Proto": "https"})
        with urllib.request.urlopen(by_tls, timeout=10) as answer:
            assert "Secure" in answer.headers["Set-Cookie"]
            assert answer.headers["X-Frame-Options"] == "DENY"
            policy = answer.headers["Content-Security-Policy"]
            scripts = re.search("script-src ([^;]*)", policy)
            assert scripts
            assert not {"'unsafe-inline'", "'unsafe-eval'"} & {*scripts[1].split()}
            assert "frame-ancestors 'none'" in policy
        for path, status in (("", 400), ("metrics", 400), ("documents", 400), ("_stcore/metrics", 400),
                             ("media/a", 400), ("healthz", 200), ("readyz", 200)):  # fmt: skip
            rebound = urllib.request.Request(f"{address}/{path}", headers={"Host": "rebound.example"})
            assert answered(rebound)[0] == status, path
        for served in ("evaluate/", "favicon.png", "manifest.json", "_stcore/health"):
            assert told(address, served)[0] == 200, served
        for unknown in ("anything", "tune/anything"):
            status, page = told(address, unknown)
            assert (status, '<a href="/lab/">' in page, STYLE.read_text(encoding="utf-8") in page) == (
                404,
                True,
                True,
            )
            assert "There is no such page" in page
        spanish = urllib.request.Request(f"{address}/nada", headers={"Accept-Language": "es-MX,en;q=0.5"})
        assert "Esta página no existe" in answered(spanish)[1]
        port = int(address.split(":")[2].partition("/")[0])
        assert opened(port, "/lab", f"localhost:{port}") == 101
        assert opened(port, "/lab", "rebound.example") == 403


def test_an_app_that_still_asks_itself_a_question_is_not_called_ready(lab, monkeypatch):
    def open_lab(*, progress: Progress, **_: object) -> Lab:
        progress("ready", 1, 1)
        return lab

    told: list[str] = []
    engine = Engine()
    monkeypatch.setattr(lab, "others", lab.others)  # the engine sets it
    monkeypatch.setattr("rag_core.open_lab", open_lab, raising=False)
    monkeypatch.setattr("rag_core.lab.opening.warm_up", lambda *_: told.append(engine.state))
    engine.wait()
    assert told[0] == "asking a first question"


def opened(port: int, below: str, host: str) -> int:
    """The status with which a websocket is opened or refused."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Host": host, "Origin": f"http://{host}"}  # fmt: skip
    connection.request("GET", f"{below}/_stcore/stream", headers=upgrade)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_file_far_larger_than_an_upload_may_be_is_refused_before_the_app_holds_it():
    """The browser counts a megabyte as 1,000,000 bytes, the server as 1,048,576."""
    limit = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["server"]["maxUploadSize"]
    assert MAX_UPLOAD < limit * 1_000_000 < limit * 1_048_576 < 1.2 * MAX_UPLOAD
