"""Whether a sentence says to get help as urgently as a question needs, and whether an answer begins with it."""

from __future__ import annotations

import functools
import re

from ...language.analysis import language_of, sentences
from ...values.triage import Level, Triage
from .frames import words
from .learned import plain
from .signs import signs, signs_of

# Going or calling there is urgent in itself.
_EMERGENCY_SERVICE = words(
    r"9-?1-?1|999|112|988|emergency (?:\w+ )?(?:number|services?|departments?|rooms?|team|line|help|care)|emergency (?:call|buzzer|bell)|"
    r"a&e|a and e|ambulance|crash (?:call|team|bell)|crisis (?:\w+ )?(?:line|service|team|helpline)|(?:call|calls|calling|shout|ask) for (?:\w+ )?help|"
    r"numero (?:local |nacional )?de emergencias?|emergencias|urgencias|ambulancia|linea de crisis|servicio de emergencias?|"
    r"resuscitation\b.{0,50}\bteams?|codigo (?:rojo|azul)|(?:pid\w+|pedir|busque|llam\w+ a) (?:\w+ )?ayuda|equipo de (?:emergencias?|reanimacion)"
)
_PLACE = words(
    r"hospital\w*|maternity (?:unit|ward|team|care)|labou?r ward|delivery suite|birth (?:centre|unit)|midwi\w+|doctors?|obstetric\w*|gp|clinicians?|prescriber|"
    r"clinic|health (?:centre|worker|professional)|dialysis unit|unit|team|medical (?:help|care|attention)|help|care|treatment|assess\w+|assessment|"
    r"examin\w+|checks?|checked|seen|review\w*|treated|attention|tests?|tested|maternidad|matrona|partera|medic[oa]s?|obstetra|ginecolog\w+|centro de salud|"
    r"unidad|equipo|atencion|valor\w+|atiend\w+|atendid\w|revis\w+|examin\w+|consult\w+|trat\w+|ayuda|clinica|pruebas?|analisis"
)
_NOW = words(
    r"now|at once|immediate(?:ly)?|straight away|right away|right now|urgent(?:ly)?|without (?:delay|waiting)|emergency|emergencies|this minute|"
    r"within minutes|ya|ahora|ahora mismo|de inmediato|inmediat\w+|enseguida|en seguida|urgentes?|urgentemente|sin (?:demora|esperar|perder tiempo)|"
    r"cuanto antes|emergencia|urgencia"
)
_TODAY = words(
    r"today|tonight|(?:the )?same day|that day|this (?:morning|afternoon|evening)|within (?:a few )?hours|hoy|hoy mismo|(?:el |ese |este )?mismo dia|"
    r"ese dia|esta (?:manana|tarde|noche)"
)
_ACTS = words(
    r"call\w*|dial\w*|ring\w*|phone\w*|telephone\w*|go|goes|going|get|take|bring|contact\w*|seek\w*|come|see|tell\w*|ask\w*|needs?|means?|requires?|"
    r"must|should|have|has|calls for|warrants?|"
    r"llam\w+|marc(?:ar|a|e|ando)|acud\w+|vay\w+|ve|ven|ir|va|lleve\w*|llevar\w*|busc\w+|busque\w*|ped\w+|pid\w+|consult\w+|necesit\w+|requier\w+|"
    r"oblig\w+|exig\w+|hay que|deben?|avis\w+|contact\w+|haga|se (?:valora|atiende|consulta|revisa|trata)n?|activ\w+"
)
_NEEDLESS = words(
    r"no need|need not|neednt|(?:do|does|did)(?:nt| not) need|not needed|unnecessary|(?:dont|do not) (?:call|go|ring|phone|contact)|"
    r"not an? (?:\w+ )?emergency|isnt an? (?:\w+ )?emergency|no (?:hace falta|es necesario|necesita|hay que|llame|acuda|vaya)|"
    r"no es una? (?:emergencia|urgencia)|innecesari\w"
)
_IF_WORSE = words(
    r"(?:if|unless|should|si)\b[^.]*\b(?:worse\w*|worsen\w*|gets?|becomes?|persists?|continues?|(?:doesnt|does not|dont|do not) (?:stop|ease|improve|settle|go away|get better)|"
    r"returns?|again|develops?|empeora\w*|aumenta\w*|persiste\w*|continua\w*|no (?:mejora|cede|se (?:le )?(?:pasa|quita))|vuelve\w*|aparece\w*)"
)
_ORDER = re.compile(
    r"\W*(?:please |por favor,? )?(?:call|dial|ring|phone|go|get|take|bring|seek|come|contact|tell|ask|declare|shout|press|llame\w*|llama|llamen|marque|acud[ae]n?|vayan?|ve|"
    r"lleve\w*|busque|pid[ae]n?|consulte|avise|contacte|declare|active)(?!\w)"
)
_CONDITION = words("if|for|when|with|in case|si|cuando|ante|por|con|en caso")
_GO_NOW = words(
    r"(?:go|goes|going|come|call|calls|calling)(?: (?:straight|right|back))?(?: in)? (?:at once|now|immediately|straight away|right away|urgently|without delay)|"
    r"(?:acud\w+|vay\w+|llam\w+|ir|va|se consulta|se va|se valora|consult\w+)(?: \w+)? (?:ya|ahora|de inmediato|inmediatamente|enseguida|sin demora|cuanto antes)"
)
_COMFORT = words(
    r"you are not alone|youre not alone|so sorry|im sorry|i am sorry|thank you for|(?:this|that|it) (?:is|may be|could be|might be|sounds like|can be|needs)\b.{0,30}"
    r"(?:emergency|serious|urgent)|no estas? sola|lo siento|siento mucho|gracias por|(?:esto|eso)? ?(?:es|puede ser|podria ser|parece)\b.{0,30}(?:emergencia|urgencia|grave|serio)"
)


