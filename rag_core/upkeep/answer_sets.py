"""The built-in judged answers: their number and their problems."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from ..documents.answer_set import JudgedAnswer, answer_file, read_answer_set, sentence_terms
from ..documents.benchmark import SPLITS, Question, read_builtin
from ..language.patterns import Term
from ..values.errors import DataError
from ..values.types import Passage


def check_answer_sets(
    data: Path, questions: Sequence[Question], passages: Mapping[str, Passage]
) -> tuple[dict[str, int], list[str]]:
    """Count the judged answers of the splits that have them, and list what is wrong with them.

    Args:
        data: the folder with questions and answers.
        questions: those of every split.
        passages: by document id and position.

    Returns:
        Split -> judged answers, and one line per problem.
    """
    counts: dict[str, int] = {}
    problems: list[str] = []

    @functools.cache
    def terms(passage: str) -> list[tuple[Term, ...]]:
        return sentence_terms(passages[passage].text, passages[passage].language)

    for split in SPLITS:
        path = answer_file(data, split)
        if not path.is_file():
            continue
        try:
            judged = read_builtin(data, split)
            answers = read_answer_set(path, judged).answers
        except DataError as error:
            problems.append(str(error))
            continue
        counts[split] = len(answers)
        elsewhere = {question.id for question in questions} - {question.id for question in judged.questions}
        unanswerable = {question.id for question in judged.unanswerable}
        for identity, one in answers.items():
            found = [*_statement_problems(one, passages.keys(), terms)]
            if identity in elsewhere:
                found.append("the id belongs to a question of the other split; give the new question its own")
            outside = one.question.kind == "outside" if one.own else identity in unanswerable
            if outside and not one.outside:
                found.append("the collection does not cover the question, but `must` has statements")
            if one.outside and not outside:
                found.append("the collection covers the question, but `must` is empty")
            problems += [f"{path}, question {identity!r}: {problem}" for problem in found]
    return counts, problems


def _statement_problems(
    judged: JudgedAnswer, passages: Set[str], terms: Callable[[str], list[tuple[Term, ...]]]
) -> Iterator[str]:
    """Passages that do not exist, and statements that no sentence of their passages says acceptably.

    Args:
        terms: the terms of each sentence of a passage.
    """
    for unknown in sorted(judged.passages - passages):
        yield f"there is no passage {unknown}"
    for one in judged.must:
        tied = [key for key in one.passages if key in passages]
        saying = [sentence for key in tied for sentence in terms(key) if one.said_in([sentence])]
        if tied and not saying:
            yield f"no sentence of the passages of {one.says!r} matches one of its patterns"
        for unwanted in judged.must_not:
            if saying and all(unwanted.said_in([sentence]) for sentence in saying):
                yield f"every sentence that says {one.says!r} also says {unwanted.says!r}, which must not be said"
