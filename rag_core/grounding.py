"""What ties an answer to its evidence: citations that resolve, quotes, and the evidence hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from .text import sentences, tokens
from .types import Citation, Hit

MARKER = re.compile(r" ?\[(\d+(?:\s*[,;]\s*\d+)*)\]")


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
    """Check every [n] of an answer against the contexts it was given.

    Markers are rewritten one by one ("[1, 2]" becomes "[1][2]"); a number without a context is taken
    out. The quote of a citation is the passage's sentence that shares most terms with the answer's
    sentence before the marker.

    Returns:
        The text with valid markers only; its citations in the order of the text, one for each pair
        of context and quote; and how many numbers were taken out.
    """
    invalid = 0
    cited: dict[tuple[int, str], Citation] = {}
    parts: list[str] = []
    end = 0
    for match in MARKER.finditer(text):
        parts.append(text[end : match.start()])
        claim = _last_sentence("".join(parts))
        valid = []
        for n in (int(number) for number in re.split(r"\s*[,;]\s*", match[1])):
            if 1 <= n <= len(hits):
                valid.append(n)
                quote = best_quote(claim, hits[n - 1])
                cited[n, quote] = Citation(n, hits[n - 1].id, quote)
            else:
                invalid += 1
        space = " " if valid and match[0].startswith(" ") else ""
        parts.append(space + "".join(f"[{n}]" for n in valid))
        end = match.end()
    parts.append(text[end:])
    return "".join(parts).strip(), tuple(cited.values()), invalid


def best_quote(claim: str, hit: Hit) -> str:
    """The sentence of a passage that shares the largest part of the claim's terms."""
    language = hit.passage.language
    wanted = set(tokens(claim, language))
    candidates = sentences(hit.passage.text, language)
    return max(candidates, key=lambda sentence: len(wanted & set(tokens(sentence, language))), default="")


def _last_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s+", MARKER.sub("", text).strip())[-1]