def leads_with_action(text: str, triage: Triage) -> bool:
    """Whether the first sentence of an answer says to get help at least as urgently as the triage asks.

    One sentence of comfort or alarm may come before it ("You are not alone."). Help only if things get worse, or
    for another sign than the question's, does not count, nor does an answer in another language than the triage's: who
    asks may not read it. True for a routine question.
    """
    if not triage.urgent:
        return True
    said = sentences(text, triage.language)
    if len(said) > 1 and _COMFORT.search(plain(said[0])) and not calls_for(said[0], triage):
        said = said[1:]
    return bool(said) and calls_for(said[0], triage) and language_of(text) == triage.language


def calls_for(sentence: str, triage: Triage) -> bool:
    """Whether a sentence says to get help as urgently as needed, for the signs of the triage or for any."""
    simple = plain(sentence)
    if not urges(simple, triage.level):
        return False
    wanted = signs_of(triage)
    if not wanted or any(sign.named_in(sentence) for sign in wanted):
        return True
    if not is_conditional(sentence):
        return True
    return not any(sign.named_in(sentence) for sign in signs())


def is_conditional(sentence: str) -> bool:
    """Whether a sentence is no plain order: it says for what, or when, to get help."""
    simple = plain(sentence)
    return not _ORDER.match(simple) or _CONDITION.search(simple) is not None


def calls_emergency(sentence: str) -> bool:
    """Whether a sentence names an emergency number or service."""
    return _EMERGENCY_SERVICE.search(plain(sentence)) is not None


def urges_today(sentence: str) -> bool:
    """Whether a sentence says to get help on the same day."""
    return _TODAY.search(plain(sentence)) is not None


@functools.lru_cache(maxsize=65536)
def urges(text: str, level: Level) -> bool:
    """Whether a text in plain letters says to get help at this level or a higher one."""
    if not _ACTS.search(text) or _NEEDLESS.search(text) or _IF_WORSE.search(text):
        return False
    if _EMERGENCY_SERVICE.search(text) or _GO_NOW.search(text):
        return True
    soon = _NOW.search(text) or (level == "same_day" and _TODAY.search(text))
    return bool(soon and _PLACE.search(text))
