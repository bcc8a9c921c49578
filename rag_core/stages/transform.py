"""Query transforms: analysis, rewriting and hypothetical passages."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..language.facts import lost_in_rewrite
from ..language.questions import form_of
from ..prompts.prompt import Fields, Template
from ..prompts.replies import excerpt, read_as, unescaped
from ..prompts.templates import (
    ANALYSIS,
    HYPOTHETICAL,
    OFFLINE_RULES,
    PUBLISHED,
    TRANSFORM,
    Form,
    QueryAnalysis,
)
from ..runtime.context import Context
from ..values.errors import ConfigError, LimitReached, ProviderError, RagError, Stopped
from ..values.message import Message
from ..values.types import Query
from .base import TransformStage, warn_if_unread

_LABEL = re.compile(  # "**Standalone question:** ...", as models often begin; only words that cannot start the question
    r"^(?:[\w ]{1,20}[!,] )?(?:(?:here is|here's|the|an?|my|your|one|new|stand-?alone|self-contained|rephrased|reworded|rewritten|reformulated|"
    r"expanded|paraphrased|condensed|clarified|focused|\w+-focused|search|final) )*"
    r"(?:question|query|wording|rewrite|version|pregunta|consulta|versión|redacción|reformulaci[oó]n)"
    r"(?: (?:reformulada|reescrita|ampliada|aclarada|condensada|independiente|parafraseada|nueva|final))*:[*_]*(?: |$)",
    re.IGNORECASE,
)
EMPTY = Message("the reply was empty.")
_FENCE = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)
_FIRST_ITEM = re.compile(r"(?:1[.)]|[-*•])\s")
_ITEM = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+(\S.*)$", re.MULTILINE)
_QUOTES = "\"'“”«»`* "


@dataclass(frozen=True)
class AnalyseQuery(TransformStage):
    """Classifies the question by rules as a full sentence or keywords.

    Rewriting templates use a sentence unchanged and turn keywords into a question first. The rules are in
    `questions.form_of`; the query's note gives the reason. RAG-MSR (README, "Reformulation Improvement")
    calls a model instead: `AnalyseQueryByLlm`.

    >>> from rag_core.testing import sample_context
    >>> (query,) = AnalyseQuery().rewrite(Query("anti-D dose"), sample_context())
    >>> query.form
    'keywords'
    """

    fans_out: ClassVar[bool] = False

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        form, reason = form_of(question.text)
        return (replace(question, form=form, note=reason),)


@dataclass(frozen=True)
class AnalyseQueryByLlm(TransformStage):
    """Asks the rewriting model whether the question is a sentence or keywords, and expands keywords to a question.

    As in RAG-MSR (README, "Reformulation Improvement"): short queries and keywords become a full question
    before they are rewritten; sentences are rewritten as they are. If the call fails or the reply is malformed,
    `AnalyseQuery` is used instead, with a warning.

    >>> from rag_core.testing import ScriptedLlm, sample_context, sample_services
    >>> llm = ScriptedLlm(templates={"analysis": '{"form": "keywords", "question": "When is anti-D given?"}'})
    >>> (query,) = AnalyseQueryByLlm().rewrite(Query("anti-D"), sample_context(sample_services(llm=llm)))
    >>> query.text, query.form
    ('When is anti-D given?', 'sentence')
    """

    template: Template = ANALYSIS
    fans_out: ClassVar[bool] = False
    fills: ClassVar[Fields] = Fields(("question",))

    def __post_init__(self) -> None:
        self.fills.check(self.name, self.template)

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        warn_if_unread(self.template, ANALYSIS, ctx)
        reply = ""
        try:
            reply = ctx.complete(self.template.fill(question=question.text))
            found = read_as(QueryAnalysis, reply)
            full = cleaned(found.question)
            if found.form == "keywords" and not full:
                raise ValueError("it has no question for the keywords")
        except (Stopped, LimitReached):
            raise
        except (RagError, ValueError) as error:
            why = (
                f"the reply was malformed: {error}; it was {excerpt(reply)}"
                if isinstance(error, ValueError)
                else error.message.rstrip(".")
            )
            ctx.warn("Query analysis by the model failed, so rules were used instead ({reason}).", reason=why)
            return AnalyseQuery().rewrite(question, ctx)
        model = ctx.services.llms[self.template.purpose].name
        if found.form == "sentence":
            return (replace(question, form="sentence", note=f"full sentence, according to {model}"),)
        lost = _lost(question, full, self.template, ctx)
        note = f"keywords, according to {model}; expanded to: {full}"
        return (
            replace(
                question,
                text=full,
                origin=self.template.name,
                form="sentence",
                note=f"{note} ({lost})" if lost else note,
            ),
        )


@dataclass(frozen=True)
class Rewrite(TransformStage):
    """Rewrites the question once per template, in parallel.

    Multi-Query Rewriter RAG, Implementation Details; RAG-MSR, README, Step 1. Failed and repeated rewrites are dropped
    with a warning; the rest keep the positions of their templates. A rewrite that loses a number, negation, drug or
    week of the question is kept, with a warning. With `keep_question`, the question is the first query, and it alone
    remains if all rewrites fail.

    >>> from rag_core.prompts.templates import STANDALONE, SYNONYMS
    >>> from rag_core.testing import ScriptedLlm, sample_context, sample_services
    >>> llm = ScriptedLlm(templates={"standalone": "Do cats sleep a lot?", "synonyms": "Do felines rest much?"})
    >>> ctx = sample_context(sample_services(llm=llm))
    >>> queries = Rewrite((STANDALONE, SYNONYMS)).rewrite(Query("do they sleep a lot?"), ctx)
    >>> [(query.origin, query.text) for query in queries]
    [('standalone', 'Do cats sleep a lot?'), ('synonyms', 'Do felines rest much?')]
    """

    templates: tuple[Template, ...]
    keep_question: bool = False
    fills: ClassVar[Fields] = Fields(("question",), ("form",))

    def __post_init__(self) -> None:
        if not self.templates:
            raise ConfigError(f"{self.name}: there are no templates.", "Add at least one.")
        for template in self.templates:
            self.fills.check(self.name, template)

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        """Without duplicates; raises ProviderError if all rewrites failed and the question is not kept."""
        written, failures = self._written(question, ctx)
        if self.keep_question:
            same = question.text.casefold()
            return (question, *(query for query in written if query.text.casefold() != same))
        if not written:
            first = failures[0]
            raise ProviderError(
                Message("all {count} rewrites failed: {reason}", count=len(self.templates), reason=first.message),
                first.next_step,
            )
        return tuple(written)

    def _written(self, question: Query, ctx: Context) -> tuple[list[Query], list[RagError]]:
        form = Form(question.form)
        prompts = [template.fill(question=question.text, form=form) for template in self.templates]
        written: dict[str, Query] = {}
        failures: list[RagError] = []
        for place, (template, reply) in enumerate(zip(self.templates, ctx.complete_all(prompts), strict=True)):
            text = self._read(reply, template, ctx)
            if isinstance(text, RagError):
                failures.append(text)
                ctx.warn("Rewrite {name!r} failed and was left out: {reason}", name=template.name, reason=text)
            elif text.casefold() in written:
                same = written[text.casefold()].origin
                ctx.warn(
                    "Rewrite {name!r} is the same as {same!r} and was left out.",
                    name=template.name,
                    same=same,
                )
            else:
                written[text.casefold()] = Query(
                    text,
                    template.name,
                    template_index=place,
                    form=question.form,
                    note=_note(question, text, template, ctx),
                )
        return list(written.values()), failures

    def _read(self, reply: str | RagError, template: Template, ctx: Context) -> str | RagError:
        if isinstance(reply, RagError):
            return reply
        try:
            found = wordings(reply)
        except ValueError as error:
            why = Message("the reply is not one question ({reason}): {reply}", reason=error, reply=excerpt(reply))
            return ProviderError(why, Message("Try again."))
        if len(found) > 1:
            ctx.warn(
                "Rewrite {name!r}: the model wrote {count} questions instead of one; the first was used.",
                name=template.name,
                count=len(found),
            )
        return found[0] if found else ProviderError(EMPTY, Message("Try again."))


@dataclass(frozen=True)
class Rephrase(Rewrite):
    """Rephrases the question in the documents' terminology.

    An optional step of Query System with Contextual Retrieval, Query Transformation. If it fails, the original
    question is used, with a warning.

    >>> from rag_core.testing import ScriptedLlm, sample_context, sample_services
    >>> ctx = sample_context(sample_services(llm=ScriptedLlm(templates={"transform": "feline sleep"})))
    >>> [query.text for query in Rephrase().rewrite(Query("when cats doze"), ctx)]
    ['feline sleep']
    """

    templates: tuple[Template, ...] = (TRANSFORM,)
    fans_out: ClassVar[bool] = False

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        written, _ = self._written(question, ctx)
        return tuple(written) or (question,)


@dataclass(frozen=True)
class Hyde(TransformStage):
    """Searches with hypothetical passages that answer the question (HyDE).

    Gao et al., "Precise zero-shot dense retrieval without relevance labels", ACL 2023 (arXiv 2212.10496), section
    3.2: the query's vector is the mean of the embeddings of N sampled passages and of the question,
    (f(d_1) + … + f(d_N) + f(q)) / (N + 1). `Dense.vector` computes it.

    Args:
        include_question: average with the question's embedding; otherwise use the passages only.
        samples: N, 1 or more, written at the same time. Failed ones drop out with a warning.

    >>> from rag_core.testing import ScriptedLlm, sample_context, sample_services
    >>> ctx = sample_context(sample_services(llm=ScriptedLlm(templates={"hypothetical": "Cats sleep all day."})))
    >>> (query,) = Hyde().rewrite(Query("When do cats sleep?"), ctx)
    >>> query.passages, query.question_text
    (('Cats sleep all day.',), 'When do cats sleep?')
    """

    include_question: bool = True
    template: Template = HYPOTHETICAL
    samples: int = 1
    fans_out: ClassVar[bool] = False
    fills: ClassVar[Fields] = Fields(("question",))

    def __post_init__(self) -> None:
        self.fills.check(self.name, self.template)
        if self.samples < 1:
            raise ConfigError(f"{self.name}: samples must be 1 or more, not {self.samples}.")

    def __repr__(self) -> str:
        # results stored before there were several samples have the fingerprint without them
        several = f", samples={self.samples}" if self.samples > 1 else ""
        return f"Hyde(include_question={self.include_question}, template={self.template}{several})"

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        """One query with the passages; raises ProviderError if the model wrote none."""
        warn_if_unread(self.template, HYPOTHETICAL, ctx)
        replies = ctx.complete_all(self.template.fill(question=question.text).samples(self.samples))
        nothing = ProviderError(Message("the model wrote no hypothetical passage."), Message("Try again."))
        written = [reply if isinstance(reply, RagError) else _one_line(reply) or nothing for reply in replies]
        passages = tuple(one for one in written if isinstance(one, str))
        failures = [one for one in written if isinstance(one, RagError)]
        if not passages:
            raise failures[0]
        if failures:
            ctx.warn(
                "{made} of {wanted} hypotheses: the others failed and were left out: {reason}",
                made=len(passages),
                wanted=self.samples,
                reason=failures[0],
            )
        question_text = question.text if self.include_question else ""
        return (Query(" ".join(passages), self.template.name, passages=passages, question_text=question_text),)


def cleaned(reply: str) -> str:
    """A model's rewrite on one line, without labels or surrounding quotation marks."""
    return _LABEL.sub("", _one_line(reply).strip(_QUOTES)).strip(_QUOTES)


