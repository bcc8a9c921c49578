"""Questions: checks on them, their form and parts, and notices about them."""

import re
import unicodedata
from collections.abc import Sequence

from ..values.errors import InputError
from ..values.letters import plain_letters
from ..values.message import Message
from ..values.profile import language_list
from ..values.translation import language_name, translate
from ..values.visible import without_invisible
from .analysis import confident_language
from .words import read_words

_MATERNITY = re.compile(
    r"(?<!\w)(?:pregnan\w*|\d+ ?(?:w(?:ee)?ks|semanas)|weeks (?:pregnant|gone)|birth\w*|born|bab(?:y|ies|by)\w*|newborns?|"
    r"bump|breast\w*|lab(?:ou)?r|matern\w*|midwi\w*|trimester|due date|ca?esarean|c-section|post-?partum|postnatal|"
    r"antenatal|prenatal|obstetric\w*|fo?etus|womb|waters|contraction\w*|expecting|little one|napp(?:y|ies)|placent\w*|uter\w*|"
    r"e[mn]bara\w*|preñ\w*|parto\w*|partera|beb[eé]s?|reci[eé]n nacid\w*|naci(?:ó|do|miento)|guagua|nene\w?|criatura|"
    r"lacta\w*|pecho|matrona|ces[aá]rea\w*|feto|fetal|posparto|puerper\w*|gesta\w*|di a luz|dar a luz|trimestre|"
    r"salido de cuentas|[uú]ter\w*|ombligo|barriga|panza|vientre)(?!\w)",
    re.IGNORECASE,
)
_NEAR = re.compile(  # subjects that may take it in
    r"perinat|neonat|gyna?ec|ginec|wom[ae]n|mujer|health|salud|hospital|cl[ií]nic|m[eé]dic|nurs|enferm",
    re.IGNORECASE,
)


def is_maternity(subject: str) -> bool:
    """Whether documents on a subject are, or may be, about mothers and babies.

    A subject that is not named may be: a sign that is missed does more harm than one that is out of place.

    >>> is_maternity("perinatal care"), is_maternity("our hospital"), is_maternity(""), is_maternity("bicycles")
    (True, True, True, False)
    """
    return not subject or _MATERNITY.search(subject) is not None or _NEAR.search(subject) is not None


MAX_QUESTION = 2000  # characters; anything longer is a document, not a question
MIN_PART = 3  # words of a question in a question

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WORD = re.compile(r"[\w'’+-]+")
_SENTENCE = frozenset(read_words()["questions"]["sentence"].split())
_ASKING = (  # the words that begin a question
    r"(?:what|which|when|how|why|who|where|can|may|do|does|is|are|should|will|must|qu[eé]|cu[aá]nd\w+|cu[aá]nt\w+|c[oó]mo|cu[aá]l(?:es)?|"
    r"d[oó]nde|puedo|sirve|debo|hay que)"
)
_JOINT = re.compile(
    rf"(?:\?\s+|;\s*|,\s*|\s+)(?:and |y |e )(?=¿?(?:de )?{_ASKING}\b)|[?;,]\s+(?=¿?{_ASKING}\b)",
    re.IGNORECASE,
)
_ASKED = re.compile(rf"(?<!\w){_ASKING}\b", re.IGNORECASE)


def check_question(question: str) -> str:
    """The question on one line in plain letters; InputError if empty, too long, invalid or without letter or digit."""
    text = " ".join(plain_letters(without_invisible(_CONTROL.sub(" ", question))).split())
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(Message("The question is not valid text (UTF-8)."), Message("Type it again.")) from error
    if not text:
        raise InputError(Message("The question is empty."), Message("Type a question."))
    if len(text) > MAX_QUESTION:
        raise InputError(
            Message(
                "The question has {length:,} characters; the limit is {limit:,}.",
                length=len(text),
                limit=MAX_QUESTION,
            ),
            Message("Shorten it."),
        )
    if not any(unicodedata.category(char)[0] in "LN" for char in text):
        raise InputError(Message("The question has no letter or digit."), Message("Ask it in words."))
    return text


def form_of(question: str) -> tuple[str, str]:
    """Whether a question is a "sentence" or "keywords", and why, in one clause.

    Keywords have no question mark, question word, pronoun or common verb form; one or two words are always
    keywords (RAG-MSR README, Reformulation Improvement: "too short or keyword-based").
    """
    words = [word.casefold() for word in _WORD.findall(question)]
    if len(words) <= 2:
        return "keywords", f"keywords: {len(words)} word{'s' if len(words) != 1 else ''}"
    found = next((word for word in words if word in _SENTENCE), "")
    if found:
        return "sentence", f"full sentence: contains “{found}”"
    if "?" in question:
        return "sentence", "full sentence: has a question mark"
    return "keywords", f"keywords: {len(words)} words, with no question word, pronoun or verb form"


def parts(question: str) -> list[str]:
    """The questions in a question: "what is it, and when is it given?" has two.

    A question word after a comma, "and" or a question mark begins the next, if both have MIN_PART words and the former
    asks something: "I am 32 weeks, can I fly?" has one.
    """
    found: list[str] = []
    for piece in _JOINT.split(question):
        short = bool(found) and min(len(found[-1].split()), len(piece.split())) < MIN_PART
        if found and (short or not _ASKED.search(found[-1])):
            found[-1] = f"{found[-1]}, {piece}"
        elif piece.strip():
            found.append(piece.strip())
    return found or [question]


def question_notice(question: str, languages: Sequence[str], spoken: str = "en") -> str:
    """A warning in `spoken` if a question's language is none of `languages`: the collection's, empty when unknown."""
    language = confident_language(question, languages)
    if not language or not languages or language in languages:
        return ""
    return translate(
        spoken,
        "This question seems to be in {language}. The documents are in {languages}: expect poor matches.",
        language=language_name(language, spoken),
        languages=language_list(languages, spoken),
    )
