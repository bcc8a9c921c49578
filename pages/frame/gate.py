"""What every request passes first: the hosts that the server answers by, and the headers that its answers carry."""

import hashlib
import re
from base64 import b64encode

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from pages.frame.held import Held
from pages.frame.shell import document
from pages.shared.cookie import visitor_of

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