def wordings(reply: str) -> list[str]:
    """The rewrites in a reply that should be one, in JSON, a list or lines; raises ValueError."""
    fenced = _FENCE.fullmatch(reply)
    text = (fenced[1] if fenced else reply).strip()
    found = _in_json(text)
    return [one for one in map(cleaned, _in_lines(text) if found is None else found) if one]


def _in_json(text: str) -> list[str] | None:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return _strings(value) if isinstance(value, str | list | dict) else None


def _strings(value: object) -> list[str]:
    if isinstance(value, list):
        return [text for each in value for text in _strings(each)]
    if isinstance(value, dict):
        if len(value) != 1:
            raise ValueError("it has more than one field")
        return _strings(*value.values())
    return [value] if isinstance(value, str) else []


def _in_lines(text: str) -> list[str]:
    first, _, rest = text.partition("\n")
    introduced = bool(rest.strip()) and first.rstrip(" *_").endswith(":")  # "Here is the question:"
    text = rest.strip() if introduced else text
    if _FIRST_ITEM.match(text):
        return _ITEM.findall(text)
    paragraphs = re.split(r"\n\s*\n", text)
    if introduced or len(paragraphs) == 1:
        return paragraphs[:1]  # what follows explains it
    questions = [one for one in paragraphs if one.rstrip(_QUOTES).endswith("?")]
    if len(questions) != 1:
        raise ValueError("it has more than one paragraph")
    return questions


def _one_line(reply: str) -> str:
    return " ".join(unescaped(reply).split())


def _note(question: Query, text: str, template: Template, ctx: Context) -> str:
    """The note on a rewrite: the facts it lost. Adds the warnings."""
    rule_of = OFFLINE_RULES.get(template.name)
    known = (rule_of, PUBLISHED.get(template.name))
    read = any(one is not None and template.says_the_same_as(one) for one in known)
    if not read and ctx.services.llms[template.purpose].offline:
        rule = "the built-in one of this name" if rule_of else "synonyms"
        ctx.warn(
            "The offline engine cannot read your template {name!r} and used {rule} instead.",
            name=template.name,
            rule=rule,
        )
    return _lost(question, text, template, ctx)


def _lost(question: Query, text: str, template: Template, ctx: Context) -> str:
    lost: Sequence[str] = lost_in_rewrite(question.text, text, ctx.services.thesaurus)
    if not lost:
        return ""
    note = f"lost from the question: {', '.join(lost)}"
    ctx.warn("Rewrite {name!r} {note}.", name=template.name, note=note)
    return note
