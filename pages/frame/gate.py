"""What every request passes first: the hosts that the server answers by, and the headers that its answers carry."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from pages.frame.shell import document

HEALTH = ("/healthz", "/readyz", "/_stcore/health")  # asked by address; they have no word of a visitor


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
        if asked in HEALTH or is_host_allowed(Headers(scope=scope).get("host")):
            await self._app(scope, receive, guarded)
        else:
            refusal = PlainTextResponse("This host is not in server.allowedHosts.", 400)
            await refusal(scope, receive, guarded)
