"""What ties an answer to its evidence: citations that resolve, quotes, and the evidence hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..language.analysis import language_of, sentences, tokens
from ..values.types import Citation, Hit

MARKER = re.compile(r" ?\[(\d+)\]")  # as it stands in an answer that was resolved
OVERLAP = 1 / 3  # see `resolve_citations`
FEWEST = 2  # content words of a claim; fewer decide nothing
LONGEST = 6  # digits of a number that could name a context

_NAME = r"(?:sources?|refs?\.?|references?|passages?|documents?|fuentes?|referencias?|pasajes?|documentos?)"
_SPAN = r"#?\d+(?:\s*[-\u2010-\u2015]\s*\d+)?"
_AND = r"\s*(?:[,;&]\s*(?:and\s+|y\s+|e\s+)?|\s(?:and|y|e)\s+)"
_SPANS = rf"{_SPAN}(?:{_AND}(?:{_NAME}\s*)?{_SPAN})*"
_SPELT = re.compile(  # the markers that models write
    rf" ?(?:\[\s*(?:\^|{_NAME}\s*)?({_SPANS})\s*\]"  # [1] [1, 2] [1-3] [1 and 2] [^1] [Source 1]
    rf"|\(\s*{_NAME}\s*({_SPANS})\s*\)"  # (Source 2), but not (2)
    rf"|【\s*(?:{_NAME}\s*)?({_SPANS})\s*(?:†[^【】]*)?】)",  # 【1】 【1†source】
    re.IGNORECASE,
)
_SPAN_ENDS = re.compile(r"(\d+)(?:\s*[-\u2010-\u2015]\s*(\d+))?")


def evidence_hash(contexts: Iterable[tuple[str, str]]) -> str:
    """SHA-256 over (title, text) of the contexts in their order.

    Computed from the rendered prompt when it is sent and from the hits when they are shown: equal
    hashes mean that the evidence on screen is the evidence the model saw.
    """
    digest = hashlib.sha256()
    for title, text in contexts:
        digest.update(f"{len(title)}:{title}{len(text)}:{text}".encode())
    return digest.hexdigest()


def shown_evidence(hits: Iterable[Hit]) -> str:
    """The evidence hash of hits as a screen shows them."""
    return evidence_hash((hit.passage.full_title, hit.passage.text) for hit in hits)


def resolve_citations(text: str, hits: Sequence[Hit]) -> tuple[str, tuple[Citation, ...], int]:
    """Check every marker of an answer against the contexts it was given.

    Markers are rewritten one by one: "[1, 2]", "[1-2]", "[Source 1]", "(Fuente 2)" and the like become
    "[1][2]", "[1]" and "[2]". A number without a context is taken out, "[2019]" included; other brackets
    ("[sic]") stay.

    The quote of a citation is the passage's sentence that shares most terms with its claim, the answer's
    sentence before the marker. It supports the claim when it holds a third of the claim's content words, its
    passage's title counted in. The threshold tells what is about something else from what is said otherwise,
    and no more: of the built-in documents' sentences 4 % reach it in a passage of a document drawn at random,
    and all do that merge three sentences of the passage they cite. A claim in another language
    than the passage, or of fewer than two content words, cannot be checked by words.

    Returns:
        The text with valid markers only, which resolves to itself; its citations in the order of the text, one
        for each context, quote and verdict; and how many numbers were taken out.
    """
    invalid = 0
    while True:  # what is left around a marker that was taken out may be one itself: "[[9]1]"
        rewritten, more = _rewritten(text, len(hits))
        invalid += more
        if rewritten == text:
            break
        text = rewritten
    spoken = language_of(MARKER.sub("", text))
    found: dict[tuple[int, str, bool | None], Citation] = {}
    for place, match in enumerate(MARKER.finditer(text)):
        n, claim = int(match[1]), _last_sentence(text[: match.start()], spoken)
        one = _citation(n, claim, hits[n - 1], spoken)
        key = (n, one.quote, one.supported)
        found[key] = replace(one, markers=(*found.get(key, one).markers, place))
    return text, tuple(found.values()), invalid


def _rewritten(text: str, contexts: int) -> tuple[str, int]:
    """The text with each marker as [n], without those that name no context, and how many these were."""
    invalid = 0

    def canonical(match: re.Match[str]) -> str:
        nonlocal invalid
        valid: list[int] = []
        for first, last in _SPAN_ENDS.findall(match[1] or match[2] or match[3]):
            ends = [_number(first), _number(last or first)]
            invalid += sum(not 1 <= n <= contexts for n in (ends if last else ends[:1]))
            if ends[0] <= ends[1]:
                valid += range(max(ends[0], 1), min(ends[1], contexts) + 1)
            else:
                valid += [n for n in ends if 1 <= n <= contexts]
        space = " " if valid and match[0].startswith(" ") else ""
        return space + "".join(f"[{n}]" for n in dict.fromkeys(valid))

    return _SPELT.sub(canonical, text).strip(), invalid


def _number(digits: str) -> int:
    """A number that is too long to name a context is as good as any other that is too high."""
    return int(digits) if len(digits) <= LONGEST else 10**LONGEST


def best_quote(claim: str, hit: Hit) -> str:
    """The sentence of a passage that shares the largest part of the claim's terms."""
    language = hit.passage.language
    wanted = set(tokens(claim, language))
    candidates = sentences(hit.passage.text, language)
    return max(candidates, key=lambda sentence: len(wanted & set(tokens(sentence, language))), default="")


def _citation(n: int, claim: str, hit: Hit, spoken: str) -> Citation:
    passage, quote = hit.passage, best_quote(claim, hit)
    wanted = set(tokens(claim, passage.language))
    held = set(tokens(f"{passage.full_title}\n{quote}", passage.language))
    supported: bool | None = None
    if len(wanted) >= FEWEST and quote:
        if len(wanted & held) >= OVERLAP * len(wanted):
            supported = True
        elif {spoken, language_of(claim)} == {passage.language}:
            supported = False
    return Citation(n, hit.id, quote, supported)


def _last_sentence(text: str, language: str) -> str:
    return next(reversed(sentences(MARKER.sub("", text), language)), "")
