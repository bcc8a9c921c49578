"""The built-in judged answers, their number and their problems; and the labels of the built-in questions."""

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from rag_core.documents.answer_set import JudgedAnswer, answer_file, read_answer_set, sentence_terms
from rag_core.documents.benchmark import SPLITS, Question, read_builtin, read_qrels
from rag_core.documents.documents import beir_rows
from rag_core.language.analysis import LANGUAGES
from rag_core.language.patterns import Term
from rag_core.values.errors import DataError
from rag_core.values.types import Passage

FLAGS = frozenset({"violence", "self_harm"})
REGIONS = frozenset({"Spain", "Mexico", "Andes", "Southern Cone", "other"})


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


def label_problems(folder: Path) -> Iterator[str]:
    """What is wrong with the labels of the questions in `folder`/<language>, one line each.

    A question has signs if and only if its level is not routine; the questions of one twin are of different
    languages and in one split.
    """
    twins: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for language in LANGUAGES:
        splits = {
            question: split for split in SPLITS for question in read_qrels(folder / language / "qrels" / f"{split}.tsv")
        }
        for _, row in beir_rows(folder / language / "queries.jsonl"):
            match row.get("metadata"):
                case {"level": _, "twin": str(twin)}:
                    yield from (
                        f"{folder / language}: {row['_id']}: {problem}"
                        for problem in _problems(row["metadata"], language)
                    )
                    if twin:
                        twins[twin].append((row["_id"], language, splits.get(row["_id"], "")))
    for name, found in twins.items():
        ids = ", ".join(identity for identity, _, _ in found)
        if len({language for _, language, _ in found}) < 2:
            yield f"{folder}: twin {name!r}: {ids}: not in two languages"
        if len({split for _, _, split in found if split}) > 1:
            yield f"{folder}: twin {name!r}: {ids}: in both splits"


def _problems(labels: Mapping[str, Any], language: str) -> Iterator[str]:
    signs, flags = labels.get("signs"), labels.get("flags")
    if not isinstance(signs, list) or bool(signs) != (labels["level"] != "routine"):
        yield f"signs {signs!r} do not fit the level {labels['level']!r}"
    if not isinstance(flags, list) or not FLAGS.issuperset(flags):
        yield f"flags {flags!r} are not among {', '.join(sorted(FLAGS))}"
    if (labels.get("region") in REGIONS) != (language == "es"):
        yield f"region {labels.get('region')!r}: Spanish questions name one of {', '.join(sorted(REGIONS))}"
