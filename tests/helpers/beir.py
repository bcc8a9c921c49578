import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.small import DOCUMENTS

ROWS = tuple({"_id": one.id, "title": one.title, "text": one.text} for one in DOCUMENTS)


def beir_folder(
    made: Path,
    asked: Sequence[tuple[str, str, Mapping[str, int]]],
    rows: Iterable[Mapping[str, Any]] = ROWS,
    splits: Iterable[str] = ("dev", "test"),
) -> Path:
    """Make a BEIR folder of documents and of questions, each with the grades of its documents."""
    (made / "qrels").mkdir(parents=True)
    queries = [{"_id": key, "text": text} for key, text, _ in asked]
    for name, lines in (("corpus", rows), ("queries", queries)):
        (made / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    judged = [f"{key}\t{name}\t{grade}\n" for key, _, grades in asked for name, grade in grades.items()]
    for split in splits:
        (made / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))
    return made
