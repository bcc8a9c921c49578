"""The questions that passages answer, written by a language model: kept passage by passage, and never paid for twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ..documents.asked import WRITTEN, Asked, asked_folder, change_asked, content_of, read_questions
from ..language.questions import MAX_QUESTION, check_question
from ..prompts.prompt import QUESTIONS_PROMPT, Block, Prompt
from ..runtime.services import Llm
from ..values.errors import InputError, attach_calls_to_errors
from ..values.pricing import PriceList
from ..values.types import ModelCall, Passage
from .enrich import CountProgress, EnrichmentEstimate, estimate, replies
from .write_report import WriteReport

EACH = 5  # questions of a passage: LlamaIndex's default; nDCG@10 rises little after them
REPLY_TOKENS = 100  # roughly, for estimates
_NUMBER = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s*")


def write_questions(
    home: Path,
    corpus: str,
    passages: Iterable[Passage],
    llm: Llm,
    prices: PriceList,
    announce: Callable[[EnrichmentEstimate], None],
    progress: CountProgress,
) -> WriteReport:
    """Ask a model for the questions of each passage that has none by a model; a changed text has none.

    Kept after each batch, so that a run that was killed goes on where it was.

    Args:
        announce: receives the estimate before the first call; raising an error keeps it from being made.
        progress: may raise to stop.

    Raises:
        RagError: as for `change_asked`; Stopped. Both carry the calls made so far.
    """
    path = asked_folder(home, corpus) / WRITTEN
    by_id = {one.id: one for one in passages}
    done = {content_of(one.passage) for one in read_questions(path)}
    missing = {name: _prompt(one) for name, one in by_id.items() if content_of(name) not in done}
    known = len(by_id) - len(missing)
    if not missing:
        return WriteReport(known, 0)
    announce(estimate("Questions", llm, prices, missing.values(), known, REPLY_TOKENS))
    calls: list[ModelCall] = []
    reason, asked = "", 0
    with attach_calls_to_errors(calls):
        for texts, why in replies(llm, missing, str.strip, progress, calls):
            new = [
                Asked(name, by_id[name].language, one)
                for name, text in texts.items()
                for one in questions_in(text)
            ]
            _keep(path, new)
            answered = len({one.passage for one in new})
            asked += answered
            reason = reason or why or ("" if answered == len(texts) else f"{llm.name} wrote no question")
    return WriteReport(len(by_id), 0, llm.name, tuple(calls), len(missing) - asked, reason)


def _keep(path: Path, new: Sequence[Asked]) -> None:
    """Keep questions, in place of those of an earlier text at the same place."""
    places = {_place(one) for one in new}
    change_asked(path, lambda old: [*(one for one in old if _place(one) not in places), *new])


def _place(asked: Asked) -> str:
    return asked.passage.rpartition(":")[0]


def questions_in(reply: str) -> list[str]:
    """The questions in a model's reply, a line each, without numbers; at most EACH."""
    found = []
    for line in reply.splitlines():
        text = _NUMBER.sub("", line).strip(' *"“”')
        if "?" in text and len(text) <= MAX_QUESTION:
            try:
                found.append(check_question(text))
            except InputError:
                continue
    return list(dict.fromkeys(found))[:EACH]


def _prompt(passage: Passage) -> Prompt:
    text = f"{passage.full_title}\n\n{passage.text}"
    return QUESTIONS_PROMPT.fill(context_str=Block(text), num_questions=EACH)
