"""Prompts as a template and its fields: a language model gets the rendered text, the offline engine the fields."""

from __future__ import annotations

import functools
import html
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict

from ..values.errors import ConfigError
from ..values.markers import without_markers
from ..values.message import Message
from ..values.places import DATA
from ..values.profile import Profile
from ..values.sources import jurisdiction_of, source_names
from ..values.triage import Triage
from ..values.types import Hit, Passage
from ..values.visible import without_invisible

NO_EVIDENCE = "NOT_ENOUGH_EVIDENCE"  # the reply that means "no answer"
LEAD = (
    "The reader's country: {country}. Where sources disagree, begin with the guidance from this country, then name the "
    "difference."
)

_FIELD = re.compile(r"(?<!\{)\{(\w[^{}]*)\}(?!\})")
_PLACE = re.compile(r"\{([^{}]+)\}")  # what PromptTemplate fills in, if it is a field
_OF_SYSTEM = ("about", "readers")  # fields of a system message, from the corpus's profile


@dataclass(frozen=True, slots=True)
class Template:
    """The fixed text of a prompt.

    Args:
        name: identifies the template to the offline engine.
        purpose: the role that answers it, and the purpose it is billed under.
        system: system prompt, with {about} and {readers} for the corpus's profile; empty for none.
        text: the message, with {fields}.
        temperature: sampling temperature, 0 to 2.
        reply: schema of a JSON reply, sent if the server supports it; None for text.

    >>> ask = Template("ask", purpose="answer", system="", text="Question: {question}")
    >>> ask.fill(question="Is it <safe>?").render()
    'Question: Is it &lt;safe&gt;?'
    """

    name: str
    purpose: str
    system: str
    text: str
    temperature: float = 0.0
    reply: type[BaseModel] | None = None

    def fill(self, **fields: Any) -> Prompt:
        return Prompt(self, fields)

    def says_the_same_as(self, other: Template) -> bool:
        return (self.system, self.text) == (other.system, other.text)


WRITTEN: Mapping[str, Any] = tomllib.loads((DATA / "prompts.toml").read_text(encoding="utf-8"))


def written(name: str, temperature: float = 0.0, reply: type[BaseModel] | None = None) -> Template:
    """The prompt of this name in data/prompts.toml."""
    return Template(name, **WRITTEN[name], temperature=temperature, reply=reply)


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields that a stage fills in the message of its prompt: a message must have, or can have them."""

    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def check(self, owner: str, template: Template) -> None:
        """Raise ConfigError, naming the owner, unless a template has exactly these fields."""
        given = {"owner": owner, "name": template.name}
        found = set(_FIELD.findall(template.text))
        wrong = None
        if not template.text.strip():
            wrong = Message("{owner}: template {name!r} is empty.", **given)
        elif missing := [name for name in self.needed if name not in found]:
            fields = _in_braces(missing)
            wrong = Message("{owner}: template {name!r} is missing {fields}.", **given, fields=fields)
        elif unknown := sorted(found - {*self.needed, *self.optional}):
            wrong = Message(
                "{owner}: template {name!r} has {fields}, which {owner} does not fill.",
                **given,
                fields=_in_braces(unknown),
            )
        if wrong:
            step = f"The text needs {_in_braces(self.needed)}"
            step += f" and can use {_in_braces(self.optional)}" if self.optional else ""
            raise ConfigError(wrong, f"{step}; write literal braces twice.")
        if unknown := sorted(set(_FIELD.findall(template.system)) - set(_OF_SYSTEM)):
            raise ConfigError(
                Message(
                    "{owner}: the system message of {name!r} has {fields}, which nothing fills.",
                    **given,
                    fields=_in_braces(unknown),
                ),
                Message(
                    "It can use {fields}; the other fields belong into the user message.",
                    fields=_in_braces(_OF_SYSTEM),
                ),
            )


def _in_braces(names: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template, its fields' values, and which of several replies to the same text this asks for, from 0."""

    template: Template
    fields: Mapping[str, Any]
    profile: Profile = Profile()
    sample: int = 0

    def about(self, profile: Profile) -> Prompt:
        return replace(self, profile=profile)

    def asking(self, question: str) -> Prompt:
        return replace(self, fields={**self.fields, "question": question})

    def samples(self, count: int) -> list[Prompt]:
        """The prompt as often as replies are wanted; equal prompts would be sent only once."""
        return [replace(self, sample=sample) for sample in range(count)]

    @property
    def purpose(self) -> str:
        return self.template.purpose

    @property
    def system(self) -> str:
        return self.profile.fill(self.template.system)

    def render(self) -> str:
        """The message sent to a language model.

        Strings, above all the question, are untrusted data: they become one line with tags escaped and without
        invisible characters, so that they cannot add a source or a section to the prompt. A `Block` keeps its
        line breaks. Filled in as by LlamaIndex's PromptTemplate, whose import takes longer than an offline answer.
        """
        fields = {name: _shown(value) for name, value in self.fields.items()}
        return _PLACE.sub(lambda place: fields.get(place[1], place[0]), self.template.text)

    @property
    def filled(self) -> dict[str, str]:
        """Field -> what fills it in, in a few words: passages by number and title."""
        return {name: _in_words(value) for name, value in self.fields.items()}


