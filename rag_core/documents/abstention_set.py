"""Questions that name pregnancy, birth or a baby, and whether the built-in collection answers them."""

from __future__ import annotations

import json
from pathlib import Path

from ..values.errors import DataError
from .benchmark import Question


def read_abstention(data: Path, split: str) -> dict[Question, bool]:
    """The questions of `data/abstention` in a split, and whether the collection leaves each unanswered.

    Raises:
        DataError: the file is missing or malformed.
    """
    path = data / "abstention" / f"{split}.jsonl"
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return {
            Question(f"abstention-{split}-{n}", row["text"], row["language"], row["form"], ""): bool(
                row["outside"]
            )
            for n, row in enumerate(rows, start=1)
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"The questions {path} cannot be read: {error!r}.", "Restore the file.") from error
