from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from helpers.browser import ANSWER_MS, serving
from helpers.oidc_server import CLIENT, OidcServer, provider
from helpers.ports import free_port
from playwright.sync_api import Browser, Page, expect

OPERATOR = {"sub": "1", "email": "Ana@ward.example", "name": "Ana"}
GUEST = {"sub": "2", "email": "eva@ward.example", "name": "Eva"}
UNCONFIRMED = {"sub": "3", "email": "ana@ward.example", "email_verified": False, "name": "Mallory"}


@contextmanager
def signed_in(browser: Browser, address: str, server: OidcServer, person: dict[str, object]) -> Iterator[Page]:
    server.person = person
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    page.goto(f"{address}/documents?view=add")
    expect(page.get_by_role("heading", name="Sign in to ask questions")).to_be_visible()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_have_count(0)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text(f"Signed in: {person['name']}")).to_be_visible()
    yield page
    context.close()


@pytest.mark.browser
def test_people_sign_in_see_their_own_questions_and_operate_if_they_may(browser, lab, real_home, tmp_path):
    port = free_port()
    with provider() as server:
        secrets = tmp_path / "secrets.toml"
        secrets.write_text(
            "[auth]\n"
            f'redirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
            'cookie_secret = "a secret of this test, and of no other"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "secret"\n'
            f'server_metadata_url = "{server.issuer}/.well-known/openid-configuration"\n'
        )
        with serving(
            port=port, STREAMLIT_SECRETS_FILES=str(secrets), RAG_HOME=str(real_home), RAG_LLM="offline",
            RAG_OPERATORS="ana@ward.example", RAG_DATABASE_URL=f"sqlite:///{tmp_path / 'own.db'}",
        ) as address:  # fmt: skip
            with signed_in(browser, address, server, OPERATOR) as page:
                page.goto(f"{address}/documents?view=add")
                expect(page.get_by_role("button", name="Add documents")).to_be_visible()
                page.goto(f"{address}/?s=bm25&s=simple_semantic")
                page.get_by_label("Question", exact=True).fill("When is anti-D given?")
                page.get_by_role("button", name="Run", exact=True).click()
                expect(page.get_by_text("Cost of this comparison")).to_be_visible(timeout=ANSWER_MS)
                page.goto(f"{address}/history")
                expect(page.get_by_text("When is anti-D given?").first).to_be_visible()
                expect(page.get_by_text(f"{tmp_path / 'own.db'}")).to_be_visible()
            with signed_in(browser, address, server, GUEST) as page:
                page.goto(f"{address}/history")
                expect(page.get_by_text("No question has been asked yet.")).to_be_visible()
                expect(page.get_by_text("in this server's database")).to_be_visible()
                page.goto(f"{address}/documents?view=add")
                expect(page.get_by_text("Only this server's operators can do this.")).to_be_visible()
                expect(page.get_by_role("button", name="Add documents")).to_have_count(0)
                page.get_by_role("button", name="Sign out").click()
                expect(page.get_by_role("heading", name="Sign in to ask questions")).to_be_visible()
            with signed_in(browser, address, server, UNCONFIRMED) as page:
                page.goto(f"{address}/evaluate")
                expect(page.get_by_text("Only this server's operators can do this.")).to_be_visible()
