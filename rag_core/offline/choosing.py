"""Choosing and ordering the sentences of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..language.advice import points_back
from ..language.analysis import language_of
from ..language.asking import asks, gives
from ..language.urgency import asks_when_to_act, calls_for_help
from ..urgency.leading import calls_for
from ..urgency.signs import named
from .compatible import drugs_in
from .quotable import Candidate, announces
from .urgent import Urgent

MOST = 5  # sentences of an answer
MOST_LISTED = 8  # the same of one that quotes a whole list
SOURCES = 3  # passages quoted at most
GAP = 1.0  # a sentence of the best passage may score this much less than the best
OPENING_GAP = 0.5  # the same for sentences before the best one in its passage, which would open the answer
OPENS_TOO = 0.2  # a sentence above the best one opens the answer if it scores less by no more than this
GAP_ELSEWHERE = 0.35  # the same for sentences of other passages
HELP_GAP = 0.2  # the same for a call for help to come first when none of its signs is happening


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What there is to choose from.

    Args:
        scores: (parts, sentences) how well each answers each part of the question; -inf where it must not be quoted.
        similar: (sentences, sentences) whether two say the same.
        language: to answer in; an urgent action can be in another.
    """

    question: str
    candidates: tuple[Candidate, ...]
    scores: NDArray[np.float64]
    similar: NDArray[np.bool_]
    language: str


