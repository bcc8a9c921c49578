"""One question about anti-D, and passages that answer it or not."""

from rag_core.values.types import Hit, Passage

QUESTION = "When is anti-D immunoglobulin given to a rhesus negative woman?"
ANTI_D = "Anti-D immunoglobulin is offered to every rhesus negative woman at 28 weeks and after the birth."
TEXTS = (
    ANTI_D,
    "Breast milk can be kept in the fridge for some days, at the back where it is coldest.",
    "A rhesus positive woman does not need the injection.",
    "The hospital car park is open day and night.",
)


def hit(text: str, title: str = "", language: str = "en") -> Hit:
    return Hit(Passage(f"id-{title}-{text[:40]}", "doc", title, text, language=language), 0.0, "rrf")


HITS = tuple(hit(text) for text in TEXTS)
