"""Families of words for signs of an emergency in passages, and sentences that say to get help for them.

How urgent a question is, and which signs it describes as happening, is `urgency.triage`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

_SIGNS: Mapping[str, str] = {
    "bleeding": r"(?:bleed\w*|bled|los(?:ing|t) (?:a lot of )?blood|blood (?:loss|pour\w+|com\w+|run\w+|soak\w+)|bright red blood|h(?:a)?emorrhag\w+|soak\w* (?:a |through )?\w* ?pads?|clots|sangrado\w*|sangr(?:o|as?|ando|ar|en)|(?:mucha|perd\w+|sale|echando|con) sangre|sangre roja|hemorragia\w*|co[aá]gulos|empap\w+)",
    "waters": r"(?:waters? (?:have |has )?(?:broke\w*|gone|went|leak\w*|break\w*)|(?:broke|broken|leak\w*) (?:my |her )?(?:waters?|fluid)|gush|green fluid|fluid is green|(?:amniotic )?fluid|meconium|romp\w* (?:la |las )?(?:aguas|bolsa|fuente)|aguas (?:rotas|verdes)|rotura de (?:la )?(?:bolsa|membranas)|p[eé]rdida de l[ií]quido|l[ií]quido (?:verde|amni[oó]tico)|meconi\w+)",
    "movements": r"(?:(?:not|n't|stopped|less|fewer|reduced|no|hardly|barely)\b.{0,25}\b(?:mov\w+|kick\w*)|(?:mov\w+|kicks?)\b.{0,20}\b(?:less|fewer|stopped|slowed)|(?:no|apenas|casi no|dej[oó] de|menos|deja de)\b.{0,25}\b(?:muev[ea]\w*|mover\w*|movimientos|siento|sentir|patad\w*|patea)|se muev[ea] (?:menos|poco))",
    "seizure": r"(?:seizures?|fits?|fitting|convuls\w+|shaking all over|eyes (?:rolled|rolling)|sacudi(?:endo|das?|ones)|eclampsia|ataque|ojos en blanco)",
    "self-harm": r"(?:suicid\w*|(?:end|take|ending|taking) (?:my|her|your|one's) (?:own )?life|kill\w* (?:my|her|your)self|self-harm\w*|harm\w* (?:my|her|your)self|harm(?:ing)? the baby|hurt(?:ing)? the baby|better off (?:dead|without me)|(?:not|n't) want to live|no longer want to live|if i (?:wasn't|weren't|was not|were not) (?:here|alive)|quitar(?:me|se|te) la vida|matar(?:me|se)|no quiero (?:vivir|seguir viviendo|despertar)|si (?:yo )?no (?:viviera|existiera|estuviera)|mejor sin m[ií]|morirme|hacer(?:me|se|le|te) daño|autolesi\w+)",
    "psychosis": r"(?:psychosis|psychotic|hears? voices|hearing voices|hallucinat\w+|strange (?:ideas|beliefs)|devil|delusion\w*|not slept|(?:has|have)n't slept|slept for|psicosis|o[yií]\w* voces|alucina\w+|ideas (?:raras|extrañas)|demonio|delir\w+|no duerme|sin dormir)",
    "cord": r"(?:cord (?:is |has |was |that is )?(?:hang\w*|com\w+|prolaps\w*|fall\w*|out|slip\w*|visible|between|down)|prolapsed? (?:of the )?(?:umbilical )?cord|cord prolapse|prolapso|cord[oó]n .{0,25}(?:asoma|sale|saliendo|colgando|fuera|vagina))",
    "headache": r"(?:(?:severe|bad|terrible|awful|worst|sudden|splitting) head ?ache|flashing lights|(?:see|seeing) (?:spots|stars|lights)|blurred (?:vision|sight)|visual (?:disturbance|change|symptom)\w*|visi[oó]n borrosa|ve(?:o|r|s) (?:luces|lucecitas|estrellas|borroso|doble|chispas)|luces|fosfenos|dolor (?:muy )?(?:fuerte|intenso) de cabeza|dolor de cabeza (?:muy )?(?:fuerte|intenso|intensa|que no)|cefalea (?:intensa|fuerte|grave))",
    "pressure": r"(?:(?:1[6-9]\d|2\d\d)\s*/\s*1?\d\d|\d{3}\s*/\s*1[1-9]\d|severe hypertension|160/110|hipertensi[oó]n grave)",
    "rib pain": r"(?:(?:pain|ache)\b.{0,30}\b(?:ribs?|upper (?:abdomen|belly|tummy))|under (?:my|the|her|your) (?:right )?ribs|epigastr\w+|(?:dolor|duele)\b.{0,30}\b(?:costillas|boca del est[oó]mago)|boca del est[oó]mago)",
    "chest": r"(?:chest pain|pain in (?:my|the|your) chest|short(?:ness)? of breath|breathless\w*|(?:trouble|difficulty|hard|can't|cannot|unable to)\b.{0,20}\bbreath\w*|can't get a sentence out|(?:full|finish a) sentence|coughing (?:up )?blood|dolor (?:en el |de )?pecho|(?:falta|falta de) (?:el )?aire|ahog\w+|no puedo respirar|dificultad (?:para|al) respirar)",
    "faint": r"(?:faint\w*|pass(?:ing|ed)? out|collaps\w+|unconscious|unresponsive|shoulder(?:-tip)? (?:pain|hurts)|pain in the shoulder|desmay\w+|inconsciente|no responde|dolor (?:en el|de) hombro|mareo intenso)",
    "belly pain": r"(?:(?:severe|stabbing|sharp|constant|ripping|tearing|sudden)\b.{0,20}\bpain|pain over the scar|scar (?:pain|is|has)|hard (?:as a board|belly|womb)|dolor (?:muy )?(?:fuerte|intenso|constante|s[uú]bito|repentino)|vientre duro)",
    "early labour": r"(?:(?:regular|contraction\w*|cramps|tighten\w*|presi[oó]n|contracci\w+|panza|barriga|vientre)\b.{0,60}\b(?:before 37|premature|preterm|minut\w+|cada|every|antes de (?:la semana|las) 37)|amenaza de parto)",
    "fever": r"(?:fever\w*|high temperature|(?:3[89]|4[01])(?:[.,]\d)?\s*(?:°|º|degrees|grados|c\b)|temperature (?:of )?(?:3[89]|4[01])|burning up|shaking chills|shivering|chills|rigors|sepsis|mottled|fiebre|calentura|calentit[ao]|escalofr\w+|tiritona|temperatura (?:de )?(?:3[89]|4[01]))",
    "newborn": r"(?:(?:baby|newborn|bab(?:y|ies))\b.{0,40}\b(?:blue|limp|floppy|not (?:feeding|breathing|waking)|refus\w+|won't (?:feed|wake))|(?:beb[eé]|beb\w+|reci[eé]n nacid\w)\b.{0,70}\b(?:azul|morad\w|fl[aá]cid\w|no (?:quiere|respira|come|mama|despierta|agarra))|ombligo .{0,20}(?:colorado|rojo|materia|pus))",
    "ketoacidosis": r"(?:ketones?|ketoacidosis|cetonas|cetoacidosis|cuerpos cet[oó]nicos)",
    "violence": r"(?:chok\w+|strangl\w+|hit me|hits me|beat\w* me|threaten\w* to kill|me (?:pega|peg[oó]|golpe\w+|amenaz\w+)|estrangul\w+|ahorc\w+)",
    "overdose": r"(?:overdose|took (?:too many|all)|sobredosis)",
    "crisis": r"(?:sickle|drepanoc\w+|falciform\w+)",
    "malaria": r"(?:malaria|paludismo)",
}  # fmt: skip
_PATTERNS = {sign: re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE) for sign, words in _SIGNS.items()}

_CALLS_FOR_HELP = re.compile(
    r"(?<!\w)(?:999|911|112|911|emergency|emergencies|emergencias?|urgencias?|urgentes?|urgent(?:ly)?|ambulance|ambulancia|"
    r"call for help|same day|mismo día|at once|immediate(?:ly)?|straight away|right away|without delay|within minutes|"
    r"cannot wait|(?:do not|don't|never) wait|no (?:esper\w+|debe esperar|puede esperar)|de inmediato|inmediat\w+|enseguida|"
    r"sin (?:demora|esperar)|cuanto antes|(?:acud\w+|vay\w+|ir|ve) (?:ya|al hospital|a la maternidad)|go to (?:the )?hospital)(?!\w)",
    re.IGNORECASE,
)
_ACTS = re.compile(
    r"(?<!\w)(?:call\w*|go|goes|going|ring\w*|phone\w*|telephone\w*|contact\w*|seek\w*|come|get|see|tell\w*|need\w*|mean\w*|require\w*|must|should|is an? \w*\s?emergency|are (?:an? )?(?:\w+ )?emergenc\w+|treated|given|start\w*|"
    r"llam\w+|acud\w+|vay\w+|ve|ven|ir|acuda\w*|busc\w+|ped\w+|pid\w+|consult\w+|necesit\w+|requier\w+|oblig\w+|exig\w+|hay que|deben?|avis\w+|es una (?:\w+ )?(?:emergencia|urgencia)|son (?:una )?(?:emergencia|urgencia)s?|trat\w+|administr\w+)(?!\w)",
    re.IGNORECASE,
)
_FORBIDS_HELP = re.compile(
    r"\b(?:do not|don['’]t|never|no need to|need not|must not|should not|shouldn['’]t) (?:call|dial|ring|phone)\b[^.;:]{0,30}"
    r"\b(?:emergenc\w+|ambulance|paramedics|112|911|999)\b|"
    r"\b(?:no|nunca) (?:debe |hay que |hace falta |es necesario )?(?:llam\w+|marqu\w+|marcar) (?:a |al )?[^.;:]{0,20}"
    r"\b(?:emergencias?|urgencias|ambulancia|112|911)\b",
    re.IGNORECASE,
)
_LESSER = re.compile(
    r"(?<!\w)(?:mild|slight|light|same day|appointment|next visit|próxima cita|cita|count|counting|contar|usually not|not usually|is normal|are normal|harmless|by itself|leves?|liger[ao]s?|"
    r"mismo día|no suele\w*|es normal|son normales|inofensiv\w+)(?!\w)",
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=65536)
def forbids_help(sentence: str) -> bool:
    """Whether a sentence says not to call the emergency services, as no guidance does.

    >>> forbids_help("Do not call an ambulance for this."), forbids_help("Do not wait; call an ambulance.")
    (True, False)
    """
    return bool(_FORBIDS_HELP.search(sentence))


def signs_in(text: str) -> frozenset[str]:
    """The signs that a text names, whatever it says of them."""
    return frozenset(sign for sign, pattern in _PATTERNS.items() if pattern.search(text))


def calls_for_help(sentence: str) -> bool:
    """Whether a sentence says to get or give help now."""
    return bool(_CALLS_FOR_HELP.search(sentence) and _ACTS.search(sentence))


def is_lesser(sentence: str) -> bool:
    """Whether a sentence is about what is mild or can wait, and so no part of an answer to an emergency."""
    return _LESSER.search(sentence) is not None
