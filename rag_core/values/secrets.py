"""Secrets in settings: what a key or base URL may look like, and how no secret inside a URL is ever shown."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_USER = re.compile(r"(?<=://)[^\s/'\"<>]*@")
_QUERY = re.compile(r"(\w+://[^\s?#'\"<>]*)[?#][^\s'\"<>]*")
_SECRET = "(?:key|token|secret|password|passwd|pwd)"
# A server's error may repeat the path without the host, so NAME=VALUE is masked there too, NAME/VALUE only in a URL
_NAMED = re.compile(rf"([/;?&][\w.%-]*{_SECRET}(?:[=:]|%3d|%3a))[^\s/;&'\"<>]+", re.IGNORECASE)
_FOLDER = re.compile(rf"(/(?:[a-z0-9]+[-_.])*(?:api|access|auth)?{_SECRET}/)[^\s/;'\"<>]+", re.IGNORECASE)
_URL = re.compile(r"\w+://[^\s'\"<>]+")


def without_url_secrets(text: str) -> str:
    """A text whose URLs have lost user name, password, query and fragment, and what their path calls a secret."""
    if "://" in text:
        text = _QUERY.sub(r"\1", _USER.sub("", text))
        text = _URL.sub(lambda url: _FOLDER.sub(r"\1…", url[0]), text)
    return _NAMED.sub(r"\1…", text)


def clean_key(key: str) -> str:
    """A key without blanks around it.

    Raises:
        ValueError: it has characters that no key has; the message does not repeat it.
    """
    key = key.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError("a key has no blanks, line breaks or accents inside")
    return key


def clean_url(url: str) -> str:
    """A base URL without blanks around it.

    Raises:
        ValueError: it is no http address; the message does not repeat it.
    """
    url = url.strip()
    parts = urlsplit(url)
    if not url.isprintable() or " " in url:
        raise ValueError("a base URL has no blanks or line breaks inside")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("a base URL begins with http:// or https:// and a host")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("its port is not a number; write a / in a password as %2F") from None
    if "@" in parts.path:
        raise ValueError("it has an @ after the host; write a / in a password as %2F")
    return url
