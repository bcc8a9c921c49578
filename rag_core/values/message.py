"""A sentence for people that remembers how it was put together, so that an interface can say it in another language."""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Self

NOTICE = "Demonstration, not medical advice."

# Names alone, not attributes or widths: a template that was stored may come from anywhere
_TEMPLATE = re.compile(r"(?:[^{}]|{{|}}|{[A-Za-z_]\w*(?:![rs])?(?::[+]?,?(?:\.\d)?[dgf%]?)?})*", re.ASCII | re.DOTALL)


class Message(str):
    """An English sentence made from a literal template and named fields.

    It is a plain string wherever one is expected. `parts_of` keeps its parts where it is stored. The template is a
    literal with {name}s, so that a catalogue's extraction finds it; without fields, its braces are text. Fields stand
    at the names, as `str.format` has them; one may be a Message itself.

    >>> said = Message("used at {rank}", rank=2)
    >>> said, said.template, dict(said.fields)
    ('used at 2', 'used at {rank}', {'rank': 2})
    """

    template: str
    fields: Mapping[str, Any]

    def __new__(cls, template: str, /, **fields: Any) -> Self:
        made = super().__new__(cls, template.format(**fields) if fields else template)
        made.template, made.fields = template, MappingProxyType(fields)
        return made

    @classmethod
    def joined(cls, parts: Iterable[str], separator: str = ", ") -> Self:
        """Several messages as one, each of which is still said in the reader's language.

        >>> Message.joined([Message("used at {rank}", rank=2), "BM25"])
        'used at 2, BM25'
        """
        fields = {f"part{place}": part for place, part in enumerate(parts)}
        return cls(separator.join(f"{{{name}}}" for name in fields), **fields)

    @classmethod
    def read(cls, template: str, text: str) -> str:
        """A plain text that was stored, as the Message that a template made of it, with what follows; else the text.

        Example:
            >>> Message.read("used at {rank}.", "used at 2. Rarely.").fields["part0"].fields["rank"]
            '2'
        """
        found = re.match(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(template)), text)
        if found is None:
            return text
        made = cls(template, **{name: cls(value) for name, value in found.groupdict().items()})
        return cls.joined((part for part in (made, text[found.end() :].strip()) if part), " ")

    def cleaned(self, clean: Callable[[str], str]) -> str:
        """The message with `clean` applied to every field; plain text where that leaves something to clean.

        >>> Message("{file} is empty", file="a  b").cleaned(lambda text: " ".join(text.split()))
        'a b is empty'
        """
        made = self._with_fields(clean)
        return made if made == clean(made) else clean(self)

    def _with_fields(self, clean: Callable[[str], str]) -> Self:
        fields = {
            name: value._with_fields(clean)
            if isinstance(value, Message)
            else value
            if isinstance(value, int | float)
            else _cleaned(clean, str(value))
            for name, value in self.fields.items()
        }
        return type(self)(self.template, **fields)

    def __reduce__(self) -> tuple[Callable[[Any], str], tuple[Any]]:
        return from_parts, (parts_of(self),)  # a mapping proxy cannot be pickled


def _cleaned(clean: Callable[[str], str], text: str) -> str:
    """A field made clean; a space at an end stays, because it parts the field from what is beside it."""
    kept = clean(text)
    return f"{' ' * text[0].isspace()}{kept}{' ' * text[-1].isspace()}" if kept else kept


def parts_of(text: str) -> Any:
    """A text as JSON has it: a Message as its template and fields, which `from_parts` makes a Message again.

    A Message that would not read the same afterwards becomes plain text.

    >>> parts_of(Message("used at {rank}", rank=2)), parts_of("BM25")
    (['used at {rank}', {'rank': 2}], 'BM25')
    """
    if not isinstance(text, Message) or not _TEMPLATE.fullmatch(text.template):
        return str(text)
    fields = {name: _plain(value) for name, value in text.fields.items()}
    return [text.template, fields] if from_parts([text.template, fields]) == text else str(text)


def _plain(value: object) -> Any:
    if isinstance(value, int | float):
        return value
    return parts_of(value) if isinstance(value, str) else str(value)


def from_parts(parts: Any) -> str:
    """The text that `parts_of` wrote; raises ValueError or KeyError for parts of another form."""
    match parts:
        case str():
            return parts
        case [str(template), dict(fields)] if _TEMPLATE.fullmatch(template):
            made = {
                str(name): value if isinstance(value, int | float) else from_parts(value)
                for name, value in fields.items()
            }
            return Message(template, **made)
    raise ValueError("a message of an unknown form")
