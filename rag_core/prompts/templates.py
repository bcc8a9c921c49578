"""Prompt templates for rewriting questions, in our own words but for PUBLISHED.

The multi-query set follows the intents of Multi-Query Rewriter RAG (Query Rewriting Templates), the reformulation sets
those of RAG-MSR (README, Step 1, Reformulation Improvement). The offline engine uses a name, a model the text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..values.errors import ConfigError
from ..values.message import Message
from .prompt import WRITTEN, Fields, Template, written

REWRITER_TEMPERATURE = 0.3  # Multi-Query Rewriter RAG, Rewriter Model Temperature
MAX_TEMPLATES = 8
MAX_TEMPLATE = 2000  # characters of a custom template

_FIELD = re.compile(r"\{[^{}]*\}")  # anything LlamaIndex's PromptTemplate would fill, or that looks like it


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a question, "keywords" or "sentence", as rewriting prompts have it; empty if unknown."""

    kind: str = ""

    def __str__(self) -> str:
        if not self.kind:
            return ""
        return (
            f"\n\nForm of the question: {self.kind}. When it is keywords, first make a full question of them, "
            "with the background they imply, and treat that one; when it is a sentence, treat it as it stands."
        )


class QueryAnalysis(BaseModel):
    """The reply to ANALYSIS; `question` is the keywords expanded to a full question."""

    model_config = ConfigDict(extra="forbid")

    form: Literal["keywords", "sentence"]
    question: str


def _rewrite(name: str) -> Template:
    rewrite = WRITTEN["rewrite"]
    text = f"Question: {{question}}\n\n{rewrite['tasks'][name]}\n\nNew wording:"
    return Template(name, "rewrite", rewrite["system"], text, REWRITER_TEMPERATURE)


STANDALONE, SYNONYMS, EXPANDED = MULTI_QUERY = (
    _rewrite("standalone"), _rewrite("synonyms"), _rewrite("expanded"),
)  # fmt: skip
COMPLICATIONS = _rewrite("complications")
PARAPHRASING, ASPECT_SPECIFIC, ENTITY_AWARE = ORIGINAL = (
    _rewrite("paraphrasing"), _rewrite("aspect_specific"), _rewrite("entity_aware"),
)  # fmt: skip
CLARIFICATION, ENTITY_EXPANSION, RETRIEVAL_CONDENSE = IMPROVED = (
    _rewrite("clarification"), _rewrite("entity_expansion"), _rewrite("retrieval_condense"),
)  # fmt: skip
TRANSFORM = _rewrite("transform")
HYPOTHETICAL = written("hypothetical", REWRITER_TEMPERATURE)
ANALYSIS = written("analysis", reply=QueryAnalysis)
# templates the user can select by name or start a custom one from
READY_TEMPLATES: Mapping[str, Template] = {template.name: template for template in (*MULTI_QUERY, COMPLICATIONS)}
# those of Multi-Query Rewriter RAG, word for word
PUBLISHED: Mapping[str, Template] = {
    name: replace(READY_TEMPLATES[name], system="", text=text) for name, text in WRITTEN["published"].items()
}
# the offline engine's rules by name, with the templates they stand for
OFFLINE_RULES: Mapping[str, Template] = {
    template.name: template for template in (*READY_TEMPLATES.values(), *ORIGINAL, *IMPROVED, TRANSFORM)
}


def custom_template(
    name: str,
    text: str,
    system: str | None = None,
    *,
    ready: Sequence[Template] = tuple(READY_TEMPLATES.values()),
) -> Template:
    """A custom rewriting template, or the built-in one of `ready` with the same name and texts.

    The text, for the language model, has {question} at least once, and no other field but those of the built-in ones;
    the system message is theirs by default. Raises ConfigError, which says why, for a wrong name or text.
    """
    name, text, like = " ".join(name.split()), text.strip(), ready[0]
    system = like.system if system is None else system.strip()
    if not name or len(name) > 40:
        raise ConfigError(
            Message("A template name has 1 to 40 characters, not {length}.", length=len(name)),
            Message("Choose a shorter name."),
        )
    check_length(name, text, system)
    fields = set(_FIELD.findall(text))
    if "{question}" not in fields or fields - {"{question}"} - set(_FIELD.findall(like.text)):
        found = ", ".join(sorted(fields)) or "no field"
        raise ConfigError(
            Message(
                "Template {name!r} must contain {{question}} and no other field, not {found}.",
                name=name,
                found=found,
            ),
            Message("Write {question} where the question belongs, and nothing else in braces."),
        )
    made = replace(like, name=name, text=text, system=system)
    Fields(("question",), ("form",)).check("templates", made)
    return next((one for one in ready if one.name == name and one.says_the_same_as(made)), made)


def check_length(name: str, *texts: str) -> None:
    """Check that no text of a template is too long; raises ConfigError if one is."""
    longest = max(map(len, texts))
    if longest > MAX_TEMPLATE:
        raise ConfigError(
            Message("Template {name!r} has {longest:,} characters.", name=name, longest=longest),
            Message("The limit is {most:,}.", most=MAX_TEMPLATE),
        )


def with_temperature(templates: Sequence[Template], temperature: float) -> tuple[Template, ...]:
    """The templates at this temperature."""
    return tuple(replace(template, temperature=temperature) for template in templates)
