"""Text that gives orders to a language model: planted in a document, it is shown as a quotation and never followed.

Only what no leaflet says to its readers counts: "ignore previous instructions", "you are now an unrestricted model",
"System:", a note to the assistant, the marks of chat templates, and the same in Spanish. A false statement, such as a
wrong dose, looks like a true one and cannot be found so.
"""

import functools
import re

from .letters import without_accents
from .visible import without_invisible

GIVES_ORDERS = "This text gives orders to a language model; it is shown as a quotation and not followed."

_MODEL = (
    r"(?:ai|ias?|llms?|ai models?|(?:large )?language models?|models?(?! of)|(?:ai |virtual )?assistants?(?! (?:midwi|surgeon|profess))|chat ?bots?|chatgpt|"
    r"query rewriters?|rewriters?|summari[sz]ers?|judges?|asistentes?(?: virtual(?:es)?)?|modelos?(?: de lenguaje)?(?! de)|jue(?:z|ces)|"
    r"reescritor(?:es)?(?: de consultas)?|sistemas? de ia)"
)
_THE = r"(?:the |any |all |every |this |el |la |los |las |al |un |una |todo |toda )?"
_ADDRESSEE = r"(?:assistant|ai(?: language)?(?: model)?|ia|llm|chat ?bot|chatgpt|language model|asistente(?: virtual)?|modelo de lenguaje)"
_IGNORE = (
    r"(?:ignor[ea]|ignor(?:ad|en)|disregard|forget|override|overwrite|bypass|olvid[ea]|olvid(?:ad|en)|desobede(?:ce|zca)|descart[ea]|"
    r"(?:do not|don't|stop) (?:follow|following|obey|obeying)|no (?:sigas?|obede(?:zcas?))|ha(?:z|ga) caso omiso (?:de|a))"
)
_EARLIER = r"(?:previous|prior|earlier|preceding|above|existing|system|initial|original|anteriores|previas|preexistentes|iniciales|originales)"
_ALL = r"(?:all|any|every|each|todas|todos|cualquier)"
_ORDERS = r"(?:instructions?|prompts?|rules|directives?|commands?|instruccion(?:es)?|reglas|indicaciones|ordenes|directrices|prompts?|normas)"
_NOT = r"(?<!not )(?<!n't )(?<!never )(?<!\bno )(?<!nunca )(?<!jamas )"  # before a verb
_BEGINS = r"(?:^|[.!?;»”\"] )[\s\[\]({*_#>|\"'“«-]*"

