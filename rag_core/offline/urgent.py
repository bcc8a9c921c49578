"""Which sentences of the sources say what to do now about an urgent question, and which concern it at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..safety.urgency.advice import points_back
from ..safety.urgency.frames import is_about_born_baby, words
from ..safety.urgency.leading import calls_emergency, calls_for, is_conditional
from ..safety.urgency.reading import plain
from ..safety.urgency.signs import signs, signs_of
from ..values.triage import Triage
from .quotable import Sentence

_BABY = words(
    r"bab(?:y|ies|ys)|newborn|neonate|infant|bebe\w*|bebit[oa]|recien nacid\w|rn|guagua|wawa|hij[oa]|son|daughter|nino|nina|he|shes?|hes|"
    r"\d+[ -](?:day|week|month)s?[ -]old"
)
DELICATE = ("low-mood", "psychosis")  # besides the flagged signs


@dataclass(frozen=True, slots=True)
class Urgent:
    """A question, and what in the sources is about it if it is urgent."""

    question: str
    triage: Triage

    def names_sign(self, text: str) -> bool:
        """Whether a text names a sign to act on."""
        return any(sign.named_in(text) for sign in signs_of(self.triage))

    @property
    def is_delicate(self) -> bool:
        """Whether it is about self-harm, violence or a mind in distress, where a stray sentence does harm."""
        return any(sign.flag or sign.id in DELICATE for sign in signs_of(self.triage))

    def suits(self, section: Sequence[Sentence]) -> bool:
        """Whether a section is about the right patient: for a born baby, it names babies; else its document is not about one."""
        if section[0].patient == "baby":
            return not self._is_for_another(section[0])
        if not is_about_born_baby(plain(self.question)):
            return True
        text = " ".join([section[0].context, *(each.text for each in section)])
        return _BABY.search(plain(text)) is not None

    def directness(self, said: Sequence[Sentence], before: str = "") -> int:
        """How directly sentences that belong together say what to do now about the question's signs.

        2 for each sign that they name, 1 less if they also name others, 1 more for the emergency number where triage
        gives it; 1 if only their headings name a sign; 0 if they call for no help or less than needed, or are for
        other signs, worse signs beside it, or another patient.

        Args:
            before: what their source says before them.
        """
        text, last = " ".join(each.text for each in said), said[-1]
        if not self.triage.urgent or not calls_for(text, self.triage):
            return 0
        if self._is_for_another(last):
            return 0
        wanted = signs_of(self.triage)
        meant = f"{before} {text}" if points_back(last.text) else text
        if named := sum(sign.named_in(meant) for sign in wanted):
            others = any(sign.named_in(text) for sign in signs() if sign not in wanted)
            number = calls_emergency(self.triage.action.partition(";")[0]) and calls_emergency(text)
            return 2 * named - others + number
        above = f"{last.context} {last.heading}"
        return int(self.names_sign(above) and not is_conditional(text))

    def directnesses(self, section: Sequence[Sentence]) -> list[int]:
        """How directly each sentence of a source, with the lead-in of its list, says what to do now; see `directness`."""
        if not self.triage.urgent:
            return [0] * len(section)
        return [
            self.directness(
                [each] if each.lead is None else [section[each.lead], each],
                " ".join(one.text for one in section[: each.place]),
            )
            for each in section
        ]

    def rank_in(self, candidates: Sequence[Sentence]) -> int | None:
        """The number of the first source with sentences that say what to do now; None if there is none."""
        numbers = dict.fromkeys(each.n for each in candidates)
        return next(
            (n for n in numbers if any(self.directnesses([each for each in candidates if each.n == n]))), None
        )

    def is_helped(self, candidates: Sequence[Sentence]) -> bool:
        """Whether a source says to get help for a sign of the question, as urgently as that sign alone needs."""
        levels = {sign.level for sign in signs_of(self.triage)}
        return any(
            replace(self, triage=replace(self.triage, level=level)).rank_in(candidates) is not None
            for level in {self.triage.level, *levels}
        )

    def _is_for_another(self, said: Sentence) -> bool:
        """Whether a sentence is of a document about a baby, and the question is urgent and names none."""
        return said.patient == "baby" and self.triage.urgent and not _BABY.search(plain(self.question))
