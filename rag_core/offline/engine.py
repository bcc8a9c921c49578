"""The offline engine: classical, deterministic information retrieval on a prompt's fields, in place of a language model."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..language.analysis import detect_language, language_of, sentences
from ..language.questions import form_of
from ..language.thesaurus import Thesaurus
from ..prompts.prompt import ANSWER, CONTEXT_PROMPT, JUDGE_PASSAGE, NO_EVIDENCE, Sources, Urgency
from ..prompts.templates import ANALYSIS, HYPOTHETICAL, Form
from ..runtime.services import AskedQuestions, Embedder, Index
from ..values.errors import ConfigError
from ..values.translation import translate
from ..values.triage import ROUTINE
from ..values.types import ModelCall
from .memory import MeteredEmbedder
from .quotable import read_sources, sentences_in
from .rewriting import Rewriter, first_pass, full_question
from .scorer import OfflineScorer
from .sections import Sections
from .urgent import Urgent

BETWEEN = "\n\n"  # sections of an answer
# Judging multiplies the odds of relevance by this, since a dropped passage is lost. More than nine in ten relevant
# dev passages then reach RAG-MSR's S_final >= 0.5; of the irrelevant ones among a dense top 8, 31 % do not in
# English and 17 % in Spanish.
JUDGE_ODDS_FACTOR = 3.0
HYPOTHETICAL_SENTENCES = 3  # per hypothetical passage

Fields = Mapping[str, Any]


class OfflineEngine:
    """Does what a template asks: rewrite, judge, answer, write a hypothetical passage or a context.

    Args:
        scorer: judges passages, which are then enough for an answer (the stage before has seen to it); without
            it the engine cannot judge, and answers if a sentence is near enough.
        index: for first passes, with its model `embedder`; without it rewrites rely on the thesaurus alone.
        reader: compares sentences, by default `embedder`; see `Sections`.
        asked: the questions that passages are known to answer, which tell the section to quote.
    """

    def __init__(
        self,
        embedder: Embedder,
        scorer: OfflineScorer | None = None,
        thesaurus: Thesaurus | None = None,
        index: Index | None = None,
        reader: Embedder | None = None,
        asked: AskedQuestions | None = None,
    ) -> None:
        self._embedder = embedder
        self._reader = reader or embedder
        self._scorer = scorer
        self._thesaurus = thesaurus
        self._index = index
        self._asked = asked

    def reply(
        self, template: str, fields: Fields, sample: int = 0, bills: list[ModelCall] | None = None
    ) -> Iterator[str]:
        """Reply a section at a time; `sample` numbers replies to one prompt, `bills` receives the embedding calls."""
        bills = [] if bills is None else bills
        sections = Sections(MeteredEmbedder(self._reader, bills), self._asked)
        rewriter = Rewriter(MeteredEmbedder(self._embedder, bills), self._thesaurus, self._index)
        match template:
            case ANSWER.name:
                yield from self._answer(_asked(fields), fields["sources"], sections)
            case JUDGE_PASSAGE.name:
                yield self._judge(fields["question"], fields["sources"], sections)
            case CONTEXT_PROMPT.name:
                yield _context_of(fields["title"], fields["document"])
            case HYPOTHETICAL.name:
                yield self._hypothetical_passage(fields["question"], sample, sections, rewriter)
            case ANALYSIS.name:
                yield _analysis(fields["question"])
            case _:
                form: Form = fields.get("form", Form())
                yield rewriter.rewrite(template, fields["question"], form.kind)

    def _answer(self, asked: Urgent, sources: Sources, sections: Sections) -> Iterator[str]:
        rated = self._scorer.relevance(asked.question, sources.hits) if self._scorer else None
        chosen = sections.choose(asked, sources, rated)
        if not chosen:
            language = detect_language(asked.question)
            reason = translate(language, "The passages found do not answer this question")
            yield f"{NO_EVIDENCE}. {reason}"
        for i, section in enumerate(chosen):
            yield f"{BETWEEN if i else ''}{section.quotation}"

    def _judge(self, question: str, sources: Sources, sections: Sections) -> str:
        """The only source's relevance, leniently from 0 to 100, and its closest sentence, as JSON."""
        if self._scorer is None:
            raise ConfigError("This offline engine has no scorer and cannot judge passages.")
        (hit,) = sources
        relevance = self._scorer.relevance(question, [hit])[0]
        score = round(100 * JUDGE_ODDS_FACTOR * relevance / (JUDGE_ODDS_FACTOR * relevance + 1 - relevance))
        best = sections.closest(question, read_sources(sources), 1)
        sentence = best[0].text if best else hit.passage.full_title
        reason = translate(detect_language(question), "Closest sentence: “{sentence}”", sentence=sentence)
        return json.dumps({"reason": reason, "score": score}, ensure_ascii=False)

    def _hypothetical_passage(self, question: str, sample: int, sections: Sections, rewriter: Rewriter) -> str:
        """The first-pass sentences closest to the question, for HyDE (Gao et al., ACL 2023).

        Each further sample takes the next sentences, and is empty when none are left. If nothing is found, the
        first is the question itself.
        """
        feedback = first_pass(question, language_of(question), rewriter.embedder, rewriter.index)
        found = sections.closest(
            question,
            [
                sentence
                for n, passage in enumerate(feedback.best, start=1)
                for sentence in sentences_in(n, passage.text, passage.full_title, passage.language)
            ],
            HYPOTHETICAL_SENTENCES,
            sample * HYPOTHETICAL_SENTENCES,
        )
        return " ".join(one.text for one in found) or ("" if sample else question)


def _asked(fields: Fields) -> Urgent:
    """The question of an answer, with its triage; routine if the prompt says nothing of it."""
    urgency = fields.get("urgency")
    return Urgent(fields["question"], urgency.as_read if isinstance(urgency, Urgency) else ROUTINE)


def _analysis(question: str) -> str:
    """The form of a question by `questions.form_of`, and for keywords a full question, as JSON."""
    form, _ = form_of(question)
    full = full_question(question) if form == "keywords" else ""
    return json.dumps({"form": form, "question": full}, ensure_ascii=False)


def _context_of(title: str, document: str) -> str:
    lead = next(iter(sentences(document, language_of(document))), "")
    return f"{title}: {lead}" if title and lead else title or lead
