"""The text in bytes that do not say how they are encoded."""

from __future__ import annotations

import codecs
import re

from ...values.message import Message
from ..limits import LimitExceeded

_MARKS = {  # the longer first: UTF-32's begins with UTF-16's
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# What letters and the degree sign of Mac and DOS encodings become in Windows-1252
_ODD = re.compile(
    r"[a-zß-ÿ](?:[À-ÖØ-ÞŠŒŽŸ]|[‚„†‡ˆ‰‹›¡-ª¬®-±´¶-º¼-¿×÷]|[–—˜¢£¤¥§«»](?=[a-z]))(?![A-ZÀ-Þ])|\d ?[¡ø]|(?<![a-z])ÿ"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f]")


def decoded(content: bytes) -> str:
    """The text of a file, with line feeds for line ends.

    Raises:
        LimitExceeded: it is not text, or its encoding cannot be told.
    """
    text = _decoded(content)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(content: bytes) -> str:
    wide = b"\0" in content
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "")
    try:
        if marked or not wide:
            return content.decode(marked or "utf-8")
    except UnicodeDecodeError:
        pass
    if not marked and (text := _likely(content, wide)):
        return text
    if wide:
        raise LimitExceeded(Message("it is not text, whatever its name says"))
    raise LimitExceeded(Message("its encoding is none of UTF-8, UTF-16 and Windows-1252; save it as UTF-8"))


def _likely(content: bytes, wide: bool) -> str:
    from charset_normalizer import from_bytes

    encoding = "cp1252"
    if wide:  # a letter of this part of the world is half zero
        encoding = "utf_16_be" if content[::2].count(0) > content[1::2].count(0) else "utf_16_le"
    found = from_bytes(content, cp_isolation=[encoding], threshold=0.5).best()
    text = str(found) if found else ""
    return "" if _ODD.search(text) or _CONTROL.search(text) else text
