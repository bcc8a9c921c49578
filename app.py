"""The app that `streamlit run app.py` serves: a visit's pages, and the documents that the server hands out."""

import gc
import threading

import streamlit as st
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from streamlit.runtime.pages_manager import PagesManager

if __name__ == "__main__":  # runs in every browser session
    from pages.frame import visit

    visit.draw()
else:  # imported once by the server, before the first session
    from pages.frame.gate import PAGES, Gate, document, no_page, sweeping
    from pages.shared.cookie import COOKIE, new_value, visitor_of

    gc.set_threshold(100_000)  # Python's 700 cost a tenth of opening the lab; `rag` does the same
    gc.freeze()  # else what Streamlit has imported is walked again and again while the lab is

    # st.navigation sets this too, but only while the first session runs: until then Streamlit looks for
    # a deep link's page directly in pages/ and opens a "Page not found" dialog over the right page.
    PagesManager.uses_pages_directory = False

    # Streamlit puts it before its own addresses only
    below = f"/{st.get_option('server.baseUrlPath').strip('/')}".rstrip("/")

    def shell(request: Request) -> HTMLResponse:
        """The HTML of a page, with a cookie that names the visitor: a reload must not renew a budget."""
        answer = HTMLResponse(document(), headers={"Cache-Control": "no-cache"})
        if not visitor_of(request.cookies):
            # whoever claims the header is harmed alone
            secure = "https" in (request.url.scheme, request.headers.get("X-Forwarded-Proto"))
            answer.set_cookie(COOKIE, new_value(), path=below or "/", secure=secure, httponly=True, samesite="strict")
        return answer

    class Unknown(StringConvertor):
        """An address that is neither a page of ours, whose routes come first, nor Streamlit's."""

        regex = r"(?!/|.*_stcore|app/static|auth/|component/|media/|oauth2callback)[^.]*[^./]"

    register_url_convertor("unknown", Unknown())

    def missing(request: Request) -> HTMLResponse:
        """The answer at an address without a page."""
        return HTMLResponse(no_page(f"{below}/", request.headers.get("Accept-Language", "")), 404)

    def readiness(_: Request) -> PlainTextResponse:
        """Whether questions can be answered, for whatever starts and monitors the app; the first call opens the lab."""
        from pages.shared.engine import engine

        opening = engine()
        opening.start()
        if opening.lab:
            return PlainTextResponse("ready")
        return PlainTextResponse("failed: run `rag doctor`" if opening.error else f"not yet: {opening.state}", 503)

    def metrics(_: Request) -> Response:
        """Counters for Prometheus, of this process; Streamlit's own are at /_stcore/metrics."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        from pages.shared.observing import REGISTRY

        return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)

    def prepare() -> None:
        """Load what draws a page while the browser loads Streamlit's scripts; a visit waits for it by importing the same."""
        from pages.frame import visit

        visit.prepare()

    threading.Thread(target=prepare, daemon=True).start()
    app = st.App(
        __file__,
        routes=[
            Route(f"{below}/healthz", lambda _: PlainTextResponse("ok")),
            Route(f"{below}/readyz", readiness),
            Route(f"{below}/metrics", metrics),
            *(Route(f"{below}/{path}", shell) for path, _, _ in PAGES),
            Route(f"{below}/{{address:unknown}}", missing),
        ],
        middleware=[Middleware(Gate)],
        lifespan=sweeping,
    )