def choose(given: Choice) -> list[int]:
    """The rows to quote, in order; empty when nothing can be quoted.

    For an urgent question, what to do now comes first; then only what concerns its signs, and in an emergency
    nothing about what is mild or can wait. A clinician gets the treatment next, whatever it names. Then the best
    sentences for each part of the question; last, one of the first passage if that is in the other language. Where
    guidance differs, that of the chosen country before the other.
    """
    urgent = Urgent.of(given.question)
    opener = _opener(given, urgent)
    if opener:
        given = replace(given, language=given.candidates[opener[-1]].language)
    allowed = _concerned(given, urgent, opener)
    chosen = [*opener]
    parts = len(given.scores)
    for part, scores in enumerate(given.scores):
        left = -(-(MOST - len(chosen)) // (parts - part))
        chosen += _best(given, np.where(allowed, scores, -np.inf), chosen, left)
    chosen = (
        chosen if opener else [*_help_first(given, chosen), *_first_in_other_language(given, chosen, allowed)]
    )
    return _country_first(given, chosen, allowed, len(opener))


def _first_in_other_language(given: Choice, chosen: Sequence[int], allowed: Sequence[bool]) -> list[int]:
    """The best sentence of the first passage where that is in the other language and nearly as good as those chosen."""
    candidates, totals = given.candidates, given.scores.max(axis=0)
    alone = [
        i
        for i, one in enumerate(candidates)
        if one.n == 1
        and one.language != given.language
        and allowed[i]
        and _with_needed(given, i, chosen) == [i]
    ]
    best = max(alone, key=lambda i: float(totals[i]), default=None)
    if best is None or not chosen or totals[best] < totals[list(chosen)].max() - GAP_ELSEWHERE:
        return []
    return [best]


def _best(given: Choice, scores: NDArray[np.float64], chosen: Sequence[int], most: int) -> list[int]:
    """At most that many further sentences with the best scores: passages by their best, in reading order."""
    candidates = given.candidates
    ranked = [
        i
        for i in np.argsort(-scores, kind="stable").tolist()
        if candidates[i].language == given.language and scores[i] > -np.inf
    ]
    found: list[int] = []
    for i in ranked:
        if len(found) >= most:
            break
        if scores[i] < scores[ranked[0]] - _gap(candidates, i, ranked[0]):
            continue
        quoted = (*chosen, *found)
        sources = {candidates[j].n for j in quoted}
        group = _with_needed(given, i, quoted)
        if group and any(scores[j] == -np.inf and not candidates[j].leads for j in group if j not in quoted):
            lead = _row(given, i, candidates[i].lead)
            group = [i] if lead in quoted else [lead, i] if lead is not None else None
        if not group or len(quoted) + len(group) > (MOST_LISTED if len(group) > 2 else MOST):
            continue
        if candidates[i].n in sources or len(sources) < SOURCES:
            found += group
    order = list(dict.fromkeys(candidates[i].n for i in found))
    return _best_first(given, scores, sorted(found, key=lambda i: (order.index(candidates[i].n), i)))


def _best_first(given: Choice, scores: NDArray[np.float64], found: list[int]) -> list[int]:
    """With the best sentence before those above it in its passage, unless one of them is nearly as good or it adds to one.

    A passage on several things opens with another: "flu is no reason for induction" is no answer about vaccines.
    """
    candidates = given.candidates
    first = [i for i in found if candidates[i].n == candidates[found[0]].n]
    best = max(first, key=lambda i: float(scores[i]), default=None)
    if best is None or candidates[best].adds or candidates[best].leads or candidates[best].lead is not None:
        return found
    place = found.index(best)
    if any(scores[i] >= scores[best] - OPENS_TOO or candidates[i].leads for i in found[:place]):
        return found
    end = place + 1
    while end < len(found) and found[end] == found[end - 1] + 1 and candidates[found[end]].needs_previous:
        end += 1
    return [*found[place:end], *found[:place], *found[end:]]


def _with_needed(given: Choice, i: int, chosen: Sequence[int]) -> list[int] | None:
    """A sentence with the list's introduction or the sentence before that it needs; None if it cannot be quoted."""
    candidates, quotable = given.candidates, given.scores.max(axis=0) > -np.inf
    if i in chosen or any(given.similar[i, j] for j in chosen):
        return None
    items = [j for j in range(len(candidates)) if _row(given, j, candidates[j].above) == i and quotable[j]]
    if items:
        best = max(items, key=lambda j: float(given.scores[:, j].max()))
        whole = _whole_list(given, i, items, chosen)
        if whole and (_about_the_list(given, i, best) or announces(candidates[i].text)):
            return whole
        if candidates[i].leads:
            fits_alone = announces(candidates[i].text) and len(items) < MOST_LISTED
            return None if fits_alone else [i, best]
    elif candidates[i].leads:
        return None
    group = [i]
    lead = _row(given, i, candidates[i].lead)
    if lead in chosen:
        return group
    if lead is not None:
        if not quotable[lead]:
            return None
        items = [
            j for j in range(len(candidates)) if _row(given, j, candidates[j].lead) == lead and quotable[j]
        ]
        if announces(candidates[lead].text) and len(items) < MOST_LISTED:
            return _whole_list(given, lead, items, chosen) or None
        return [lead, i]
    while candidates[group[0]].needs_previous:
        before = group[0] - 1
        if before in chosen:
            break
        if not quotable[before] or len(group) > 1 or candidates[before].leads:
            return None
        group.insert(0, before)
    return group


def _whole_list(given: Choice, above: int, items: Sequence[int], chosen: Sequence[int]) -> list[int]:
    """A list's sentence above, its items and its conclusion that are not chosen yet; empty when they are too many."""
    whole = [j for j in (above, *items, *_conclusion(given, items[-1])) if j not in chosen]
    return whole if len(chosen) + len(whole) <= MOST_LISTED else []


def _about_the_list(given: Choice, above: int, best: int) -> bool:
    """Whether the question is about what a list has in common, rather than about its best item."""
    totals = given.scores.max(axis=0)
    return bool(totals[above] >= totals[best])


def _conclusion(given: Choice, last: int) -> list[int]:
    """The sentence after a list if it speaks of the list's items ("any of these signs")."""
    following = given.candidates[last + 1 : last + 2]
    concludes = [each for each in following if each.n == given.candidates[last].n and points_back(each.text)]
    return [last + 1] if concludes else []


def _row(given: Choice, i: int, place: int | None) -> int | None:
    """The row of the sentence at a position in a candidate's source."""
    return None if place is None else i - (given.candidates[i].place - place)


def _gap(candidates: Sequence[Candidate], i: int, best: int) -> float:
    """How much less than the best sentence a sentence may score."""
    if candidates[i].n != candidates[best].n:
        return GAP_ELSEWHERE
    return OPENING_GAP if i < best else GAP


def _help_first(given: Choice, chosen: list[int]) -> list[int]:
    """With a call for help first, if the question asks when to act on a sign that it names, or takes it for ordinary.

    To "may I massage my sore calf?", the call for help comes before what eases a cramp, even if that scores higher. To
    "is it normal?", it comes first even if no sentence with it was chosen. What its passage says before it is left out:
    that is about the ordinary case.
    """
    wanted = asks(given.question)
    doubts = bool(wanted & {"reassurance", "permission"})
    if not doubts and not asks_when_to_act(given.question):
        return chosen
    asked, totals = named(given.question), given.scores.max(axis=0)
    ranked = np.argsort(-totals, kind="stable").tolist()
    spoken = language_of(given.question)
    order = [*chosen, *ranked] if "reassurance" in wanted else chosen
    for i in sorted(order, key=lambda i: given.candidates[i].language != spoken):
        candidate = given.candidates[i]
        alone = candidate.lead is None and not candidate.needs_previous and not candidate.leads
        near = totals[i] >= totals.max() - (GAP if doubts else HELP_GAP)
        read = candidate.language in (given.language, spoken)
        if alone and near and read and calls_for_help(candidate.text) and asked & named(candidate.text):
            ordinary = {
                j
                for j in chosen
                if given.candidates[j].n == candidate.n
                and j < i
                and not asked & named(given.candidates[j].text)
            }
            rest = [j for j in chosen if j != i and not (doubts and j in ordinary)]
            return [i, *rest][: max(MOST, len(chosen))]
    return chosen


def _country_first(given: Choice, chosen: list[int], allowed: Sequence[bool], after: int) -> list[int]:
    """With the chosen country's guidance before that of the other side; never before a call for help.

    A sentence of the answer moves there, from the same passage or from one in conflict with it. If none can, the best
    of the passage's others comes before the first sentence that names the other side.
    """
    candidates = given.candidates
    places = [at for at, i in enumerate(chosen) if at >= after and _gives_other(candidates[i])]
    if not places or any(candidates[i].side > 0 for i in chosen[: places[0]]):
        return chosen
    place = places[0]
    lead = _row(given, chosen[place], candidates[chosen[place]].lead)
    ours = [i for i in chosen[place:] if _can_move(given, i, chosen[place], lead)][:1]
    named = next((at for at in places if candidates[chosen[at]].side == -1), None)
    if not ours and named is not None and not any(candidates[i].side > 0 for i in chosen):
        place, lead = named, _row(given, chosen[named], candidates[chosen[named]].lead)
        ours = _best_of_ours(given, chosen, chosen[place], allowed)
    if not ours:
        return chosen
    while place > after and _depends(given, chosen, place, lead, ours):
        place -= 1
    followers = [j for j in chosen if j == ours[-1] + 1 and candidates[j].needs_previous]
    group = [*ours, *followers]
    before, rest = ([i for i in part if i not in group] for part in (chosen[:place], chosen[place:]))
    return [*before, *group, *rest]


def _gives_other(candidate: Candidate) -> bool:
    return candidate.side < 0 and not candidate.leads and not calls_for_help(candidate.text)


def _can_move(given: Choice, i: int, other: int, lead: int | None) -> bool:
    """Whether a sentence of the country's side answers the other one, and needs no sentence but the lead-in of its list."""
    candidate, against = given.candidates[i], given.candidates[other]
    about = candidate.n == against.n or against.n in candidate.rivals
    alone = not candidate.needs_previous and not candidate.leads
    return candidate.side > 0 and about and alone and _row(given, i, candidate.lead) in (None, lead)


def _depends(given: Choice, chosen: Sequence[int], place: int, lead: int | None, ours: Sequence[int]) -> bool:
    """Whether the sentence at a place cannot be parted from the one before it by the country's."""
    candidate = given.candidates[chosen[place]]
    in_list = lead is not None and _row(given, ours[0], given.candidates[ours[0]].lead) != lead
    return candidate.needs_previous or (in_list and lead in chosen[:place])


def _best_of_ours(given: Choice, chosen: Sequence[int], other: int, allowed: Sequence[bool]) -> list[int]:
    """The best sentence of the country's side that is not in the answer, from the other's passage; may be empty."""
    candidates, totals = given.candidates, np.where(allowed, given.scores.max(axis=0), -np.inf)
    found = [
        i
        for i, one in enumerate(candidates)
        if one.n == candidates[other].n
        and _can_move(given, i, other, None)
        and totals[i] >= totals.max() - GAP
        and not any(given.similar[i, j] for j in chosen)
    ]
    return [max(found, key=lambda i: float(totals[i]))] if found and len(chosen) < MOST_LISTED else []


def _opener(given: Choice, urgent: Urgent) -> list[int]:
    """What to do now about the question's signs, with the sentence that it needs; empty if no source says it.

    Not of somebody who takes a medicine that the question does not name, if possible, and in the question's language; then
    by how many of the signs it names, and by its score.
    """
    asked = drugs_in(given.question, urgent.triage.language, None)
    totals = given.scores.max(axis=0)
    best = given.candidates[int(totals.argmax())].n
    found: list[tuple[bool, bool, bool, float, float, list[int]]] = []
    for i, candidate in enumerate(given.candidates):
        if candidate.leads:  # it comes with its items
            continue
        if urgent.triage.clinician and candidate.language != given.language:  # the treatment matters more
            continue
        group = _with_needed(given, i, ()) if totals[i] > -np.inf else None
        if group and len(group) > 2:  # a whole list is no first sentence
            lead = _row(given, i, candidate.lead)
            group = [i] if lead is None else [lead, i]
        before = " ".join(
            each.text for each in given.candidates if each.n == candidate.n and each.place < candidate.place
        )
        if not group or not (direct := urgent.directness([given.candidates[j] for j in group], before)):
            continue
        leads = calls_for(given.candidates[group[0]].text, urgent.triage)
        hers = urgent.triage.clinician or drugs_in(candidate.text, candidate.language, None) <= asked
        spoken = candidate.language == urgent.triage.language
        found.append((leads, hers, spoken, direct + (candidate.n == best), float(totals[i]), group))
    return max(found)[-1] if found else []


def _concerned(given: Choice, urgent: Urgent, opener: Sequence[int]) -> list[bool]:
    """Which sentences may follow the urgent action: those that name a sign, and those after it or under such a heading.

    What its passage says before it is about the ordinary: massage for a cramp, ahead of the leg that may have a clot. So in
    an emergency a sentence elsewhere must also say what to do, itself or in its list's introduction, and not to those who
    take another medicine: "the bleeding is red for some days" names the sign and reassures. Nothing is said of another
    patient or time then. About a mind in distress or violence, only those that name a sign. A clinician gets everything,
    but where no source says what to do now, only passages that name a sign. Without a known sign, all.
    """
    if not urgent.triage.signs or (urgent.triage.clinician and opener):
        return [True] * len(given.candidates)
    if urgent.triage.clinician:
        about = {
            each.n
            for each in given.candidates
            if urgent.names_sign(f"{each.context} {each.heading} {each.text}")
        }
        return [each.n in about for each in given.candidates]
    places = {given.candidates[i].n: given.candidates[i].place for i in opener}
    asked = drugs_in(given.question, urgent.triage.language, None)

    def beside(each: Candidate) -> bool:
        return (
            each.place > places.get(each.n, each.place)
            if places
            else urgent.names_sign(f"{each.context} {each.heading}")
        )

    def acts(i: int, each: Candidate) -> bool:
        lead = _row(given, i, each.lead)
        said = each.text if lead is None else f"{given.candidates[lead].text} {each.text}"
        return "action" in gives(said) and drugs_in(said, each.language, None) <= asked

    emergency = urgent.triage.level == "emergency"
    return [
        not (urgent.is_too_mild(each.text) or (emergency and urgent.is_of_another(each)))
        and (
            (not urgent.is_delicate and beside(each))
            or (
                urgent.names_sign(each.text)
                and (not emergency or not places or beside(each) or acts(i, each))
            )
        )
        for i, each in enumerate(given.candidates)
    ]
