"""The cookie that names a visitor, signed: a name that this server did not give is nobody's."""

import functools
import hmac
import secrets
from collections.abc import Mapping

import rag_core
from rag_core.values.owner_only import secret_of

COOKIE = "visitor"  # set with the page's document: a reload must not renew a budget
KEY_FILE = "cookie.key"  # in the state folder, which the apps of one server share


def new_value() -> str:
    """The cookie of a new visitor."""
    name = secrets.token_urlsafe()
    return f"{name}.{_signature(name)}"


def visitor_of(cookies: Mapping[str, str]) -> str:
    """Whom cookies name; empty if they name nobody that this server knows."""
    name, _, signature = str(cookies.get(COOKIE, "")).partition(".")
    return name if hmac.compare_digest(signature.encode(), _signature(name).encode()) else ""


def _signature(name: str) -> str:
    return hmac.digest(_key(), name.encode(), "sha256").hex()


@functools.cache
def _key() -> bytes:
    """The server's key; one of this process alone where none can be kept."""
    try:
        return secret_of(rag_core.read_settings().home / KEY_FILE)
    except (OSError, rag_core.RagError):
        return secrets.token_bytes()
