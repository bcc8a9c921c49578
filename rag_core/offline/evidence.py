"""Whether passages answer a question well enough for an answer to be written."""

import hashlib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..prompts.prompt import Sources
from ..runtime.services import AskedQuestions
from ..values.errors import read_data_file
from ..values.labels import EvidenceScore
from ..values.triage import Triage
from ..values.types import Hit
from .quotable import read_sources
from .scorer import Calibration, OfflineScorer, plain_text
from .urgent import Urgent

FEW = 10  # words of a question; fewer say no less of what it is about
LEADING = 5  # passages whose documents are compared


class Facts(NamedTuple):
    """What the score of the evidence is computed from.

    Args:
        relevance: of the best passage, as log-odds.
        least: mean cosine of the question's two word pieces farthest from the best passage, -1 to 1.
        length: ln(1 + number of the question's words), at least of FEW; in more, more are far from any passage.
        urgent: 1 for an urgent question.
        words: mean cosine of its word pieces to the nearest in the section whose questions are most like it, or in
            those, -1 to 1.
        contrast: its cosine to a question that a section answers, less that to one that none answers.
    """

    relevance: float
    least: float
    length: float
    urgent: float
    spread: float
    words: float | None = None
    contrast: float | None = None


PLAIN = Facts._fields[: -len(Facts._field_defaults)]  # those that need no known question


@dataclass(frozen=True)
class Weighing:
    """The score of the evidence, and the lowest for an answer.

    Args:
        offline: by the offline engine, which cannot tell when it should decline.
        model: by a language model, which can; lower, so that it loses few questions it could have answered.
    """

    calibration: Calibration
    offline: float
    model: float


@dataclass(frozen=True)
class Thresholds:
    """How the evidence that an embedding model reads is weighed.

    Args:
        plain: from all facts but the known questions; for documents of every kind.
        known: from all facts, where the best passage has known questions and others are known to be outside; None to
            do without.
    """

    plain: Weighing
    known: Weighing | None


def read_thresholds(path: Path) -> Mapping[str, Thresholds]:
    """Fitted thresholds by embedding model, from `data/abstention.toml`; raises DataError.

    A model is named by its key up to "@": name, version, and whether it reads through a gloss, not which.
    """
    return read_data_file(
        path,
        lambda text: {
            name: Thresholds(_weighing(row["plain"], PLAIN), _weighing(row["known"], Facts._fields))
            for name, row in tomllib.loads(text).items()
        },
    )


def _weighing(row: Mapping[str, Any], names: Sequence[str]) -> Weighing:
    return Weighing(Calibration.of(row, names), float(row["offline"]), float(row["model"]))


class PassageEvidence:
    """The context's Evidence, by one score and the thresholds of the scorer's model, whichever model searches."""

    def __init__(self, scorer: OfflineScorer, thresholds: Mapping[str, Thresholds]) -> None:
        self.model = scorer.embedder.key.partition("@")[0]
        self._scorer = scorer
        self._fitted = thresholds.get(self.model)
        self.key = hashlib.sha256(repr(self._fitted).encode()).hexdigest()[:8] if self._fitted else "unfitted"

    @property
    def fitted(self) -> bool:
        """Whether the embedding model has thresholds; without, there is no score."""
        return self._fitted is not None

    def score(
        self,
        question: str,
        hits: Sequence[Hit],
        triage: Triage,
        asked: AskedQuestions | None,
        *,
        offline: bool,
    ) -> EvidenceScore:
        """As `Evidence.score`; an emergency for which a passage says what to do is always answered.

        Raises ValueError if the embedding model has no thresholds.
        """
        if self._fitted is None:
            raise ValueError(f"no thresholds for {self.model}")
        if is_helped(Urgent(question, triage), hits):
            return EvidenceScore(max(self._scorer.relevance(question, hits)), 0.0)
        known = [fact for fact in self.facts(question, hits, triage, asked) if fact is not None]
        weighing = self._fitted.known
        if weighing is None or len(known) == len(PLAIN):
            weighing, known = self._fitted.plain, known[: len(PLAIN)]
        return EvidenceScore(weighing.calibration(known), weighing.offline if offline else weighing.model)

    def facts(self, question: str, hits: Sequence[Hit], triage: Triage, asked: AskedQuestions | None = None) -> Facts:
        relevance = self._scorer.relevance(question, hits)
        likely = max(relevance)
        best = hits[relevance.index(likely)].passage
        clipped = min(max(likely, 0.001), 0.999)
        farthest = np.sort(self._scorer.word_cosines(question, [(plain_text(best), best.language)]))[:2]
        facts = Facts(
            math.log(clipped / (1 - clipped)),
            float(farthest.mean()),
            math.log1p(max(len(question.split()), FEW)),
            float(triage.urgent),
            spread(hits),
        )
        contrast = asked.contrast(question) if asked and asked.of(best.id) else None
        if asked is None or contrast is None:
            return facts
        (nearest,) = asked.search(question, 1)
        section = [(one.question, one.language) for one in asked.of(nearest.passage.id)]
        section.append((plain_text(nearest.passage), nearest.passage.language))
        cosines = self._scorer.word_cosines(question, section)
        return facts._replace(words=float(cosines.mean()), contrast=contrast)


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
