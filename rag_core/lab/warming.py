"""Loading what the first question of a lab would otherwise wait for."""

from contextlib import suppress

from ..models.tokenizer import FALLBACK, count_tokens
from ..values.errors import RagError
from ..values.model_choice import OFFLINE_MODEL
from ..values.translation import language_name
from .lab import Lab

# misspelt: for the dictionaries; with a number: for the patterns of addresses
QUESTIONS = {"en": "When is anti-D givven?", "es": "¿Cuándo se pone la antidé en la semana 28?"}


def warm_up(lab: Lab, language: str) -> None:
    """Ask a question in "en" or "es" and forget the answer; the offline engine answers, at no cost."""
    language_name(language, language)  # a remark may name it
    count_tokens("", FALLBACK)
    strategy = "hybrid_rrf" if lab.engines.embedder.local else "bm25"
    with suppress(RagError):  # a user's question will say what is wrong
        lab.run(QUESTIONS[language], strategy, model=OFFLINE_MODEL)
