"""Whether a sentence can be true of the question's case: its week of pregnancy and its medicine."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..language.analysis import LANGUAGES, words_of
from ..language.asking import asks
from ..language.facts import DRUGS, facts
from ..language.thesaurus import Thesaurus

# Ends of names that mark a class of medicines: WHO, "The use of stems in the selection of INN", 2018.
STEM = re.compile(
    r"(?<=\w{3})(?:pril|sartan|olol|dipine|dipino|statin|statina|floxacin|floxacino|gliptin|gliptina|oxetine|oxetina)$"
)
VACCINE_ID = re.compile(r"-vaccine$")
LAST_WEEK = 43  # higher numbers are no weeks of pregnancy

_N = r"(\d{1,2})(?:\s*\+\s*\d)?"
_WEEK = r"(?:weeks?|semanas?)"
_BEFORE = re.compile(
    rf"\b(?:before|until|till|up to|under|earlier than|less than|first|hasta|antes de|menos de)(?: the end of)?(?: las?)?(?: {_WEEK})?\s+{_N}(?: {_WEEK})?\b", re.IGNORECASE
)  # fmt: skip
_AFTER = re.compile(
    rf"\b(?:after|from|beyond|past|since|later than|más de|a partir de|después de|desde|pasadas?)(?: las?)?(?: {_WEEK})?\s+{_N}(?: {_WEEK})?(?: (?:onwards?|or later|or more))?\b"
    rf"|\b{_N} {_WEEK} (?:onwards?|or later|or more|en adelante|o más)\b", re.IGNORECASE,
)  # fmt: skip
_BETWEEN = re.compile(
    rf"\b(?:between|from|entre|de|desde)(?: las?)?(?: {_WEEK})?\s+{_N}(?: {_WEEK})?\s+(?:and|to|y|a|hasta)(?: las?)?(?: {_WEEK})?\s*{_N}\b", re.IGNORECASE
)  # fmt: skip
_TRIMESTERS = [
    (re.compile(r"\bfirst (?:trimester|third|three months)\b|\bprimer trimestre\b", re.IGNORECASE), (0, 13)),
    (re.compile(r"\bsecond (?:trimester|third)\b|\bsegundo trimestre\b", re.IGNORECASE), (14, 27)),
    (
        re.compile(
            r"\b(?:third|last) (?:trimester|third)\b|\b(?:tercer|último) (?:trimestre|tercio)\b",
            re.IGNORECASE,
        ),
        (28, LAST_WEEK),
    ),
]
_IN_WEEKS = re.compile(rf"\b{_WEEK}\b|trimest|\bthird\b|\btercio\b", re.IGNORECASE)
_NOT_PREGNANCY = re.compile(
    r"\b(?:after (?:the |a )?(?:birth|delivery|caesarean|miscarriage)|postpartum|postnatal|newborn|old|of age|later|ago|after (?:giving|treatment|exposure|starting|it|the|taking)|"
    r"(?:después|tras|antes) del? (?:parto|nacimiento|cesárea|tratamiento|viaje|embarazo)|posparto|puerperio|recién nacid\w+|de vida|de edad|más tarde|duran?|seguid[ao]s)\b",
    re.IGNORECASE,
)
_AFTER_BIRTH = re.compile(
    r"\b(?:newborn|postpartum|postnatal|week(?:s)? (?:old|after)|breastfe\w+|gave birth|since the birth|recién nacid\w+|posparto|puerperio|lacta\w+|di a luz|nació|de vida)\b",
    re.IGNORECASE,
)


_NURSING = re.compile(
    r"\b(?:breastfe\w+|nursing|lacta\w+|amamant\w+|(?:dar|doy|dando|da|damos) (?:el )?pecho|de pecho)\b",
    re.IGNORECASE,
)
_PREGNANCY = re.compile(
    r"\b(?:pregnan\w+|trimester|gestation\w*|embaraz\w+|gestaci\w+|trimestre)\b", re.IGNORECASE
)
_PUERPERIUM = re.compile(
    r"\b(?:(?:after|since) (?:the |a |giving )?birth|postpartum|postnatal|(?:tras|después del) (?:el )?parto|post?parto|puerperio)\b",
    re.IGNORECASE,
)
# Of before the birth: no answer to a mother who breastfeeds, unless it also speaks of afterwards.
_BEFORE_BIRTH = re.compile(rf"{_PREGNANCY.pattern}|\b(?:induction|inducción)\b", re.IGNORECASE)
_AFTERWARDS = re.compile(
    rf"{_NURSING.pattern}|\b(?:milk|leche|after (?:the )?birth|tras el parto|después del parto)\b",
    re.IGNORECASE,
)
_PROCEDURE = re.compile(
    r"\b(?:surg\w+|operation|caesarean|abortion|cirug\w+|quirúrgic\w+|operación|cesárea|aborto)\b",
    re.IGNORECASE,
)
_NEWBORN = re.compile(  # a born baby as the patient
    r"\b(?:newborn|\w+[ -](?:days?|weeks?|months?)[ -]old|(?:bebé|hij[oa]|nen[ea]|niñ[oa]|guagua|bebito) de \w+ (?:días?|semanas?|mes(?:es)?)|"
    r"recién nacid\w+|bab(?:y|ies)\b.{0,20} (?:at|is) \d+ (?:days?|weeks?|months?))\b",
    re.IGNORECASE,
)
_MOTHER = re.compile(  # the one who asks what she may take or do herself
    r"\b(?:(?:can|may|could|should|must) i|i (?:take|took|have|had|feel)|puedo|tomo|tengo|me)\b",
    re.IGNORECASE,
)
_TAKES = re.compile(r"\b(?:take|use|have|toma\w*|usa\w*)\b", re.IGNORECASE)  # what may be a medicine
_BORN = re.compile(r"\b(?:newborns?|infants?|recién nacid\w+|lactantes?)\b", re.IGNORECASE)
_BABY = re.compile(r"\b(?:bab(?:y|ies)|beb[eé]s?)\b", re.IGNORECASE)
_UNBORN = re.compile(rf"{_PREGNANCY.pattern}|\b(?:waters|fluid|womb|útero|líquido|bolsa)\b", re.IGNORECASE)
_MISTAKE = re.compile(
    r"\b(?:by mistake|by accident|before knowing|overdose|por error|sin saber|sobredosis)\b", re.IGNORECASE
)
_HAPPENED = re.compile(
    r"\b(?:mistake|accident\w*|overdose|took|taken|had|error|tomé|tomó|tomado|sin saber|sobredosis)\b",
    re.IGNORECASE,
)
_VACCINE = re.compile(r"\b(?:vaccin\w*|immuni[sz]\w+|jabs?|vacun\w*|inmuniza\w*)\b", re.IGNORECASE)
_PREVENTS = re.compile(r"\b(?:prevent\w*|prophyla\w*|preven\w*|profil\w*)\b", re.IGNORECASE)
_INSTEAD = re.compile(  # the medicine that somebody cannot have
    r"\b(?:allerg(?:y|ic) to|instead of|alternatives? to|intolerant (?:to|of)|alérgic[ao]s? a(?:l| la)?|alergia a(?:l| la)?|en (?:lugar|vez) de(?:l| la)?|"
    r"alternativas? a(?:l| la)?) (?:the )?\w+",
    re.IGNORECASE,
)
_ALLERGY = re.compile(
    r"\b(?:allerg\w+|al[ée]rgi\w+|instead|alternativ\w+|otherwise|en (?:lugar|vez))\b", re.IGNORECASE
)
_ALL_VACCINES = re.compile(
    r"\b(?:all|any|most|every|other|inactivated|non-live|live) (?:\w+ )?vaccin\w+|"
    r"\b(?:todas|cualquier|otras|casi todas|la mayoría de)(?: las)? vacunas?|\bvacunas? (?:inactivadas?|viv[ao]s?|de virus)",
    re.IGNORECASE,
)
_TREATS = re.compile(r"\b(?:treat\w*|tratar?|tratamiento\w*|tratad\w+)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """What a question fixes.

    Args:
        weeks: the weeks of pregnancy it names.
        drugs: the medicines it names, as folded words and thesaurus concepts, but not one that somebody cannot have.
        refused: the medicines that somebody cannot have, likewise; only what is said of the allergy itself is an answer.
        medicine: whether it names a medicine, also where `drugs` is left out of account.
        pregnant: whether it is about pregnancy, and not about the time after the birth.
        happened: whether it tells of a dose already taken; what is said of one taken by mistake is no permission.
        nursing: whether it is about breastfeeding and not about pregnancy.
        newborn: whether its patient is a born baby.
        procedure: whether it names an operation; a medicine given for one is no answer otherwise.
        asks_permission: whether it asks what may be done; of anything but a medicine, a limit of weeks is the answer.
        vaccine: whether it names a vaccine; what is said of the illness alone is no answer.
        vaccines: the concepts of the vaccine it names, with its illnesses; empty if it names none in particular.
        others: the same of the other vaccines, where it names one.
        treats: whether it asks how a medicine treats; the dose that prevents can be another.
    """

    weeks: tuple[int, ...]
    drugs: frozenset[str]
    refused: frozenset[str] = frozenset()
    medicine: bool = False
    pregnant: bool = False
    happened: bool = False
    nursing: bool = False
    newborn: bool = False
    procedure: bool = False
    asks_permission: bool = False
    vaccine: bool = False
    vaccines: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    treats: bool = False

    def allows(self, sentence: str, heading: str = "") -> bool:
        """Whether one of the question's weeks is within the limits that a sentence states, if it states any.

        A sentence without limits has those of its heading. Of a medicine in pregnancy, what is said of
        breastfeeding, of the time after the birth or of an operation alone is no answer.
        """
        afterwards = _NURSING.search(sentence) or _PUERPERIUM.search(sentence)
        if self.pregnant and self.medicine and afterwards and not _PREGNANCY.search(sentence):
            return False
        if self.weeks and self.drugs and not self.procedure and _PROCEDURE.search(sentence):
            return False
        if not self.happened and _MISTAKE.search(sentence):
            return False
        if self.asks_permission and not self.drugs:
            return True
        stated = limits(sentence) or limits(heading)
        return not (self.weeks and stated) or any(
            first <= week <= last for week in self.weeks for first, last in stated
        )

    def is_her_time(self, sentence: str, section: str, titles: str = "", passage: str = "") -> bool:
        """Whether a sentence is not of pregnancy alone, when the mother breastfeeds.

        The nearest text that names pregnancy decides: the sentence, then the heading of its section, then the titles
        above. Under titles of pregnancy a sentence still counts if its section (or `passage`) is of afterwards.
        """
        if not self.nursing:
            return True
        nearest = (
            (sentence, sentence),
            (section, f"{sentence} {section}"),
            (titles, f"{sentence} {section} {titles} {passage}"),
        )
        said = next((around for text, around in nearest if _BEFORE_BIRTH.search(text)), "")
        return not said or _AFTERWARDS.search(said) is not None

    def is_patient(self, text: str) -> bool:
        """Whether a passage with its headings can be about a born baby, when that is the patient."""
        if not self.newborn or _BORN.search(text):
            return True
        return _BABY.search(text) is not None and not _UNBORN.search(text)

    def may_be_had(self, sentence: str, names: Iterable[str]) -> bool:
        """Whether a sentence with these names offers no medicine that somebody cannot have."""
        return self.refused.isdisjoint(names) or _ALLERGY.search(sentence) is not None

    def is_its_vaccine(self, sentence: str, concepts: frozenset[str]) -> bool:
        """Whether a sentence with these concepts is not of other vaccines alone, where the question names one."""
        return (
            not self.others & concepts
            or bool(self.vaccines & concepts)
            or _ALL_VACCINES.search(sentence) is not None
        )

    def is_its_use(self, sentence: str, section: str, title: str) -> bool:
        """Whether a sentence is about what the question asks for: a vaccine and not the illness, or a treatment.

        Args:
            section: the heading above it, which is about vaccines only if it begins with them.
            title: of its document, with the headings.
        """
        document = title.partition(" › ")[0]
        if self.vaccine and not (_VACCINE.search(f"{document} {sentence}") or _VACCINE.match(section)):
            return False
        about = f"{title} {sentence}"
        return not (self.treats and _PREVENTS.search(about) and not _TREATS.search(about))

    def names_drug(self, names: Iterable[str]) -> bool:
        """Whether `names` has one of the question's medicines; true if the question names none."""
        return not self.drugs or not self.drugs.isdisjoint(names)


