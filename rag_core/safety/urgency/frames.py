"""Whether a sign is denied, slight, past, supposed, or only asked about; all patterns read `learned.plain` text."""

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources


def words(pattern: str) -> re.Pattern[str]:
    """A pattern that matches whole words."""
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)")


@functools.cache
def _table() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return tomllib.loads(resources.files(__package__).joinpath("advice.toml").read_text("utf-8"))


def listed(table: str, name: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The pattern of the words that advice.toml lists under a name."""
    return re.compile(words("|".join(_table()[table][name])).pattern, flags)


# A lesson, not a person.
_LESSON = words(
    r"quiz|exam|osce|essay|lecture|teaching|slides?|seminar|coursework|revision|for (?:a|my) (?:talk|class|course|presentation)|"
    r"students?|studying|textbook|leaflet|guideline says|in theory|examen|clase|charla|taller|curso|tarea|tesis|diapositiva|"
    r"exposicion|estudiantes?|estudiando|folleto|ponencia|en teoria|caso clinico|simulacro|drill|simulation|audit"
)
_GENERAL = re.compile(
    r"[^\w]*(?:and |but |so |y |pero |hi |hello |hola )*(?:what|whats|why|how|which|who|when|where|is|are|can|could|may|does|do|did|should|"
    r"will|would|has|name|list|define|explain|describe|compare|difference|signs|symptoms|causes|treatment|management|prevention|risk|"
    r"que|por que|como|cual|cuales|cuant\w+|cuando|quien\w*|donde|se puede|se pueden|es|son|puede\w*|hay|sirve\w*|debe\w*|"
    r"se \w+n|para que|a que|en que|de que|con que|signos|sintomas|causas|tratamiento|manejo|prevencion|diferencias?)(?!\w)"
)
_PERSON = words(
    r"i|im|ive|id|ill|my|me|we|our|ours|us|shes|hes|she|her|he|his|him|patient|pt|primip|multip|g\d ?p\d|woman here|lady|"
    r"yo|mi|mis|estoy|tengo|siento|noto|voy|veo|llevo|nos|nuestr\w|esta (?:sangr\w+|convuls\w+)|paciente|pcte|gestante|"
    r"primigesta|multigesta|puerpera|tuve|me|pari|embarazada de|senora|mujer de \d+"
)
_RELATIVE = words(
    r"(?:my|our|his|her) (?:wife|missus|mrs|girlfriend|fiancee|sister|daughter|friend|cousin|niece|granddaughter|neighbou?r|surrogate|flatmate|mate)(?:-in-law| in law)?s?|"
    r"(?:mi|nuestra|su) (?:mujer|esposa|senora|novia|hermana|hija|amiga|prima|sobrina|nieta|nuera|cunada|vecina|companera)|a friend|una amiga|mother|patient|madre|paciente|gestante|puerpera"
)
_BORN_BABY = words(  # as the patient
    r"newborn|\w+[ -](?:days?|weeks?|months?)[ -]old|(?:beb[ea]|hij[oa]|nen[ea]|nin[oa]|guagua|bebit[oa]) de \w+ (?:dias?|semanas?|mes(?:es)?)|recien nacid\w"
)
_SELF = words(
    r"i (?:want|keep|feel|felt|think about|hear|cant|could|would|had|gave|have(?! a (?:newborn|baby))|took|will)|im|ive|ill|myself|my (?:husband|boyfriend)|"
    r"quiero|quisiera|tengo|siento|estoy|oigo|pienso|me (?:voy|quiero|dan|da|tome|pego|pega)|mi (?:marido|esposo|novio)|tuve|pari|di a luz"
)
_NOW = words(
    r"now|today|tonight|since|this (?:morning|afternoon|evening)|last night|yesterday|for (?:the (?:last|past) )?\w+ (?:hours?|minutes?|days?)|"
    r"at the moment|ongoing|suddenly|\d+ ?(?:hours?|hrs?|min\w*|days?) ago|ahora|hoy|desde|anoche|ayer|esta (?:manana|tarde|noche)|"
    r"acab\w+ de|hace (?:un rato|\w+ (?:horas?|minutos?|dias?))|sigue|de repente|ya mismo|auxilio|help|ayuda|socorro|"
    r"\d{2,3} ?/ ?\d{2,3}|(?:f?hr|fcf?) \d+|on (?:synto\w*|oxytocin)|con oxitocina|day \d+|dia \d+|\d+ ?(?:ml|l)|(?:3[89]|4[0-2])\.\d"
)
# "Is it normal that ... at 36 weeks?" is asked by someone who has it.
_NORMAL = re.compile(
    r"[^\w]*(?:is it|es) normal (?:to|that|if|for|que|si)\b.*(?<!\w)(?:\d+|two|three|four|dos|tres|cuatro) (?:weeks|days|semanas|dias)(?!\w)"
)
_TOPIC = words(  # what a search for a subject names, and a cry for help does not
    r"treatment|management|dos(?:e|es|age|ing)|regimen|guidelines?|criteria|prevention|prophylaxis|risk factors?|diagnosis|causes|"
    r"definition|protocol|differential|recurrence|screening|statistics|tratamiento|manejo|dosis|pauta|guia|criterios|prevencion|"
    r"profilaxis|factores de riesgo|diagnostico|causas|definicion|protocolo|diferencial|recurrencia|cribado|tamizaje"
)
_PAST = words(
    r"last year|(?:\w+ )?years? ago|in (?:19|20)\d\d|(?:since|from) (?:19|20)\d\d|used to|last (?:pregnancy|time|baby|birth|month)|previous (?:pregnancy|birth|baby|labou?r)|"
    r"(?:first|second|other) (?:pregnancy|birth|baby|time)|\w+ yrs? ago|(?:a |\w+ )?months? ago|(?<!baby )(?<!birth )(?<!born )(?<!section )(?<!delivered )last week|my last fit|history of|as a (?:child|teenager)|when i was (?:a|\d)|before i (?:was|got) pregnant|"
    r"el ano pasado|hace (?:\w+ )?anos|en (?:19|20)\d\d|(?:embarazo|parto)(?: \w+)? (?:anterior|pasado|previo)|(?:mi |en el |del )?(?:primer|segundo|otro) (?:embarazo|parto|hijo|bebe)|"
    r"antecedentes?|el mes pasado|(?<!luz )(?<!nacio )(?<!pari )(?<!pario )(?<!parto )(?<!cesarea )(?<!bebe )la semana pasada|en el \d\d|cuando naci yo|la primera semana|la vez pasada|la otra vez|de nina|de joven|antes de (?:quedar|estar)"
)
_OVER = words(
    r"(?:its|it is|is|has|completely|went) (?:gone|passed|settled|away|better|cleared|over|fine)|stopped (?:by itself|on its own|completely)|"
    r"gone by morning|feel (?:fine|well|great|perfectly well) (?:now|again)|recovered|back to normal|thriving|cleared up|was discharged|scan (?:was )?normal|(?:back to|as) (?:his|her|its)? ?(?:usual|normal)|se mueve (?:bien|igual|como siempre)|como siempre|le dieron de alta|(?:been|its|was) treated|turned out|resolved|cured|that stopped|"
    r"ya (?:se me |se le |me )?(?:paso|quito|estoy (?:bien|curada|mejor)|esta (?:bien|curad\w|mejor)|fue|cedio|desaparecio)|se me (?:paso|quito|fue) (?:con|sol[oa]|ya|y)|"
    r"se (?:afloja|quita|va|pasa|paso|quito) sol[oa]|amanec\w+ normales|estoy curada|estoy bien|me siento (?:bien|perfecta)|resuelt\w|superad\w|todo (?:bien|normal)"
)
_SUPPOSED = words(
    r"if|hypothetical\w*|in case|suppose|supposing|imagine|might|could (?:i|it|my|this) (?:cause|lead|bring|get|have)|afraid (?:of|that)|worried (?:about|that)|fear of|"
    r"scared (?:of (?:having|getting|tearing))|risk of|chances? of|prevent\w*|avoid\w*|how (?:likely|common)|can (?:cause|lead to)|causes?|"
    r"si(?! no\b)|evit\w+|hipotetic\w+|en caso de|imagin\w+|podria|miedo (?:a|de) (?:que|tener)|riesgo de|prevenir|probabilidad\w*|puede (?:causar|provocar|dar)|causar?"
)
_DENIAL = re.compile(
    r"(?<!\w)(?:no|not|without|sin|never|nunca|ningun\w*|denies|denied|niega|nor|ni|tampoco|neither|none|nothing|free of|isnt|havent|hasnt|didnt|dont|doesnt|wasnt|arent|"
    r"ruled out|negative for|descartad\w)(?!\w)(?! (?:para|paro|paran|deja|dejo|dejan|stop\w*|just|only|solo|know|se (?:que|si)|se me (?:quita|pasa)|sure|idea|better|"
    r"eas\w+|cede|aguanto|puedo|respir\w+|despierta|responde|breath\w*|respond\w*|wak\w*|mejora|improv\w*|let))"
)
_SLIGHT = words(
    r"mild|slight(?:ly)?|light(?:ly)?|a (?:bit|little|tiny)|little bit|tiny|faint(?:ly)? pink|pinkish|small|minor|dull|gradual\w*|normal|usual|leves?|liger[ao]s?|"
    r"poquit[oa]s?|un poc[oa]|suaves?|gotitas?|manchitas?|un par de gotas|few (?:drops|spots)|rosad\w|normales|picture of|pops into my head|would never"
)
_PRESENT = words(
    r"now|today|tonight|this (?:morning|afternoon|evening)|last night|suddenly|ahora|hoy|anoche|esta (?:manana|tarde|noche)|de repente"
)
_STOP = re.compile(r"[.;:!?¿¡]|\b(?:but|pero|though|although|aunque|however|yet|except|salvo)\b")
_CLAUSE = re.compile(r"[.,;:!?¿¡]|\b(?:but|pero|and|y|though|although|aunque|however)\b")
DENIED_WITHIN = 40  # characters


def is_lesson(text: str) -> bool:
    """Whether a text is for teaching or an examination."""
    return _LESSON.search(text) is not None


def is_general(text: str) -> bool:
    """Whether a text asks about a subject, and nobody in it has a sign now."""
    asks = _GENERAL.match(text) or _TOPIC.search(text)
    return bool(asks) and not any(pattern.search(text) for pattern in (_PERSON, _NOW, _NORMAL))


def is_about_another(text: str) -> bool:
    """Whether somebody else is ill than the one who asks: a wife, a sister, a friend."""
    return _RELATIVE.search(text) is not None and not speaks_of_self(text)


def is_about_born_baby(text: str) -> bool:
    """Whether a text is about a baby by its age, or calls it newborn."""
    return _BORN_BABY.search(text) is not None


def speaks_of_self(text: str) -> bool:
    """Whether who asks tells of herself: what she has, feels or wants."""
    return _SELF.search(text) is not None


def _between(breaks: re.Pattern[str], text: str, start: int, end: int) -> tuple[str, int]:
    """The part of a text between breaks that contains a span, and where the span begins in it."""
    before = max((stop.end() for stop in breaks.finditer(text, 0, start)), default=0)
    after = breaks.search(text, end)
    return text[before : after.start() if after else len(text)], start - before


def is_denied(text: str, start: int) -> bool:
    """Whether a denial reaches a sign: in the same clause, or at the head of its list ("no pain, fever or bleeding")."""
    before = text[max(0, start - 80) : start]
    before = _STOP.split(before)[-1]
    denials = list(_DENIAL.finditer(before))
    if not denials:
        return False
    between = before[denials[-1].end() :]
    return len(_CLAUSE.split(between)[-1]) == len(between) <= DENIED_WITHIN or (
        bool(re.search(r"\b(?:or|nor|ni|o)\b", between)) and len(between) <= DENIED_WITHIN
    )


def is_set_aside(text: str, start: int, end: int) -> bool:
    """Whether a sign happened long ago, is over, or is only supposed, feared or asked about."""
    sentence, at = _between(_STOP, text, start, end)
    clause, _ = _between(_CLAUSE, text, start, end)
    elsewhere = _PAST.search(sentence) or _SUPPOSED.search(sentence[:at])
    return bool(_PAST.search(clause) or _OVER.search(sentence) or (elsewhere and not _PRESENT.search(sentence)))


def is_slight(text: str, start: int, end: int) -> bool:
    """Whether a sign is called slight."""
    before = _CLAUSE.split(text[max(0, start - 30) : start])[-1]
    after = _CLAUSE.split(text[end : end + 30])[0]
    return bool(_SLIGHT.search(before) or _SLIGHT.search(after))
