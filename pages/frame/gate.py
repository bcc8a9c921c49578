"""The pages' addresses, and what every request passes first: hosts, and the headers, documents and uploads of answers."""

import asyncio
import hashlib
import re
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import streamlit as st
from markupsafe import escape
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from pages.drawing import palette
from pages.drawing.translate import declared, preferred
from pages.shared.cookie import visitor_of
from rag_core.values.translation import translated

# address, script and title of each page, in the order of the navigation
PAGES = (
    ("", "pages/compare/compare.py", declared("Compare")),
    ("tune", "pages/compare/tune.py", declared("Tune")),
    ("strategies", "pages/strategies/strategies.py", declared("Strategies")),
    ("documents", "pages/documents/documents.py", declared("Documents")),
    ("evaluate", "pages/evaluate/evaluate.py", declared("Evaluate")),
    ("history", "pages/history/history.py", declared("History")),
    ("vote", "pages/panel/vote.py", declared("Vote")),
    ("judge", "pages/panel/judge.py", declared("Judge an exam")),
)
UNLISTED = ("tune", "vote", "judge")  # opened from a column of Compare, and by the code of a room or an exam
# bytes, of a visitor and of all: 10 and 25 of the largest files
MOST_OF_VISITOR, MOST = 210_000_000, 525_000_000
SWEEP_S = 30.0


class Held:
    """Counts the bytes of files that a visitor chose and did not add; only the event loop may call it."""

    def __init__(self) -> None:
        self._sessions: defaultdict[str, set[str]] = defaultdict(set)
        self._coming: Counter[str] = Counter()

    @contextmanager
    def upload(self, visitor: str, session: str, size: int) -> Iterator[bool]:
        """Whether a visitor's session may upload `size` bytes, which count while the block runs."""
        files = cast(MemoryUploadedFileManager, runtime.get_instance().uploaded_file_mgr).file_storage
        theirs = self._sessions[visitor]
        theirs.intersection_update(files)  # the others have ended
        theirs.add(session)
        held = {one: sum(len(file.data) for file in kept.values()) for one, kept in [*files.items()]}
        mine = sum(held.get(one, 0) for one in theirs) + self._coming[visitor] + size
        fits = mine <= MOST_OF_VISITOR and sum(held.values()) + self._coming.total() + size <= MOST
        self._coming[visitor] += size * fits
        try:
            yield fits
        finally:
            self._coming[visitor] -= size * fits


def sweep() -> None:
    """End the sessions of visitors who left: Streamlit waits for the next to go, the collector skips frozen ones."""
    sessions = cast(WebsocketSessionManager, runtime.get_instance()._session_mgr)
    left: Any = cast(MemorySessionStorage, sessions._session_storage)._cache  # a TTLCache
    for _, gone in left.expire():
        gone.session.shutdown()
        gone.session.session_state.clear()  # the form's widgets have the files too


@asynccontextmanager
async def sweeping(_: object) -> AsyncIterator[None]:
    """Sweep while the app is served."""

    async def again_and_again() -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            sweep()

    task = asyncio.create_task(again_and_again())
    yield
    task.cancel()


INDEX = Path(st.__file__).with_name("static") / "index.html"
STYLE = Path(__file__).with_name("style.css")
SCRIPT = Path(__file__).with_name("page.js")
LIVE = '<div id="rl-heard" class="rl-unseen" role="log" aria-live="polite"></div>'
ROOT = '<div id="root">'
MISSING = declared("There is no such page"), declared("Check its address, or go to Compare.")


def document() -> str:
    """Streamlit's document with the app's colours, style sheet and script, and the live region, in its body.

    Streamlit's is empty until its scripts have run, and a style sheet that came with the first elements would move
    them. In the head it would lose ties to the styles of Streamlit's elements, which come last there. A screen reader
    speaks only what is added to a region that it has seen empty.
    """
    style = f"{palette.css()}<style>{STYLE.read_text(encoding='utf-8')}</style>"
    script = f"<script>{SCRIPT.read_text(encoding='utf-8')}</script>"
    return INDEX.read_text(encoding="utf-8").replace(ROOT, f"{style}{LIVE}{script}{ROOT}", 1)


def no_page(home: str, languages: str) -> str:
    """The document at an address without a page, with a link home, in a language of Accept-Language."""
    code = preferred(languages)
    title, link = (escape(translated(code, words)) for words in MISSING)
    return (
        f'<!doctype html><html lang="{code}"><meta name="viewport" content="width=device-width"><title>{title}</title>'
        f'{palette.css()}<style>{STYLE.read_text(encoding="utf-8")}</style><body class="stApp rl-no-page">'
        f'<main><h1>{title}</h1><a href="{escape(home)}">{link}</a></main>'
    )


HEALTH = ("/healthz", "/readyz", "/_stcore/health")  # asked by address; they have no word of a visitor
UPLOAD = re.compile("/_stcore/upload_file/([^/]+)/[^/]+")


def policy() -> str:
    """The Content-Security-Policy: scripts are Streamlit's files and those in our document; emotion makes styles inline."""
    ours = (hashlib.sha256(code.encode()) for code in re.findall(r"<script>(.*?)</script>", document(), re.S))
    scripts = " ".join(f"'sha256-{b64encode(one.digest()).decode()}'" for one in ours)
    return (
        f"default-src 'self'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; object-src 'none'; base-uri 'self'; "
        "form-action 'self'; frame-ancestors 'none'"
    )


class Gate:
    """ASGI middleware; Streamlit itself compares the host of its WebSocket only."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._held = Held()
        self._headers = {
            "Content-Security-Policy": policy(),
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",  # an address opens a comparison, which no other server should see
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        below = st.get_option("server.baseUrlPath").strip("/")
        asked = scope["path"].removeprefix(f"/{below}") if below else scope["path"]
        request, uploaded = Request(scope), UPLOAD.fullmatch(asked)
        if asked not in HEALTH and not is_host_allowed(request.headers.get("host")):
            await PlainTextResponse("This host is not in server.allowedHosts.", 400)(scope, receive, guarded)
        elif uploaded and scope["method"] == "PUT":
            length = request.headers.get("content-length", "")
            size = int(length) if length.isdecimal() else st.get_option("server.maxUploadSize") << 20
            with self._held.upload(visitor_of(request.cookies), uploaded[1], size) as fits:
                full = PlainTextResponse("Too many files wait to be added. Add or remove some.", 413)
                await (self._app if fits else full)(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)
