"""Whether a passage tells its reader to do at least what the table of signs and actions asks for.

A clause takes the action that it names; a list item without one that of its lead-in or heading; any other clause without
one that of the next sentence that points back ("any of these signs") or names no sign. Where one clause sends a sign to
hospital and another of the passage to the emergency number ("in hospital tell the staff, at home call"), the stricter
counts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rag_core.language.analysis import LIST_ITEM, sentences
from rag_core.safety.urgency.advice import points_back
from rag_core.safety.urgency.learned import plain
from rag_core.safety.urgency.signs import Sign, signs
from rag_core.values.types import Passage

from .checked import checked, clause_words, steps

_BETWEEN = re.compile(r"(; (?:and |but |or |y |e |pero |o )?|, (?:and|but|or|while|y|e|pero|o|mientras(?: que)?) )")
_REASON = re.compile(r",? (?:because|porque) [^;]*")
_DENIED = re.compile(r"(?<!\w)(?:without|no|nor|sin|ni)(?: \w+)?(?: (?:or|o|ni))? $")


@dataclass(frozen=True, slots=True)
class Advice:
    """A clause in plain letters and the place of its action in the table, -1 while it has none.

    Args:
        about: what leads in: the sentence before the list, or the clause before in its sentence ("a red wound needs care
            the same day; with fever, go at once").
    """

    clause: str
    action: int
    about: str = ""


def signs_advised(passage: Passage) -> list[tuple[Sign, Advice]]:
    """The signs for which a passage gives an action, neither denied nor excused."""
    title = plain(passage.full_title)
    return [
        (sign, advice)
        for advice in dict.fromkeys(advices(passage))
        if not clause_words("general").search(advice.clause)
        for sign in _named(advice)
        if not checked(sign).unless.search(advice.clause) and not checked(sign).topic.search(title)
    ]


def action_problems(passage: Passage, advised: Iterable[tuple[Sign, Advice]]) -> Iterator[str]:
    """The signs for which a passage asks for less than the table, one line each, with the clause."""
    strictest: dict[Sign, int] = {}
    for sign, advice in (advised := list(advised)):
        strictest[sign] = max(advice.action, strictest.get(sign, -1))
    for sign, advice in advised:
        given = strictest[sign] if steps()[advice.action].open else advice.action
        if given < checked(sign).least:
            found, wanted = steps()[given].name, steps()[checked(sign).least].name
            where = f"{passage.doc_id}: {passage.heading or passage.title}"
            yield f"{where}: {sign.names['en']}: {found}, not {wanted}: {advice.clause}"


def advices(passage: Passage) -> Iterator[Advice]:
    """The clauses of a passage that come with an action, once more with a stricter one that follows."""
    language = passage.language
    heading = _action(plain(passage.heading), language) or -1  # one that says no time is a mere title
    lead = Advice("", heading)
    before: list[Advice] = []  # since the last action: what "any of these" may be about
    # the last sentence, or the last list with its lead-in and the rest of the paragraph after it
    last: list[Advice] = []
    listed = False  # whether the last line was a list item
    for line in filter(str.strip, passage.text.splitlines()):
        item = LIST_ITEM.match(line) is not None
        for sentence in sentences(line, language):
            own = _clauses(plain(sentence), language)
            if item:
                own = [_under(lead, advice) for advice in own]
            yield from (advice for advice in own if advice.action >= 0)
            found = max(advice.action for advice in own)
            if found >= 0 and not item:
                bare = found > 0 and not any(_named(advice) for advice in own)
                others = before if points_back(sentence) else last if bare else []
                yield from (replace(advice, action=found) for advice in others if advice.action < found)
                before = []
            before += own
            last = [*last, *own] if item or listed else own
            if not item:
                lead = Advice(own[-1].clause, found if found >= 0 else heading)
        listed = item


def _under(lead: Advice, advice: Advice) -> Advice:
    """A clause of a list item: with the action of the lead-in, unless it says a time itself."""
    action = advice.action if advice.action > 0 else max(advice.action, lead.action)
    return Advice(advice.clause, action, f"{lead.clause} {advice.about}")


def _clauses(sentence: str, language: str) -> list[Advice]:
    """A sentence cut so that each clause has one action: that after its signs, or that before them in an order."""
    if not clause_words("advice").search(sentence):
        return [Advice(sentence, -1)]
    parts = _BETWEEN.split(_REASON.sub("", sentence))
    acts = [_action(part, language) for part in parts[::2]]
    starts = [action.words[language].search(parts[0]) for action in steps()]
    order = any(match and match.start() < len(parts[0]) / 3 for match in starts)
    clauses = [Advice(parts[0], acts[0])]
    for place, act in enumerate(acts[1:], 1):
        last = clauses[-1]
        if last.action < 0 or (act < 0 and (order or max(acts[place:]) < 0)):
            text = f"{last.clause}{parts[2 * place - 1]}{parts[2 * place]}"
            clauses[-1] = replace(last, clause=text, action=max(last.action, act))
        else:
            clauses.append(Advice(parts[2 * place], act, last.clause))
    return clauses


def _action(text: str, language: str) -> int:
    """Place of the most urgent action that a text names, -1 if it names none."""
    found = [place for place, action in enumerate(steps()) if action.words[language].search(text)]
    return max(found, default=-1)


def _named(advice: Advice) -> list[Sign]:
    return [sign for sign in signs() if (words := checked(sign).advised) and _stated(words, advice)]


def _stated(find: Sequence[re.Pattern[str]], advice: Advice) -> bool:
    """Whether all parts are said and none is denied, the last one in the clause itself."""
    *parts, last = find
    context = f"{advice.about} {advice.clause}"
    return _said(last, advice.clause) and all(_said(part, context) for part in parts)


def _said(part: re.Pattern[str], text: str) -> bool:
    return any(not _DENIED.search(text[: match.start()]) for match in part.finditer(text))
