"""Lines of a TREC run file: `question Q0 document rank score tag`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..values.errors import InputError
from ..values.message import Message


def trec_lines(ranked: Mapping[str, Sequence[str]], tag: str) -> str:
    """The rankings as lines.

    Scores count down from the ranking's length to 1 instead of being the strategy's: tools sort by score, and
    the order after MMR or a filter follows no score. A question without documents has no line.

    Args:
        ranked: question id -> distinct document ids, best first.
        tag: the system's name.

    Raises:
        InputError: an id or the tag is empty or has white space, which the format does not allow.
    """
    return "".join(
        f"{_column(question)} Q0 {_column(document)} {rank} {len(documents) - rank + 1} {_column(tag)}\n"
        for question, documents in ranked.items()
        for rank, document in enumerate(documents, start=1)
    )


def _column(text: str) -> str:
    if text.split() != [text]:
        raise InputError(
            Message(
                "{text} cannot be a column of a TREC run file: white space separates the columns.",
                text=repr(text),
            ),
            Message("Use a name without white space."),
        )
    return text
