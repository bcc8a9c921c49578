"""The app that `streamlit run app.py` serves: page settings, the navigation, and the documents that the server hands out."""

import secrets

import streamlit as st
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from streamlit.runtime.pages_manager import PagesManager

from pages.drawing.translate import settle, translated
from pages.frame.addresses import MOVED, PAGES, PATHS, UNLISTED, moved
from pages.frame.frame import frame
from pages.frame.shell import document
from pages.shared import account, permalink
from pages.shared.budgets import COOKIE
from pages.shared.engine import engine
from pages.shared.observing import REGISTRY, start_log

if __name__ == "__main__":  # runs in every browser session
    st.set_page_config(page_title="Obstetrics RAG lab", page_icon="🤰", layout="wide")
    settle()
    page = st.navigation(
        [
            st.Page(
                script,
                title=translated(title),
                url_path=path,
                default=not path,
                visibility="hidden" if path in UNLISTED else "visible",
            )
            for path, script, title in PAGES
        ],
        position="top",
    )
    permalink.enter(page.url_path)
    try:
        frame()
        if account.admitted():
            page.run()
    finally:
        engine().start()
else:  # imported once by the server, before the first session
    # st.navigation sets this too, but only while the first session runs: until then Streamlit looks for
    # a deep link's page directly in pages/ and opens a "Page not found" dialog over the right page.
    PagesManager.uses_pages_directory = False

    # Streamlit puts it before its own addresses only
    below = f"/{st.get_option('server.baseUrlPath').strip('/')}".rstrip("/")

    def lead(request: Request) -> RedirectResponse:
        """Redirect an address of earlier versions to where its page is now."""
        return RedirectResponse(moved(request.url.path.rpartition("/")[2], request.url.query))

    def shell(request: Request) -> HTMLResponse:
        """The HTML of a page, with a cookie that names the visitor: a reload must not renew a budget."""
        # an old address may hold a question, which no other server should see
        kept = {"Cache-Control": "no-cache", "Referrer-Policy": "no-referrer"}
        answer = HTMLResponse(document(), headers=kept)
        if COOKIE not in request.cookies:
            answer.set_cookie(
                COOKIE, secrets.token_urlsafe(), path=below or "/", httponly=True, samesite="strict"
            )
        return answer

    def readiness(_: Request) -> PlainTextResponse:
        """Whether questions can be answered, for whatever starts and monitors the app; the first call opens the lab."""
        opening = engine()
        opening.start()
        if opening.lab:
            return PlainTextResponse("ready")
        return PlainTextResponse(
            "failed: run `rag doctor`" if opening.error else f"not yet: {opening.state}", 503
        )

    def metrics(_: Request) -> Response:
        """Counters for Prometheus, of this process; Streamlit's own are at /_stcore/metrics."""
        return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)

    start_log()
    app = st.App(
        __file__,
        routes=[
            *(Route(f"{below}/{path}", lead) for path in MOVED),
            Route(f"{below}/healthz", lambda _: PlainTextResponse("ok")),
            Route(f"{below}/readyz", readiness),
            Route(f"{below}/metrics", metrics),
            *(Route(f"{below}/{path}", shell) for path in PATHS),
        ],
    )
