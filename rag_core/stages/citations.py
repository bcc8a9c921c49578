"""Links from an answer to its evidence: resolved citations, quotes and the evidence hash."""

import functools
import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..language.analysis import language_of, sentence_spans, sentences, tokens
from ..values.answers import BOLD, Citation, Claim, without_bold
from ..values.markers import SPELT, without_markers
from ..values.types import Hit
from ..values.visible import without_invisible

MARKER = re.compile(r" ?\[(\d+)\]")  # in a resolved answer
OVERLAP = 1 / 3  # see `resolve_citations`
FEWEST = 2  # content words that a claim needs to be checked
LONGEST = 6  # digits; longer numbers name no context
LONGEST_CLAIM = 1000  # characters; of a longer sentence, the end

_LINE = re.compile(r"[^\n]+")
_MARKERS_AT_END = re.compile(r"(?:[ \t]*\[\d+\])+[.!?]?(?=[ \t]+[^\W\d_a-zß-ÿ]|[ \t]+[¿¡])")
_BULLET = re.compile(r"[ \t]*(?:[-*•#>]+|\d{1,2}[.)])[ \t]+")
_SPAN_ENDS = re.compile(r"(\d+)(?:\s*[-\u2010-\u2015]\s*(\d+))?")


def evidence_hash(contexts: Iterable[tuple[str, str]]) -> str:
    """SHA-256 of the contexts' (title, text) pairs, in order, without what a prompt leaves out or writes otherwise.

    Of the prompt as sent and of the hits as shown: if equal, the screen shows the evidence the model saw.
    """
    digest = hashlib.sha256()
    for title, text in contexts:
        title = without_markers(" ".join(without_invisible(title).split()))
        text = without_markers(without_invisible(text))
        digest.update(f"{len(title)}:{title}{len(text)}:{text}".encode())
    return digest.hexdigest()


def shown_evidence(hits: Iterable[Hit]) -> str:
    """The evidence hash of hits as shown on screen."""
    return evidence_hash((hit.passage.full_title, hit.passage.text) for hit in hits)


def resolve_citations(text: str, hits: Sequence[Hit]) -> tuple[str, tuple[Citation, ...], int]:
    """Check every citation marker of an answer against the contexts in its prompt.

    Markers are normalised: "[1, 2]", "[1-2]", "[Source 1]", "(Fuente 2)" and the like become "[1][2]", "[1]"
    and "[2]". Numbers without a context are removed, including "[2019]"; other brackets ("[sic]") stay.

    A citation's claim is the answer's sentence before the marker, or the one in bold; its quote is the passage's
    sentence that shares the most terms with the claim. The claim is supported when a third of its content words occur
    in the quote or the passage's title. The threshold only separates a different topic from a different wording: 4 % of
    the built-in documents' sentences reach it in a passage of a randomly drawn document, and so does every merger of
    three sentences of the cited passage. A claim in another language than the passage, or with fewer than two content
    words, cannot be checked this way.

    Returns the text with valid markers only (resolving it again changes nothing); its citations in text order, one for
    each context, quote and verdict; and the number of invalid numbers removed.
    """
    invalid = 0
    while True:  # removing a marker can leave another: "[[9]1]"
        rewritten, more = _rewritten(text, len(hits))
        invalid += more
        if rewritten == text:
            break
        text = rewritten
    spoken = language_of(unmarked(text))
    found: dict[tuple[int, str, bool | None], Citation] = {}
    for place, (n, claim) in enumerate(cited_claims(text, spoken)):
        one = _citation(n, claim, hits[n - 1], spoken)
        key = (n, one.quote, one.supported)
        found[key] = replace(one, markers=(*found.get(key, one).markers, place))
    return text, tuple(found.values()), invalid


def unmarked(text: str) -> str:
    """A text without its markers and the signs of bold print."""
    return without_bold(MARKER.sub("", text))


def cited_claims(text: str, language: str) -> Iterator[tuple[int, str]]:
    """Each marker's number and its claim: the sentence in bold since the last marker, else the one before it, unmarked."""
    claim, end = "", 0
    for match in MARKER.finditer(text):
        if between := text[end : match.start()]:  # only the sentence before it can go on here
            bold = next((one for one in BOLD.findall(between) if one.endswith((".", "!", "?", "…"))), "")
            last = sentences(unmarked(claim + between)[-LONGEST_CLAIM:], language)
            claim = bold or next(reversed(last), "")
        end = match.end()
        yield int(match[1]), claim


def claims(text: str) -> list[Claim]:
    """The sentences of an answer with resolved citations, in order; a marker belongs to the sentence before it."""
    language = language_of(unmarked(text))
    found: list[Claim] = []
    for line in _LINE.finditer(text):
        masked = MARKER.sub(lambda marker: " " * len(marker[0]), line[0])
        masked = BOLD.sub(r"  \1  ", masked)
        ends = {match.end() for match in _MARKERS_AT_END.finditer(line[0])}
        starts = {start for start, _ in sentence_spans(masked, language)} | ends
        starts = {start - 2 if line[0][:start].endswith("**") else start for start in starts}
        bullet = _BULLET.match(line[0])
        first = bullet.end() if bullet else 0
        cuts = sorted({first, len(line[0]), *(start for start in starts if start > first)})
        for start, end in itertools.pairwise(cuts):
            piece = line[0][start:end]
            words = " ".join(unmarked(piece).split())
            if re.search(r"\w", words):
                begin = line.start() + start + len(piece) - len(piece.lstrip())
                found.append(Claim(begin, begin + len(piece.strip()), words))
    return found


def _rewritten(text: str, contexts: int) -> tuple[str, int]:
    """The text with markers as [n], without invalid ones, and the number of invalid ones."""
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

    return SPELT.sub(canonical, text).strip(), invalid


def _number(digits: str) -> int:
    """The number; very long ones become a number too high for any context."""
    return int(digits) if len(digits) <= LONGEST else 10**LONGEST


def best_quote(claim: str, hit: Hit) -> str:
    """The sentence of a passage that shares the most terms with the claim."""
    language = hit.passage.language
    terms = set(tokens(claim, language))
    candidates = _sentence_terms(hit.passage.text, language)
    return max(candidates, key=lambda candidate: len(terms & candidate[1]), default=("", frozenset()))[0]


@functools.lru_cache(maxsize=256)
def _sentence_terms(text: str, language: str) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((sentence, frozenset(tokens(sentence, language))) for sentence in sentences(text, language))


def _citation(n: int, claim: str, hit: Hit, spoken: str) -> Citation:
    passage, quote = hit.passage, best_quote(claim, hit)
    claimed = set(tokens(claim, passage.language))
    evidence = set(tokens(f"{passage.full_title}\n{quote}", passage.language))
    supported: bool | None = None
    if len(claimed) >= FEWEST and quote:
        if len(claimed & evidence) >= OVERLAP * len(claimed):
            supported = True
        elif {spoken, language_of(claim)} == {passage.language}:
            supported = False
    return Citation(n, hit.id, quote, supported)
