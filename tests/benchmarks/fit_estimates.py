"""How often an answer answers, by the relevance label of the section that it begins with: what Compare estimates by.

    python tests/benchmarks/fit_estimates.py

Writes data/estimates.toml: of the answers of the four STRATEGIES to the test questions with a judged answer, how many begin
with a section of each label, and how many of these are acceptable by their statements.
"""

from collections import Counter
from pathlib import Path

from rag_core.evaluation import read_answers, read_judged
from rag_core.evaluation.verdicts import assess
from rag_core.evaluation.which_answers import ESTIMATED, first_quoted
from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

DATA = Path(__file__).resolve().parents[2] / "data"
STRATEGIES = ("multi_query", "hybrid_rrf", "bm25", "ensemble")


def main() -> None:
    settings = Settings(data=DATA, llm="offline")
    judged = read_judged("builtin", "test", settings)
    answers = read_answers("builtin", judged, settings)
    assert answers is not None
    lab, began, answered = open_lab(settings=settings), Counter[str](), Counter[str]()
    grades = answers.extend(judged).qrels
    for name, one in answers.answers.items():
        relevant = {document for document, grade in grades.get(name, {}).items() if grade}
        for trace in lab.compare(one.question.text, STRATEGIES):
            if (hit := first_quoted(trace)) and hit.relevance:
                began[hit.relevance.label] += 1
                answered[hit.relevance.label] += assess(one, trace, relevant).verdict == "acceptable"
    lines = [f"{label} = {{ answered = {answered[label]}, of = {began[label]} }}" for label in ESTIMATED]
    heading = "# Counted by tests/benchmarks/fit_estimates.py on the test split of data/answers.\n\n"
    (DATA / "estimates.toml").write_text(heading + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