def case_of(question: str, language: str, thesaurus: Thesaurus | None) -> Case:
    """The case that a question describes."""
    weeks: tuple[int, ...] = ()
    if not (_AFTER_BIRTH.search(question) or _NEWBORN.search(question)):
        ages = [fact for fact in facts(question, language) if fact.kind == "age"]
        numbers = [int(float(value)) for fact in ages for value in fact.values[:1]]
        weeks = tuple(number for number in numbers if 4 <= number < LAST_WEEK)
    mine, others = _vaccines(question, language, thesaurus)
    drugs = drugs_in(_INSTEAD.sub(" ", question), language, thesaurus, classes="dose" not in asks(question))
    cannot = " ".join(_INSTEAD.findall(question))
    return Case(
        weeks,
        drugs,
        refused=drugs_in(cannot, language, thesaurus, classes=False) if cannot else frozenset(),
        medicine=bool(drugs),
        pregnant=bool(weeks or _PREGNANCY.search(question))
        and not (_NURSING.search(question) or _PUERPERIUM.search(question)),
        happened=_HAPPENED.search(question) is not None,
        nursing=_NURSING.search(question) is not None and not (weeks or _PREGNANCY.search(question)),
        newborn=_NEWBORN.search(question) is not None and not _MOTHER.search(question),
        procedure=_PROCEDURE.search(question) is not None,
        asks_permission="permission" in asks(question) and not _TAKES.search(question),
        vaccine=_VACCINE.search(question) is not None,
        vaccines=mine,
        others=others,
        treats=bool(drugs and _TREATS.search(question)) and not _PREVENTS.search(question),
    )


