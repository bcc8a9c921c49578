"""Every sentence of the interface passes through here, so that one catalogue a language can say it."""

from __future__ import annotations


def t(message: str, /, **fields: object) -> str:
    """The message in the language of the visit, its {fields} filled in.

    Args:
        message: the English sentence, a literal, so that the catalogue's extraction finds it.
        fields: what stands at the message's {name}s, as `str.format` has them.
    """
    return message.format(**fields) if fields else message


def plural(one: str, many: str, count: int, /, **fields: object) -> str:
    """`one` or `many`, whichever the language of the visit uses for this count; {count} is filled in too."""
    return (one if count == 1 else many).format(count=count, **fields)
