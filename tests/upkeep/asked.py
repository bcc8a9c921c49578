"""Checks of the questions that sections are known to answer."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from rag_core.documents.asked import OUTSIDE, placed, read_asked, read_questions
from rag_core.lab.builtin import outdated
from rag_core.language.analysis import LANGUAGES

FEWEST = 6  # questions of a section in its document's language; in the other it needs one


def asked_problems(data: Path, passages: Sequence[str]) -> tuple[Counter[str], list[str]]:
    """The questions by language, and what is wrong.

    That is: sections that changed, or that have too few; questions of two sections, or said to be outside as well.

    Args:
        data: the folder with the collection.
        passages: the ids of its passages; a document's language is the beginning of its id.
    """
    asked, changed, lost = placed(read_asked(data / "asked"), passages)
    problems = outdated(changed, lost)
    known = Counter((one.passage, one.language) for one in asked)
    for passage in passages:
        spoken = passage.partition("-")[0]
        for language in LANGUAGES:
            fewest = FEWEST if language == spoken else 1
            if (count := known[passage, language]) < fewest:
                problems.append(f"asked: {passage}: {count} questions in {language}; it needs {fewest}")
    owners = defaultdict(set)
    for one in asked:
        owners[one.question].add(one.passage)
    problems += [
        f"asked: {question!r} is a question of {' and '.join(sorted(each))}"
        for question, each in owners.items()
        if len({owner.partition("-")[0] for owner in each}) < len(each)  # twins in two languages answer the same
    ]
    outside = [one.question for one in read_questions(data / "asked" / OUTSIDE)]
    problems += [
        f"asked: {question!r} in {OUTSIDE} is a question of {' and '.join(sorted(owners[question])) or 'the same file'}"
        for question, count in Counter(outside).items()
        if count > 1 or question in owners
    ]
    return Counter(one.language for one in asked), problems
