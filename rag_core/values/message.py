"""A sentence for people that remembers how it was put together, so that an interface can say it in another language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any


class Message(str):
    """An English sentence made from a literal template and named fields.

    It is a plain string wherever one is expected. Stored and read again it is one, and stays English.

    Args:
        template: the sentence, a literal with {name}s, so that a catalogue's extraction finds it.
        fields: what stands at the names, as `str.format` has them; a field may be a Message itself.

    Example:
        >>> said = Message("used at {rank}", rank=2)
        >>> said, said.template, dict(said.fields)
        ('used at 2', 'used at {rank}', {'rank': 2})
    """

    template: str
    fields: Mapping[str, Any]

    def __new__(cls, template: str, /, **fields: Any) -> Message:
        made = super().__new__(cls, template.format(**fields))
        made.template, made.fields = template, MappingProxyType(fields)
        return made

    @classmethod
    def joined(cls, parts: Iterable[str], separator: str = ", ") -> Message:
        """Several messages as one, each of which is still said in the reader's language.

        Example:
            >>> Message.joined([Message("used at {rank}", rank=2), "BM25"])
            'used at 2, BM25'
        """
        fields = {f"part{place}": part for place, part in enumerate(parts)}
        return cls(separator.join(f"{{{name}}}" for name in fields), **fields)

    def cleaned(self, clean: Callable[[str], str]) -> str:
        """The message with `clean` applied to every field; plain text where that leaves something to clean.

        Example:
            >>> Message("{file} is empty", file="a  b").cleaned(lambda text: " ".join(text.split()))
            'a b is empty'
        """
        made = self._with_fields(clean)
        return made if made == clean(made) else clean(self)

    def _with_fields(self, clean: Callable[[str], str]) -> Message:
        fields = {
            name: value._with_fields(clean)
            if isinstance(value, Message)
            else value
            if isinstance(value, int | float)
            else clean(str(value))
            for name, value in self.fields.items()
        }
        return Message(self.template, **fields)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)  # a mapping proxy cannot be pickled, and a stored text needs no parts