def drugs_in(
    text: str, language: str, thesaurus: Thesaurus | None, *, classes: bool = True
) -> frozenset[str]:
    """The medicines a text names: folded words, and ids of their concepts and classes.

    Args:
        classes: whether what is said of a class will do; not of a dose.
    """
    words = {
        word.form: text[word.start : word.end]
        for word in words_of(text, language)
        if word.form in DRUGS or STEM.search(word.form)
    }
    if thesaurus is None:
        return frozenset(words)
    ids = {
        mention.concept.id
        for name in words.values()
        for code in LANGUAGES
        for mention in thesaurus.find(name, code)
    }
    known = ids | {one for word in words for one in _of_stem(word, thesaurus)}
    wider: set[str] = set()
    while classes and (
        found := {
            concept.id
            for concept in thesaurus.concepts.values()
            if concept.id not in wider and (known | wider) & {*concept.narrower, *concept.class_of}
        }
    ):
        wider |= found
    return frozenset({*words, *ids, *wider})


def _of_stem(word: str, thesaurus: Thesaurus) -> frozenset[str]:
    """The medicines of the thesaurus with the same stem: ramipril is what enalapril is."""
    stem = STEM.search(word)
    if stem is None:
        return frozenset()
    return frozenset(
        concept.id
        for concept in thesaurus.concepts.values()
        if concept.kind == "drug" and any(concept.preferred(code).endswith(stem[0]) for code in LANGUAGES)
    )


