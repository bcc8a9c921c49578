"""Whether each built-in passage can be read alone: a whole section, with the signs and the action of its advice."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from rag_core.documents.documents import Document
from rag_core.language.analysis import LIST_ITEM, sentences, tokens
from rag_core.safety.urgency.advice import calls_for_help, points_back
from rag_core.safety.urgency.learned import plain
from rag_core.safety.urgency.signs import named, names_sign
from rag_core.values.types import Passage

from .checked import clause_words

_SECTIONS = re.compile(r"^#{1,6}[ \t]+.*$", re.MULTILINE)
_ACTION_ONLY = {  # words of an instruction that say nothing of what it is for
    "en": "go come call ring phone get seek see contact take tell ask need needs must should local emergency number "
    "emergencies hospital maternity unit ward midwife doctor team clinic department ambulance service help care urgent "
    "urgently at once immediately now straight away right delay wait waiting same day night appointment without day or "
    "even always also still then phone before driving yourself do not stay",
    "es": "llame llamar llama acuda acudir acude vaya ir va busque pida pedir consulte consultar avise avisar hay que debe "
    "deben necesita local número emergencias emergencia urgencias urgencia hospital maternidad matrona partera médico "
    "equipo centro salud servicio ambulancia ayuda atención inmediata inmediato inmediatamente enseguida ya demora "
    "esperar sin cita mismo día noche también siempre entonces de día o",
}
_SIGNS_LISTED = re.compile(
    r"(?<!\w)(?:signs?|symptoms?|warning\w*|danger\w*|signos?|s[ií]ntomas?|señales|alarmas?|avisos?|peligro)(?!\w)",
    re.IGNORECASE,
)


def passage_problems(document: Document, passages: Iterable[Passage]) -> Iterator[str]:
    """What is wrong with how a document is cut, one line each: the document, the heading and the sentence."""
    sections = {" ".join(text.split()) for text in _SECTIONS.split(document.text)}
    for passage in passages:
        where = f"{document.id}: {passage.heading or passage.title}"
        if " ".join(passage.text.split()) not in sections:
            said = sentences(passage.text, passage.language)
            urgent = next(filter(calls_for_help, said), "")
            what = "an urgent instruction apart from its section" if urgent else "not one whole section"
            yield f"{where}: {what}: {urgent or said[0]}"
        for problem in advice_problems(passage.text, passage.full_title, passage.language):
            yield f"{where}: {problem}"


def advice_problems(text: str, heading: str, language: str) -> Iterator[str]:
    """What a reader of this passage alone would miss, one line each, with the sentence.

    Args:
        heading: title and headings above the text.
    """
    said = sentences(text, language)
    if not said:
        return
    lines = [line for line in text.splitlines() if line.strip()]
    items = [bool(LIST_ITEM.match(line)) for line in lines]
    if items[0]:
        yield f"a list without the sentence that leads in: {said[0]}"
    if said[-1].endswith(":"):
        yield f"a lead-in without its list: {said[-1]}"
    leads = {
        sentences(line, language)[-1]
        for (line, first), (_, second) in pairwise(zip(lines, items, strict=True))
        if second > first
    }
    for place, sentence in enumerate(said):
        if sentence not in leads and calls_for_help(sentence) and _lacks_signs(said, place, heading, language):
            yield f"an urgent instruction without its signs: {sentence}"
    listed = [line for line, item in zip(lines, items, strict=True) if item and names_sign(line)]
    told = clause_words("advice").search(plain(text))
    if len(listed) > 1 and not told and any(map(_SIGNS_LISTED.search, [*leads, heading])):
        yield f"a list of signs without what to do: {listed[0].strip()}"


def _lacks_signs(said: Sequence[str], place: int, heading: str, language: str) -> bool:
    """Whether neither this sentence nor one before it names a sign or a subject."""
    before = any(map(named, said[:place]))
    if before or points_back(said[place]):
        return not before
    generic = {*tokens(_ACTION_ONLY.get(language, ""), language)}
    own = [term for term in tokens(said[place], language) if term not in generic]
    return not own and not named(heading)
