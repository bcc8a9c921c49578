"""Whether passages answer a question well enough for an answer to be written."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..language.analysis import language_of
from ..language.maternity import about_others, names_maternity
from ..language.questions import continues_another
from ..prompts.prompt import Sources
from ..runtime.services import Assessor
from ..values.data_files import read_data_file
from ..values.evidence import EvidenceScore, Scope
from ..values.triage import Triage
from ..values.types import Hit
from .naming import Named, Naming
from .quotable import read_sources
from .scorer import Calibration
from .urgent import Urgent

MOST_WORDS = 10  # of a question; more say no more about it
LEADING = 5  # passages whose documents are compared


class Facts(NamedTuple):
    """What the score of the evidence is computed from.

    Args:
        relevance: of the best passage, as log-odds.
        others: 1 for a question about a man, an older child or an animal when the passages are about maternity.
        best: see `Named`.
        any: see `Named`.
        felt: see `Named`.
        unnamed: words of the question that the best passage does not name, of at most MOST_WORDS.
        spread: see `spread`.
    """

    relevance: float
    others: float
    best: float
    any: float
    felt: float
    unnamed: float
    spread: float


@dataclass(frozen=True)
class Thresholds:
    """The score of one embedding model's evidence, and the lowest for an answer by question language.

    Args:
        offline: for the offline engine, which cannot tell when it should decline.
        model: for a language model, which can; lower, so that it loses few questions it could have answered.
    """

    calibration: Calibration
    offline: Mapping[str, float]
    model: Mapping[str, float]


def read_thresholds(path: Path) -> Mapping[str, Thresholds]:
    """Fitted thresholds by embedding model, from `data/abstention.toml`.

    The model is named by its key up to "@": name, version, and whether it reads through a gloss, but not which.

    Raises:
        DataError: the file is missing or malformed.
    """
    return read_data_file(
        path, lambda text: {name: _thresholds(row) for name, row in tomllib.loads(text).items()}
    )


def _thresholds(row: Mapping[str, Any]) -> Thresholds:
    weights = tuple(float(row["weights"][name]) for name in Facts._fields)
    offline, model = (
        {code: float(least) for code, least in row[who].items()} for who in ("offline", "model")
    )
    if "en" not in offline or "en" not in model:
        raise KeyError("en")
    return Thresholds(Calibration(float(row["weights"]["intercept"]), weights), offline, model)


class PassageEvidence:
    """The context's Evidence: decides by one score whether passages are enough for an answer.

    Args:
        assessor: rates single passages; their labels say something else, how they stand among the others.
        naming: compares their words; reads as the assessor does.
        model: key of the embedding model that both read with. It need not be the one that searches.
        thresholds: by embedding model; see `read_thresholds`.
    """

    def __init__(
        self, assessor: Assessor, naming: Naming, model: str, thresholds: Mapping[str, Thresholds]
    ) -> None:
        self.model = model.partition("@")[0]
        self._assessor = assessor
        self._naming = naming
        self._fitted = thresholds.get(self.model)
        self.key = hashlib.sha256(repr(self._fitted).encode()).hexdigest()[:8] if self._fitted else "unfitted"

    @property
    def fitted(self) -> bool:
        """Whether the embedding model has thresholds; without, there is no score."""
        return self._fitted is not None

    def score(self, question: str, hits: Sequence[Hit], triage: Triage, *, offline: bool) -> EvidenceScore:
        """The evidence of passages for an answer.

        An emergency for which a passage says what to do is always answered.

        Args:
            triage: of the question.
            offline: whether the offline engine will answer.

        Raises:
            ValueError: the embedding model has no thresholds.
        """
        if self._fitted is None:
            raise ValueError(f"no thresholds for {self.model}")
        relevance = self._assessor.relevance(question, hits)
        best = max(relevance, default=0.0)
        if is_helped(Urgent(question, triage), hits):
            return EvidenceScore(best, 0.0)
        least = self._fitted.offline if offline else self._fitted.model
        needed = least.get(language_of(question), least["en"])
        facts = self.facts(question, hits, relevance)
        if facts.spread == 1.0 and continues_another(question):
            return EvidenceScore(0.0, needed, "continuation")
        scope: Scope = "another_patient" if facts.others else ""
        return EvidenceScore(self._fitted.calibration(facts), needed, scope)

    def facts(self, question: str, hits: Sequence[Hit], relevance: Sequence[float]) -> Facts:
        """What the score is computed from.

        Args:
            relevance: of each passage, 0 to 1.
        """
        best = max(range(len(hits)), key=lambda i: relevance[i], default=None)
        clipped = 0.001 if best is None else min(max(relevance[best], 0.001), 0.999)
        maternity = 2 * sum(names_maternity(hit.passage.text) for hit in hits) > len(hits)
        named = Named(0.0, 0.0, 0.0, 0) if best is None else self._naming.of(question, hits, best)
        return Facts(
            math.log(clipped / (1 - clipped)),
            float(maternity and about_others(question)),
            named.best,
            named.any,
            named.felt,
            (1 - named.best) * min(named.words, MOST_WORDS),
            spread(hits),
        )


def spread(hits: Sequence[Hit]) -> float:
    """(documents − 1) / (passages − 1) of the LEADING passages, 0 to 1: whether the searches agree on a document.

    0 where it says nothing: for one passage, and if each is the first of its document, which may have no other.
    """
    leading = hits[:LEADING]
    if len(leading) < 2 or all(_is_first(hit) for hit in leading):
        return 0.0
    return (len({hit.passage.doc_id for hit in leading}) - 1) / (len(leading) - 1)


def _is_first(hit: Hit) -> bool:
    return hit.passage.id.removeprefix(hit.passage.doc_id).split(":")[1:2] in ([], ["0"])


def is_helped(urgent: Urgent, hits: Sequence[Hit]) -> bool:
    """Whether a question is urgent and a passage says what to do now."""
    return urgent.triage.urgent and urgent.rank_in(read_sources(Sources(hits))) is not None