def _vaccines(
    question: str, language: str, thesaurus: Thesaurus | None
) -> tuple[frozenset[str], frozenset[str]]:
    """The vaccine that a question names and the other ones, each with their illnesses; empty if it names none."""
    if thesaurus is None or not _VACCINE.search(question):
        return frozenset(), frozenset()
    against = {
        name: {name, *concept.related}
        for name, concept in thesaurus.concepts.items()
        if VACCINE_ID.search(name)
    }
    named = {mention.concept.id for mention in thesaurus.find(question, language)}
    mine = frozenset(one for names in against.values() if named & names for one in names)
    return mine, frozenset(one for names in against.values() for one in names) - mine if mine else mine


Limits = tuple[tuple[int, int], ...]  # first and last week of each range


@functools.lru_cache(maxsize=65536)
def limits(sentence: str) -> Limits:
    """The ranges of weeks of pregnancy that a sentence states, without those about time after birth."""
    if not _IN_WEEKS.search(sentence) or _NOT_PREGNANCY.search(sentence):
        return ()
    between = [(int(a), int(b)) for a, b in _BETWEEN.findall(sentence)]
    between += [weeks for pattern, weeks in _TRIMESTERS if pattern.search(sentence)]
    rest = _BETWEEN.sub(" ", sentence)
    before = [(0, int(n) - 1) for n in _BEFORE.findall(rest)]
    after = [(int(a or b), LAST_WEEK) for a, b in _AFTER.findall(rest)]
    return tuple(pair for pair in (*between, *before, *after) if pair[0] <= pair[1] and pair[1] <= LAST_WEEK)
