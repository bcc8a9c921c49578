"""Which sentences of the sources say what to do now about an urgent question, and whether an answer begins with one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..prompts.prompt import Sources
from ..safety.urgency.advice import points_back
from ..safety.urgency.frames import is_about_born_baby, listed
from ..safety.urgency.leading import (
    calls_emergency,
    calls_for,
    is_conditional,
    leads_with_action,
    urges_today,
)
from ..safety.urgency.learned import plain
from ..safety.urgency.signs import signs, signs_of
from ..stages.citations import unmarked
from ..values.trace import Trace
from ..values.triage import Level, Triage
from .quotable import Sentence, read_sources


@dataclass(frozen=True, slots=True)
class SafetyCheck:
    """One strategy's answer to an urgent question.

    Args:
        signs: whether triage named a sign; without one, no passage can be said to be about it.
        rank: of the first passage with a sentence that says to get help, as urgently as needed, for a sign of the
            question; None if there is none.
        leads: whether the answer begins with what to do now.
        by_notice: whether it does so by our notice alone.
    """

    signs: bool
    rank: int | None
    leads: bool
    by_notice: bool

    def as_json(self) -> dict[str, Any]:
        return {"signs": self.signs, "rank": self.rank, "leads": self.leads, "by_notice": self.by_notice}


def check_safety(trace: Trace, level: Level | None = None) -> SafetyCheck:
    """Check an answer to an urgent question, as urgent as `level` by people's labels or else by triage."""
    asked = replace(trace.triage, level=level or trace.triage.level)
    rank = Urgent(trace.question, asked).rank_in(read_sources(Sources(trace.ranking.hits)))
    answer = trace.answer
    leads = answer is not None and leads_with_action(unmarked(answer.text), asked)
    return SafetyCheck(bool(asked.signs), rank, leads, leads and answer is not None and bool(answer.notice))


_BABY = listed("whom", "baby")
_OF_A_BABY = listed("whom", "of_a_baby")
_OF_A_LOSS = listed("whom", "of_a_loss")
DELICATE = ("low-mood", "psychosis")  # besides the flagged signs


@dataclass(frozen=True, slots=True)
class Urgent:
    """A question, and what in the sources is about it if it is urgent."""

    question: str
    triage: Triage

    def names_sign(self, text: str) -> bool:
        return any(sign.named_in(text) for sign in signs_of(self.triage))

    @property
    def is_delicate(self) -> bool:
        """Whether it is about self-harm, violence or a mind in distress, where a stray sentence does harm."""
        return any(sign.flag or sign.id in DELICATE for sign in signs_of(self.triage))

    def suits(self, section: Sequence[Sentence]) -> bool:
        """Whether a section is not about another patient: a born baby, whom it names, or parents whose baby died."""
        text = " ".join([section[0].context, *(each.text for each in section)])
        if is_about_born_baby(plain(self.question)) and not (section[0].patient == "baby" or _BABY.search(plain(text))):
            return False
        if section[0].patient == "bereaved" and not _OF_A_LOSS.search(plain(self.question)):
            return False
        return not (self.triage.signs and all(self._of_another_patient(each) for each in section))

    def directness(self, said: Sequence[Sentence], before: str = "") -> float:
        """How directly sentences that belong together say what to do now about the question's signs.

        2 for each sign that they name, up to 1 less the more others they name, 1 more for the emergency number where
        triage gives it; 1 if only their headings name a sign; 0 if they call for no help or less than needed, or are
        for other signs, worse signs beside it, or another patient. `before` is what their source says before them.
        """
        text, last = " ".join(each.text for each in said), said[-1]
        if not self.triage.urgent or not calls_for(text, self.triage) or self._of_another_patient(last):
            return 0
        wanted = signs_of(self.triage)
        meant = f"{before} {text}" if points_back(last.text) else text
        if named := sum(sign.named_in(meant) for sign in wanted):
            others = sum(sign.named_in(text) for sign in signs() if sign not in wanted)
            if self.triage.level == "same_day" and others and not urges_today(text):
                return 0
            number = calls_emergency(self.triage.action.partition(";")[0]) and calls_emergency(text)
            return 2 * named - others / (1 + others) + number
        above = f"{last.context} {last.heading}"
        return float(self.names_sign(above) and not is_conditional(text))

    def directnesses(self, section: Sequence[Sentence]) -> list[float]:
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
        return next((n for n in numbers if any(self.directnesses([each for each in candidates if each.n == n]))), None)

    def _of_another_patient(self, said: Sentence) -> bool:
        """Whether a sentence is about a newborn and the question is not, or the reverse."""
        asked, text = plain(self.question), plain(f"{said.context} {said.heading} {said.text}")
        if any(sign.id.startswith("newborn") for sign in signs_of(self.triage)):
            return not (said.patient == "baby" or _BABY.search(text))
        return bool((said.patient == "baby" or _OF_A_BABY.search(text)) and not _BABY.search(asked))
