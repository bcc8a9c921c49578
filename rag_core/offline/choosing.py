"""Choosing and ordering the sentences of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..language.advice import points_back
from ..language.urgency import asks_when_to_act, calls_for_help, is_lesser, signs_in, urgent_signs
from .quotable import Candidate

MOST = 5  # sentences of an answer
MOST_LISTED = 8  # the same of one that quotes a whole list
SOURCES = 3  # passages quoted at most
GAP = 1.0  # a sentence of the best passage may score this much less than the best
OPENING_GAP = 0.5  # the same for sentences before the best one in its passage, which would open the answer
GAP_ELSEWHERE = 0.4  # the same for sentences of other passages
URGENT_GAP = 1.5  # the same for the urgent action for a sign in the question
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

    For a sign of an emergency in the question, the urgent action comes first, and nothing about what is mild
    or can wait. Then the best sentences for each part of the question.
    """
    signs = urgent_signs(given.question)
    opener = _urgent(given, signs) if signs else []
    chosen = [*opener]
    parts = len(given.scores)
    for part, scores in enumerate(given.scores):
        left = -(-(MOST - len(chosen)) // (parts - part))
        chosen += _best(given, scores, chosen, left, opener)
    return chosen if opener else _help_first(given, chosen)


def _best(
    given: Choice, scores: NDArray[np.float64], chosen: Sequence[int], most: int, opened: Sequence[int]
) -> list[int]:
    """At most that many further sentences with the best scores: passages by their best, in reading order.

    Args:
        opened: the urgent action that opens the answer; then only what concerns the emergency follows.
    """
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
        if not group or len(quoted) + len(group) > (MOST_LISTED if len(group) > 2 else MOST):
            continue
        if opened and (any(is_lesser(candidates[j].text) for j in group) or not _concerns(given, i, opened)):
            continue
        if candidates[i].n in sources or len(sources) < SOURCES:
            found += group
    order = list(dict.fromkeys(candidates[i].n for i in found))
    return sorted(found, key=lambda i: (order.index(candidates[i].n), i))


def _with_needed(given: Choice, i: int, chosen: Sequence[int]) -> list[int] | None:
    """A sentence with the list's introduction or the sentence before that it needs; None if it cannot be quoted."""
    candidates, quotable = given.candidates, given.scores.max(axis=0) > -np.inf
    if i in chosen or any(given.similar[i, j] for j in chosen):
        return None
    items = [j for j in range(len(candidates)) if _row(given, j, candidates[j].above) == i and quotable[j]]
    if items:
        best = max(items, key=lambda j: float(given.scores[:, j].max()))
        whole = [i, *items, *_conclusion(given, items[-1])]
        if _about_the_list(given, i, best) and len(chosen) + len(whole) <= MOST_LISTED:
            return whole
        if candidates[i].leads:
            return [i, best]
    elif candidates[i].leads:
        return None
    group = [i]
    lead = _row(given, i, candidates[i].lead)
    if lead in chosen:
        return group
    if lead is not None:
        return [lead, i] if quotable[lead] else None
    while candidates[group[0]].needs_previous:
        before = group[0] - 1
        if before in chosen:
            break
        if not quotable[before] or len(group) > 1 or candidates[before].leads:
            return None
        group.insert(0, before)
    return group


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


def _concerns(given: Choice, i: int, opened: Sequence[int]) -> bool:
    """Whether a sentence is in the passage of the urgent action or names a sign in the question."""
    candidate = given.candidates[i]
    return candidate.n == given.candidates[opened[-1]].n or bool(
        urgent_signs(given.question) & signs_in(candidate.text)
    )


def _help_first(given: Choice, chosen: list[int]) -> list[int]:
    """With a call for help first, if the question asks when to act on a sign that it names."""
    signs = signs_in(given.question) if asks_when_to_act(given.question) else frozenset()
    totals = given.scores.max(axis=0)
    for i in chosen:
        candidate = given.candidates[i]
        alone = candidate.lead is None and not candidate.needs_previous
        near = totals[i] >= totals.max() - HELP_GAP
        if alone and near and calls_for_help(candidate.text) and signs & signs_in(candidate.text):
            return [i, *(j for j in chosen if j != i)]
    return chosen


def _urgent(given: Choice, signs: frozenset[str]) -> list[int]:
    """The best call for help in the best passage or for a sign in the question, with what it needs."""
    totals = given.scores.max(axis=0)
    best = given.candidates[int(totals.argmax())].n
    found: list[tuple[float, float, list[int]]] = []
    for i, candidate in enumerate(given.candidates):
        group = _with_needed(given, i, ()) if totals[i] >= totals.max() - URGENT_GAP else None
        if group is None or is_lesser(candidate.text):
            continue
        said = " ".join(given.candidates[j].text for j in group)
        named = bool(signs & signs_in(said)) + 0.5 * bool(
            signs & signs_in(f"{candidate.context} {candidate.heading}")
        )
        if calls_for_help(said) and (named or candidate.n == best):
            fit = named + (candidate.n == best) + 0.5 * (candidate.language == given.language)
            found.append((fit, float(totals[i]), group))
    return max(found)[2] if found else []
