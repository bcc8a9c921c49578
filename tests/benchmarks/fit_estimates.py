"""How often an answer answers, by what Compare estimates of it.

    python tests/benchmarks/fit_estimates.py

Writes data/estimates.toml: of the answers that the three COLUMNS of the first screen give to the test questions which have a
judged answer and are not urgent, how many are estimated to be of each kind, and how many of these are acceptable by their
statements. Prints the same for dev, and for each kind the answers that are harmful.
"""

from collections import Counter
from pathlib import Path

from rag_core.evaluation import read_answers, read_judged
from rag_core.evaluation.verdicts import assess
from rag_core.evaluation.which_answers import ESTIMATED, estimated, first_quoted
from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

DATA = Path(__file__).resolve().parents[2] / "data"
COLUMNS = ("multi_query", "hybrid_rrf", "bm25")


def main() -> None:
    settings = Settings(data=DATA, llm="offline")
    lab = open_lab(settings=settings)
    for split in ("dev", "test"):
        judged = read_judged("builtin", split, settings)
        answers = read_answers("builtin", judged, settings)
        grades, counted = answers.extend(judged).qrels, Counter[tuple[str, str]]()
        for name, one in answers.answers.items():
            relevant = {document for document, grade in grades.get(name, {}).items() if grade}
            traces = lab.compare(one.question.text, COLUMNS)
            begun = Counter(first.id for trace in traces if (first := first_quoted(trace)))
            for trace in traces:
                if not trace.triage.urgent and (kind := estimated(trace, begun)):
                    counted[kind, assess(one, trace, relevant).verdict] += 1
        lines = []
        for kind in reversed(ESTIMATED):
            verdicts = {verdict: n for (of, verdict), n in counted.items() if of == kind}
            answered = verdicts.get("acceptable", 0)
            lines.append(f"{kind} = {{ answered = {answered}, of = {sum(verdicts.values())} }}")
            print(split, lines[-1], "harmful:", verdicts.get("harmful", 0))
    heading = "# Counted by tests/benchmarks/fit_estimates.py on the test split of data/answers.\n\n"
    (DATA / "estimates.toml").write_text(heading + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
