"""Who is signed in, what they may do, and what a visitor may still spend.

Sign-in is Streamlit's own OpenID Connect, set up by `[auth]` in `.streamlit/secrets.toml`. Without it there are no
accounts: everybody may do everything, and the history is one for all.
"""

import hashlib
import secrets

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import t
from pages.shared.cookie import visitor_of
from pages.shared.engine import engine
from rag_core.runtime.spending import Payer, Spending, Visitor
from rag_core.values.pricing import PriceList


def offered() -> bool:
    """Whether sign-in is set up; then it is needed for everything."""
    return "is_logged_in" in st.user.to_dict()


def owner() -> str | None:
    """Whom a question belongs to, by a digest that does not name them; None without sign-in."""
    if not offered():
        return None
    claims = st.user.to_dict()
    if not claims.get("sub"):
        return ""  # nobody, or a provider that tells nobody apart
    return hashlib.sha256(f"{claims.get('iss')} {claims['sub']}".encode()).hexdigest()[:32]


def name() -> str:
    """Who is signed in, by name or e-mail address; empty without sign-in."""
    return str(st.user.get("name") or st.user.get("email") or "") if offered() else ""


def may_operate() -> bool:
    """Whether the visitor may measure, save settings, and add, cut or delete documents: those of RAG_OPERATORS where there are accounts."""
    if not offered():
        return True
    claims, settings = st.user.to_dict(), engine().settings
    named = settings.operators if settings else ""
    email = str(claims.get("email") or "").strip().lower()
    # some providers confirm every address and do not say so
    confirmed = claims.get("email_verified") is not False
    return bool(email) and confirmed and email in {one.strip().lower() for one in named.split(",")}


def operators_only() -> bool:
    """Whether the visitor may not do what follows; says so."""
    if may_operate():
        return False
    st.info(t("Only this server's operators can do this. You can ask, compare, tune and read everything."))
    return True


def admitted() -> bool:
    """Whether the page may be drawn; otherwise draws what signs the visitor in."""
    if not offered() or st.user.is_logged_in:
        return True
    st.header(t("Sign in to ask questions"), anchor=False)
    st.markdown(t("This server keeps each person's questions apart. Its operator chose who can sign in, and how."))
    st.button(t("Sign in"), type="primary", on_click=st.login)
    return False


def draw() -> None:
    """Draw who is signed in, and what signs them out."""
    if not offered() or not st.user.is_logged_in:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="account"):
        st.caption(untrusted.label(t("Signed in: {name}", name=name())), width="content")
        st.button(t("Sign out"), type="tertiary", on_click=st.logout)


def visitor() -> str:
    """The person who is signed in, else the browser that visits; the session alone where it takes no cookies."""
    if person := owner():
        return person
    fresh = visitor_of(st.context.cookies) or secrets.token_urlsafe()
    return str(st.session_state.setdefault("visitor", fresh))


def payer() -> Payer:
    """The visitor, with what is left of the budgets; raises RagError if the price list cannot be read."""
    return Visitor(spending(), visitor())


@st.cache_resource(show_spinner=False)
def spending() -> Spending:
    """What all visitors of this server have spent; raises RagError if the price list cannot be read."""
    settings = engine().settings or rag_core.read_settings()
    return Spending(settings, PriceList.of(settings))
