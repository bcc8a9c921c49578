"""The labels of the built-in questions: their signs, flags and regions, and twins that share a split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..documents.benchmark import SPLITS, read_qrels
from ..documents.documents import beir_rows
from ..language.analysis import LANGUAGES

FLAGS = frozenset({"violence", "self_harm"})
REGIONS = frozenset({"Spain", "Mexico", "Andes", "Southern Cone", "other"})


def label_problems(folder: Path) -> Iterator[str]:
    """What is wrong with the labels of the questions in `folder`/<language>, one line each.

    A question has signs if and only if its level is not routine; the questions of one twin are of different
    languages and in one split.
    """
    twins: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for language in LANGUAGES:
        splits = {
            question: split
            for split in SPLITS
            for question in read_qrels(folder / language / "qrels" / f"{split}.tsv")
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
