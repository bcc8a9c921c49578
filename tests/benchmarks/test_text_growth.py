"""Text of which there is twice as much takes about twice as long to read, not four times. Run by `make bench`."""

import time
from collections.abc import Callable

import pytest

from rag_core.documents.markdown import take_markdown
from rag_core.documents.reading.lines import joined_lines
from rag_core.models.reply import WithoutReasoning

MOST = 3.0  # a search from every place on takes 4 times as long
SHORT = 0.2  # seconds; below, a ratio says nothing


def reply_in_pieces(text: str) -> None:
    taken = WithoutReasoning(begun=True)
    for start in range(0, len(text), 4):
        taken.take(text[start : start + 4])


def seconds(read: Callable[[str], object], text: str) -> float:
    since = time.process_time()
    read(text)
    return time.process_time() - since


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((joined_lines, text) for text in ("a-\n", "a-", "ab-\ncd ")),
        *(
            (take_markdown, text)
            for text in (
                "~~a ",
                "[^a] ",
                "- [ ] ",
                "^[",
                "<sup>",
                "[^a]: b\n",
                "~~a~",
                "a^1 ",
                "<a `",
                "<div ",
                "<p hidden ",
                "a<b\n\n",
                "<a b='",
                "![",
                "[a](",
                "|a|b|\n|-|-|\n",
                "- a\n",
                "> a\n",
                "a\n-\n",
            )
        ),
        *((reply_in_pieces, text) for text in ("and yet ", " ", "<|thinkthink")),
    ],
)
def test_time_grows_with_the_text(read, text):
    count = 100_000 // len(text)
    one, two = seconds(read, text * count), seconds(read, text * 2 * count)
    print(f"{read.__name__} {text!r}: {one:.3f} s, {two:.3f} s")
    assert two < MOST * max(one, SHORT)