class Block(str):
    """Multi-line text that keeps its line breaks in a prompt."""

    __slots__ = ()


def _shown(value: object) -> str:
    if not isinstance(value, str):
        return str(value)
    value = without_invisible(value) if isinstance(value, Block) else _one_line(value)
    return html.escape(value, quote=False)


def _one_line(text: str) -> str:
    return " ".join(without_invisible(text).split())


def _in_words(value: object) -> str:
    if isinstance(value, Sources):
        return "\n".join(f"[{n}] {hit.passage.full_title}" for n, hit in enumerate(value, start=1))
    return str(value).strip()


@dataclass(frozen=True)
class Sources:
    """Passages in a prompt, numbered and in tags, which no passage can close, nor cite another.

    `country` (ISO 3166; may be empty) is the one whose guidance leads where passages differ.
    """

    hits: Sequence[Hit]
    country: str = ""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __str__(self) -> str:
        return self._text

    @functools.cached_property  # a prompt is written to be checked, to be sent, and to be counted
    def _text(self) -> str:
        tags = "\n".join(
            f'<source n="{n}" relevance="{hit.relevance.label if hit.relevance else "unknown"}" '
            f'title="{html.escape(without_markers(_one_line(hit.passage.full_title)))}"{_given_by(hit.passage)}>\n'
            f"{html.escape(without_markers(without_invisible(hit.passage.text)), quote=False)}\n</source>"
            for n, hit in enumerate(self.hits, start=1)
        )
        where = jurisdiction_of(self.country)
        return f"{tags}\n\n{LEAD.format(country=where)}" if where else tags


def _given_by(passage: Passage) -> str:
    """Organisation, year and jurisdiction of a passage's sources, as attributes of its tag; empty if it names none."""
    sides = {"from": source_names(passage.agreeing), "differs_from": source_names(passage.differs_from)}
    return "".join(f' {name}="{html.escape(_one_line(side))}"' for name, side in sides.items() if side)


@dataclass(frozen=True, slots=True)
class Urgency:
    """A question's triage in a prompt: what the answer must begin with; nothing for a routine question.

    `read` is that of the question as read, which the offline engine answers; None if it is read as typed.
    """

    triage: Triage
    read: Triage | None = None

    @property
    def as_read(self) -> Triage:
        return self.read or self.triage

    def __str__(self) -> str:
        found = self.triage
        if not found.urgent:
            return ""
        level = "an emergency" if found.level == "emergency" else "a matter for an examination today"
        signs = f" ({'; '.join(found.signs)})" if found.signs else ""
        clinician = " The wording is a clinician's: continue with the treatment." if found.clinician else ""
        return (
            f"Urgency: the question describes {level}{signs}. Begin the answer with what to do now, in the language "
            f"of the question; this sentence needs no source: {found.action}{clinician}\n\n"
        )


_SOURCE = re.compile(
    r'<source n="\d+" relevance="\w+" title="([^"]*)"(?: from="[^"]*")?(?: differs_from="[^"]*")?>\n(.*?)\n</source>',
    re.DOTALL,
)


def contexts_in(rendered: str) -> list[tuple[str, str]]:
    """The (title, text) of each passage in a rendered prompt: what was actually sent."""
    found = _SOURCE.findall(rendered)  # tags in a question are escaped and do not match
    return [(html.unescape(title), html.unescape(text)) for title, text in found]


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers in a prompt: numbered from 1, in tags that none of them can close."""

    texts: Sequence[str]

    def __str__(self) -> str:
        return "\n\n".join(
            f'<answer n="{n}">\n{html.escape(without_markers(without_invisible(text)), quote=False)}\n</answer>'
            for n, text in enumerate(self.texts, start=1)
        )


class PassageJudgement(BaseModel):
    """The reply to JUDGE_PASSAGE."""

    model_config = ConfigDict(extra="forbid")

    reason: str
    score: float


ANSWER = written("answer")
JUDGE_ANSWER = written("judge_answer")
COMPARE_ANSWERS = written("compare_answers")
JUDGE_PASSAGE = written("judge_passage", reply=PassageJudgement)
QUESTIONS_PROMPT = written("questions")
CONTEXT_PROMPT = written("enrich")
