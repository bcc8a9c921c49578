"""Which embedding models know English only, and so read Spanish through the gloss."""

from __future__ import annotations

import re
from pathlib import Path

# Published as English-only. A model that is not listed and has no card that says so reads Spanish itself.
_ENGLISH = re.compile(
    r"""minilm | all-minilm-l(?:6|12)-v[12] | all-mpnet-base-v[12] | all-distilroberta-v1 | all-roberta-large-v1
    | multi-qa-(?:minilm|mpnet|distilbert)-.* | msmarco-(?:distilbert|minilm|roberta|bert)-.*
    | paraphrase-(?:minilm|mpnet|albert|distilroberta)-.* | (?:gtr|sentence)-t5-.*
    | bge-(?:small|base|large)-en(?:-v1\.5)? | e5-(?:small|base|large)(?:-v2|-unsupervised)?
    | gte-(?:small|base|large) | gte-(?:base|large)-en-v1\.5 | snowflake-arctic-embed-(?:xs|s|m|l)
    | nomic-embed-text-v1(?:\.5)?""",
    re.VERBOSE,
)
_CARD = re.compile(r"\A---\n(.*?)^---$", re.DOTALL | re.MULTILINE)
_LANGUAGE = re.compile(r"^language:[ \t]*(?:\[(.*?)\]|(\S+)|((?:\n[ \t]*-[ \t]*\S+)+))", re.MULTILINE)


def is_english_only(model: str) -> bool:
    """Whether an embedding model, by its setting, is known to be English-only: by name, or by its folder's card."""
    name = model.rstrip("/").rpartition("/")[2].lower()
    return bool(_ENGLISH.fullmatch(name)) or _card_languages(Path(model)) == {"en"}


def _card_languages(folder: Path) -> set[str]:
    """The languages that the README.md in a model's folder declares; empty when it declares none."""
    try:
        card = _CARD.match((folder / "README.md").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return set()
    declared = _LANGUAGE.search(card[1]) if card else None
    return set(re.findall(r"[a-z]+", " ".join(filter(None, declared.groups())))) if declared else set()