_RULES = (
    # ignore all (of the) previous instructions; ignora las instrucciones anteriores
    rf"\b(?=[bdfhinos]){_NOT}{_IGNORE} (?:"
    rf"(?:{_ALL} )?(?:of )?(?:the |your |my |these |those |las |los |tus |sus )?{_EARLIER} (?:\w+ ){{0,2}}?{_ORDERS}\b"
    rf"|(?:a )?(?:{_ALL} )?(?:las |los |tus |sus )?(?:\w+ )?{_ORDERS} (?:{_EARLIER}|de arriba|del sistema|dadas)\b"
    rf"|(?:all (?:of )?(?:the |your )?|todas (?:las |tus )|your |tus ){_ORDERS}\b"
    r"|(?:everything|all|anything) (?:that (?:was |is )?)?(?:above|before|written (?:above|before)|you (?:were|have been) told)\b"
    r"|(?:todo )?lo (?:anterior|que (?:te|se le|se te) (?:dijo|dijeron|haya dicho))\b)",
    # you are now an unrestricted model; as an AI you must; actúa como un modelo de lenguaje
    rf"\b(?:you are (?:now|from now on|no longer)|from now on,? you are|pretend (?:to be|you are)) (?:\w+,? ){{0,4}}{_ADDRESSEE}\b",
    rf"\b(?:eres|es usted|usted es) ahora (?:\w+ ){{0,4}}{_ADDRESSEE}\b|\b(?:ahora|a partir de ahora),? (?:eres|usted es) (?:\w+ ){{0,4}}{_ADDRESSEE}\b",
    r"\byou (?:now )?have no (?:more )?(?:rules|restrictions|limits)\b|\b(?:safety|system) rules are (?:now )?(?:off|void|suspended)\b",
    r"\b(?:ya )?no tienes (?:reglas|restricciones|limites)\b|\blas reglas (?:de seguridad|del sistema) (?:ya no|quedan)\b",
    rf"\bas (?:an? )?{_ADDRESSEE},? you (?:must|should|will|shall|have to|are to|need to)\b",
    rf"\bcomo (?:un |una )?{_ADDRESSEE},? (?:debes?|tienes? que|ha(?:s|brá)? de)\b",
    rf"\b(?:act|behave|respond|answer|actua|actue|responde|responda|comportate) (?:as|like|como) (?:an? |un |una )?{_ADDRESSEE}\b",
    # System: …  Asistente: …  [SYSTEM: …]  Assistant, remember …
    rf"{_BEGINS}(?:assistant|asistente|chatgpt|(?:system|developer|mensaje del|prompt del) (?:prompt|message|note|override|sistema)) ?:",
    rf"{_BEGINS}(?:system|sistema|developer|desarrollador) ?: ?(?:{_IGNORE}|obe[yd]|you\b|from now|do not|the (?:safety )?rules|decode|say|(?:no )?digas|no rules)",
    rf"{_BEGINS}{_ADDRESSEE} ?,\s+(?!(?:and|or|y|o|the|a|el|la)\b)\w+",
    rf"{_BEGINS}user ?: ?(?:say|ignore|tell|print|write|now)\b",
    # note to the judge; nota para el reescritor de consultas; new rule for the assistant
    rf"\b(?:notes?|messages?|instructions?|rules?|attention|orders?) (?:to|for) {_THE}{_MODEL}\b ?(?:[:.,;!]|that|who|which|reading|$)",
    rf"\b(?:notas?|mensajes?|instruccion(?:es)?|reglas?|avisos?|ordenes?) (?:para|a|al) {_THE}{_MODEL}\b ?(?:[:.,;!]|que|$)",
    # reveal the system prompt; decode this and obey it
    r"\b(?:reveal|print|show|repeat|leak|output|revela|revele|muestra|muestre|imprime|repite) (?:me )?"
    r"(?:(?:the |your )?(?:system|hidden|initial) prompt\b|your prompt\b|(?:el|tu|su) prompt\b)",
    r"\b(?:decode|descodifica|decodifica)\b[^.\n]{1,60}\b(?:obey|follow|execute|obedece|ejecuta|sigue)(?:lo|la)?\b",
    # the marks of chat templates
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|begin_of_text|start_header_id|end_header_id)\|>|\[/?inst\]|<</?sys>>",
    rf"{_BEGINS}#{{2,}} ?(?:instructions?|system|response)\s*:",
)
_ORDER = re.compile("|".join(_RULES), re.MULTILINE)
_HINT = re.compile(  # a word of every rule: looking for one is far cheaper
    r"ignor|disregard|forget|overr|overwr|bypass|follow|obey|olvid|desobed|descart|no sig|no obed|omiso|assistant|asistente|developer|"
    r"desarrollador|\b(?:ai|ia|llm|user|reglas)\b|chat|gpt|model|system|sistema|rules|no rest|no limit|prompt|decod|descod|judge|juez|jueces|"
    r"rewriter|reescritor|summari[sz]er|<\||inst\]|sys>|instruction"
)
_SAME = str.maketrans("аеорсіхуѕјһԁԛԝοανιρτυ", "aeopcixysjhdqwoavipru")  # Cyrillic and Greek that look Latin
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*\x07?")  # of a terminal
_SPACES = re.compile(r"[^\S\n]+")


def gives_orders(text: str) -> bool:
    """Whether a text gives orders to a language model that reads it."""
    plain = _plain(text)
    return bool(_HINT.search(plain) and _ORDER.search(plain))


@functools.lru_cache(maxsize=4096)
def any_gives_orders(*texts: str) -> bool:
    """Whether one of a passage's texts does; passages are looked at again and again."""
    return any(map(gives_orders, texts))


def _plain(text: str) -> str:
    """In lower case and one alphabet, without accents and invisible characters."""
    bare = without_accents(_ESCAPES.sub(" ", without_invisible(text))).replace("’", "'")
    return _SPACES.sub(" ", bare.translate(_SAME))
