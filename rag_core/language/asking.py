"""What a question asks for, and which sentences give it.

"How much", "may I" and "how is it treated" want different sentences of the same passage: one with a quantity,
one that permits or forbids, one that names a treatment. Both sides are patterns, in English and Spanish.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Literal

Kind = Literal[
    "quantity", "dose", "time", "permission", "action", "definition", "cause", "treatment", "reassurance", "signs",
    "risk", "test", "who", "where", "avoid", "food",
]  # fmt: skip

_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|twelve|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce)"
_NUMBER = rf"(?:\d+(?:[.,]\d+)?|{_COUNT}|an?|one|half|media|un[ao]?)"
_TIME_UNIT = (
    r"(?:seconds?|minutes?|mins?|hours?|days?|weeks?|months?|years?|trimesters?|"
    r"segundos?|minutos?|horas?|días?|semanas?|mes(?:es)?|años?|trimestres?)"
)
_RESULT = (
    r"(?! (?:tests?|results?|values?|counts?|levels?|scans?|saline))"  # is normal, and nobody is reassured
)


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(parts) + ")", re.IGNORECASE)


_ASKS: Mapping[Kind, re.Pattern[str]] = {
    "quantity": _pattern(
        r"how (?:much|many|often|likely|big|high|low|warm|heavy|common|tall|far)\b",
        r"what (?:dose|percentage|share|level|value|temperature|amount|proportion|chance)\b",
        r"cu[aá]nt[ao]s?\b(?! tiempo)", r"qu[eé] (?:dosis|cantidad|porcentaje|valor|nivel|probabilidad)",
        r"(?:cut-?off|dose|dosage|dosis|centiles?|percentil|threshold|umbral|puntos? (?:de )?corte|limit|l[ií]mite|g/l|mmol)\b",
        r"(?:am i|is it) (?:over|under|above|below)\b", r"probabilidad",
    ),
    "dose": _pattern(
        r"(?:dose|dosage|dosing|dosis|how (?:much|many) .{0,40}(?:take|give[ns]?)\b|cu[aá]nt[ao]s? (?:mg|miligramos|gramos|unidades)\b)",
    ),
    "time": _pattern(
        r"follow-?up\b", r"seguimiento\b",
        r"when\b(?! (?:i|you|she|he|we|they|the|my|her|it|pregnant|a|lying|taken|there|should a woman)\b(?! (?:get|go|start|call|have)))",
        r"when (?:is|are|do|does|can|could|should|will|may|must|to)\b",
        r"how (?:long|soon|late|early|often|many (?:hours|days|weeks|months|minutes|times|years))\b",
        r"(?:at|by|until|from|in|up to) (?:what|which) (?:weeks?|point|age|month|day|time|stage)",
        r"(?:what|which) weeks?\b", r"will it (?:pass|go|stop)",
        r"cu[aá]ndo\b", r"cada cu[aá]nto", r"cu[aá]nto (?:tiempo|dura|tarda|rato)", r"(?:hasta|desde) cu[aá]ndo",
        r"cu[aá]nt[ao]s (?:horas|d[ií]as|semanas|mes[ce]?es|meces|minutos|años|veces)",
        r"(?:en|a|hasta|desde|de) qu[eé] (?:semana|mes|momento|d[ií]a|edad|hora)", r"qu[eé] semanas?",
        r"(?:timing|duration|duraci[oó]n|weeks|semanas)\W*$",
    ),
    "permission": _pattern(
        r"(?:can|may|could|should) (?:i|we|you|she|he|a (?:mother|woman|pregnant)|the (?:mother|baby)|my|pregnant)\b",
        r"(?:is|are|was) (?:it|this|that|they|there|\w+(?: \w+){0,4}) (?:still |really )?(?:safe|ok|okay|all right|alright|allowed|alowed|dangerous|harmful|advised|risky|permitted)\b",
        r"(?:am|are) (?:i|you|we) allowed", r"safe\b", r"must (?:i|we|you|be|not)\b", r"do i (?:need|have)",
        r"(?:can|may|must|should) .{3,60} be (?:taken|used|given|eaten|left|avoided)", r"to avoid\b", r"avoid\b",
        r"need(?:ed)? to\b", r"(?:don't|do not) need\b", r"contraindicated",
        r"(?:puedo|puede|pueden|podemos|podr[ií]a)\b", r"se (?:puede|pueden|permite|debe|deben|la doy|lo doy)\b",
        r"(?:es|son|ser[aá]) (?:seguros?|seguras?|peligros[ao]s?|malos?|malas?|prudente|recomendable|necesari[ao]s?|aconsejable)\b",
        r"(?:debo|debe|deben|tengo que|hay que) (?:evitar|dejar|tomar)?\b", r"evitar\b", r"contraindicad",
        r"le hace (?:algo|daño|mal)", r"hace falta|necesit[ao]n?\b", r"me conviene",
    ),
    "action": _pattern(
        r"what (?:do|should|can|must|shall) (?:i|we|you|she|one) do\b", r"what (?:to do|comes first|next|now)\b",
        r"what is done\b", r"(?:should|do|must) (?:i|we|she) (?:go|call|come|see|ring|wait|worry|be seen|seek|get checked)",
        r"(?:who|whom) (?:should|do|can) (?:i|we|she) (?:call|tell|ring)", r"help\W*$", r"help!",
        r"qu[eé] (?:hago|hacer|hacemos|debo hacer|tengo que hacer|se hace)\b", r"(?:debo|tengo que|hay que) (?:ir|llamar|acudir|preocuparme)",
        r"(?:voy|espero|llamo|vamos) (?:a|al)\b", r"auxilio|ayuda\b|socorro",
    ),
    "definition": _pattern(
        r"(?:what|wat) (?:is|are|was|does)\b(?! (?:the (?:best|treatment|risk|dose|chance|difference|symptoms?|signs?|cause)|done|given|offered|my|recommended|safe|it like|normal))(?!.{0,40}\b(?:do|cause|mean for)\b)",
        r"what's an?\b", r"define\b", r"meaning of", r"what .{1,40} mean\b",
        r"qu[eé] (?:es|son|significa|quiere decir)\b(?! (?:lo|bueno|mejor|recomendable|normal))",
    ),
    "cause": _pattern(
        r"why\b", r"what (?:causes?|brings|makes|leads)\b", r"causes? of", r"reasons? (?:for|why)", r"how come",
        r"por ?qu[eé]\b", r"a qu[eé] se deben?", r"qu[eé] (?:causa|provoca|produce|origina)n?\b", r"causas? de", r"para qu[eé]\b",
        r"(?:important|importante)\b",
    ),
    "treatment": _pattern(
        r"(?:treat(?:ed|ment|ments|ing)?|cure[ds]?|therapy|manag(?:e|ed|ement)|relie[fv]\w*|remed\w+)\b",
        r"(?:anything|what|something) (?:i can|can i|to|helps?|should i|do i|medicines?|pills?|tablets?|antibiotics?)\b(?= take| use| do | help| to | for|s? )",
        r"(?:which|what) (?:pills?|tablets?|medicines?|medecine|antibiotics?|drugs?)\b", r"get rid of", r"how (?:do|can) i (?:stop|ease|wash|help|calm)",
        r"(?:tratamientos?|tratar|tratad[ao]s?|cura[rn]?|terapia|manejo|remedios?|aliviar|pauta)\b", r"(?:cómo|como) se (?:trata|cura|cuida|maneja|alivia)n?\b",
        r"qu[eé] (?:puedo tomar|tomo|se puede tomar|antibi[oó]ticos?|medicinas?|pastillas?)", r"q antiviotico", r"con qu[eé] me",
        r"(?:antibiotic|antibi[oó]tico|medecine|medicine)s?\b",
    ),
    "reassurance": _pattern(
        r"(?:is|are) (?:it|this|that|these|they|those) (?:still )?(?:normal|usual|common|ok|fine|withdrawal)", r"is .{0,50} normal\b",
        r"will (?:it|this|they) (?:pass|go|stop)", r"do (?:they|these|those) (?:go away|pass|count)", r"should i (?:worry|be worried)", r"(?:anything|something) wrong",
        r"(?:es|son|ser[aá]) (?:est[oe] )?(?:normal|normales|habitual|frecuente)", r"(?:se me va|se va|se pasa|pasa) (?:a pasar|s[oó]l[ao]|algo)", r"me (?:tengo que |debo )?preocup", r"no ser[aá]\b", r"le hice daño", r"puede ser\b",
    ),
    "signs": _pattern(
        r"(?:signs?|symptoms?|recogni[sz]e|notice)\b", r"how (?:do|can|will|would) (?:i|we|you) (?:know|tell|recogni[sz]e)", r"what (?:does|do) .{1,40} (?:look|feel) like",
        r"(?:s[ií]ntomas?|señales|signos?|reconocer|diferenci\w+|distinguir)\b", r"c[oó]mo (?:sé\b|se si\b|puedo saber|se nota|se reconoce)",
    ),
    "risk": _pattern(
        r"(?:risks?|riskier|dangers?|side effects?|complications?|harms?|harmful|malformations?|affect)\b", r"what .{0,60} (?:does|do|can) .{0,40} (?:cause|do to)",
        r"(?:riesgos?|peligros?|efectos? secundarios?|efectos? adversos?|complicaciones|malformaciones|consecuencias)\b", r"hace daño|afecta",
    ),
    "test": _pattern(
        r"(?:diagnos\w+|tested|tests?|screen(?:ed|ing|s)?|investigations?|scans?|check(?:ed|s)?|measured|detected)\b",
        r"(?:diagn[oó]stic\w+|pruebas?|an[aá]lisis|cribado|ecograf\w+|detecta\w*|control(?:es)?)\b",
    ),
    "who": _pattern(r"(?:who|whom|whose)\b", r"which (?:women|mothers|babies|people|patients)\b", r"qui[eé]n(?:es)?\b", r"qu[eé] (?:mujeres|madres|beb[eé]s|personas|embarazos)\b"),
    "where": _pattern(r"where\b", r"d[oó]nde\b"),
    "food": _pattern(
        r"(?:what|wat|which foods?|food) (?:can|should|may|must|do|to|shall) (?:(?:i|we|she|you) )?(?:not )?eat\b", r"what (?:foods?|diet)\b",
        r"(?:qu[eé]|q) (?:puedo|debo|puede|se puede|tengo que|hay que) (?:comer|desayunar|cenar)\b", r"qu[eé] (?:como|alimentos|comidas?|dieta)\b",
    ),
    "avoid": _pattern(
        r"avoid(?:ed|ing)?\b", r"(?:not|n't) (?:eat|drink|take|do|have)\b", r"(?:not|isn't|aren't) (?:allowed|safe)", r"off limits|forbidden|left until",
        r"evitar\w*", r"prohibid\w+", r"contraindicad\w+", r"no (?:puedo|debo|se puede|se debe|puede|debe) (?:comer|beber|tomar|hacer)", r"tengo que dejar",
    ),
}  # fmt: skip

_GIVES: Mapping[Kind, re.Pattern[str]] = {
    "quantity": _pattern(r"\d", rf"{_COUNT}\b", r"(?:half|a third|a quarter|most|la mitad|un tercio|un cuarto) (?:of|de)\b", r"(?:one|a|un[oa]?) (?:in|de cada) ", r"once|twice|double|el doble"),
    "dose": _pattern(r"\d[\d.,]*(?: (?:to|or|a|o|y|and) \d[\d.,]*)? ?(?:mg|g|grams?|micrograms?|mcg|IU|UI|units?|gramos?|microgramos?|unidades)\b"),
    "time": _pattern(
        rf"{_NUMBER}(?:\s|-)*(?:(?:to|or|and|a|o|y|-|–|y|and a half)\s*{_NUMBER}(?:\s|-)*)?{_TIME_UNIT}", rf"{_TIME_UNIT} \d", r"(?:at|after|before|within|until|during|by) (?:the |each |every )?(?:birth|first|second|third|each|visit|labour|booking)",
        r"(?:every|each|cada) \w+", r"(?:once|as soon as|straight after|una vez|en cuanto|al nacer)\b", r"(?:antes|después|dentro|a partir|hasta|durante) de(?:l)? ",
    ),
    "permission": _pattern(
        r"(?:safe(?:ly|r)?|unsafe|avoid(?:ed|s|ing)?|allowed|recommended|advised?|advises|harmless|harmful|suitable|contraindicated|forbidden|permitted|necessary|unnecessary|required|accept(?:s|ed|able)|need not|needs? no|enough|fine|all right|unless|only if|only when)\b",
        r"(?:can|may|should|must|do|does|is|are)(?: \w+)? not\b", r"(?:cannot|never|can|may|should|must|don't)\b", r"no (?:need|reason|evidence|risk|harm)\b", r"not (?:needed|used|given|taken|eaten|advised|recommended|safe)",
        r"(?:segur[ao]s?|evit\w+|permit\w+|recomiend\w*|recomendad\w*|aconsej\w*|inofensiv\w*|contraindicad\w*|prohib\w*|necesari\w*|acepta\w*|admite\w*|salvo|siempre que|solo si|basta)\b",
        r"no (?:se )?(?:debe|puede|hay|hace falta|es|son|tome|tomes|conviene|use|usa|necesita)\w*\b", r"(?:nunca|puede|pueden|puedes|debe|deben|conviene|hay que)\b",
    ),
    "action": _pattern(
        r"(?:call|go|ring|phone|telephone|contact|see|seek|come|tell|ask|lie|turn|sit|drink|keep|stay|do not|don't|put|take|get|wear|rest|wash|stop)\b(?= )",
        r"(?:needs?|means?) (?:\w+ ){0,3}(?:assessment|assessed|check|checked|help|care|going|calling|visit)", r"at once|straight away|immediately|same day|without delay",
        r"(?:llam[ae]|acud[ae]|vay[ae]|ve|ven|busc[ae]|consult[ae]|pid[ae]|cont[aá]ct[ae]|coloc[ae]|pong[ae]|pon|qued[ae]|tom[ae]|no (?:esper|tom|hag|us)\w+)(?:n|s)?\b",
        r"hay que|de inmediato|enseguida|urgencias|sin demora|cuanto antes|el mismo día|mismo día",
    ),
    "cause": _pattern(
        r"(?:because|caused? by|causes?|due to|leads? to|comes? from|since|so that|result(?:s)? (?:from|of)|reason|makes?|triggers?|depends?)\b",
        r"(?:porque|debid[ao]s?|se debe|causa\w*|provoca\w*|produce\w*|ya que|por eso|para que|origina\w*|pues|depende\w*)\b",
    ),
    "treatment": _pattern(
        r"(?:treat(?:ed|ment|ments|s)?|given|taken?|tablets?|medicines?|antibiotics?|insulin|metformin|diet|mg|dose|doses|injections?|cream|drip|relieves?|eases?|helps?|therapy|first choice|first-line|first step|surgery|operation|bath|compress\w*|wash|exercise)\b",
        r"(?:trat(?:a|an|amiento|amientos|ar|ado|ada)|se (?:da|dan|administra\w*|usa|usan|toma|toman)|tom[ae]\w*|pastillas?|comprimidos?|antibi[oó]ticos?|insulina|metformina|dieta|mg|dosis|inyecci\w+|crema|alivia\w*|ayuda\w*|terapia|primera (?:opción|elección|línea)|lav\w+|ejercicio|compresas?)\b",
    ),
    "reassurance": _pattern(
        rf"(?:normal(?:ly)?{_RESULT}|common(?:ly)?|usual(?:ly)?|harmless|passes|pass|goes? away|go away|settles?|fades?|disappears?|nothing|most (?:women|mothers|babies)|by itself|on its own|does not (?:harm|hurt|mean)|do not (?:harm|count)|not a sign|no cause|improves?|wears off|clears?)\b",
        rf"(?:normal(?:es|mente)?{_RESULT}|habitual(?:es|mente)?|frecuentes?|comun(?:es)?|com[uú]n|inofensiv\w+|desaparec\w+|se (?:va|van|pasa|pasan|quita|quitan|resuelve\w*|alivia\w*)|mejora\w*|no (?:hace|causa|es|son|significa|daña)\w*|la mayoría|suele\w*)\b",
    ),
    "signs": _pattern(
        r"(?:signs?|symptoms?|include|notice|feels?|pain|swelling|bleeding|fever|headache|often|discharge|rash|itching)\b", r"(?:s[ií]ntomas?|señales?|signos?|incluyen?|nota|notar|siente|dolor|hinchazón|sangrado|fiebre|cefalea|suele\w*|avisa\w*)\b",
    ),
    "risk": _pattern(
        r"(?:risks?|chance|likely|complications?|side effects?|can (?:cause|lead)|higher|more often|rare(?:ly)?|may cause|raises?|increases?|danger\w*|affects?|harm\w*|defects?|injur\w*)\b", r"(?:riesgos?|probab\w+|complicaci\w+|efectos?|puede[n]? (?:causar|provocar|producir)|mayor|más frecuente|rar[ao]s?|aumenta\w*|peligr\w+|afecta\w*|malformaci\w+|lesi[oó]n\w*|infecci\w+)\b",
    ),
    "test": _pattern(
        r"(?:tests?|tested|scans?|measured?|screen\w*|diagnos\w+|blood|urine|sample|ultrasound|check(?:ed|s)?|swab|examin\w+|compared?)\b", r"(?:pruebas?|an[aá]lisis|ecograf\w+|mide\w*|medir|cribado|diagn[oó]stic\w+|sangre|orina|muestra|control\w*|exploraci\w+|compara\w*)\b",
    ),
    "who": _pattern(r"(?:women|mothers?|babies|woman|midwife|doctors?|GP|obstetrician|team|people|anyone|partner|nurse|hotline|helpline|police)\b", r"(?:mujer(?:es)?|madres?|beb[eé]s?|matrona|partera|m[eé]dic[ao]s?|equipo|personas?|quienes?|pareja|enfermer[ao])\b"),
    "avoid": _pattern(
        r"(?:avoid\w*|never|must not|should not|cannot|wait until|left out|leave out|stop\w*|limit\w*|not (?:eaten|used|given|taken|advised|recommended|safe|suitable)|do not|don't|unpasteuri[sz]ed|raw|contraindicated)\b",
        r"(?:evit\w+|nunca|no (?:se )?(?:deben?|pueden?|com\w+|tom\w+|us\w+|recomiend\w+|conviene\w*|es segur\w|son segur\w+)|sin pasteurizar|crud[ao]s?|contraindicad\w+|prohib\w+|limit\w+|dej\w+ de)\b",
    ),
    "food": _pattern(
        r"(?:foods?|eat(?:en)?|diets?|carbohydrates?|bread|fruits?|vegetables?|salad|meat|fish|eggs?|milk|cheese|pulses|nuts|rice|cereals?|liver)\b",
        r"(?:alimentos?|com[ea]\w*|dietas?|carbohidratos|hidratos|pan|frutas?|verduras?|ensaladas?|carnes?|pescados?|huevos?|leche|quesos?|legumbres|arroz|cereales|h[ií]gado)\b",
    ),
    "where": _pattern(r"(?:hospital|unit|clinic|home|centre|center|ward|pharmacy|under|in the|on the|at the|maternity)\b", r"(?:hospital|centro|casa|consulta|maternidad|farmacia|urgencias|debajo|en el|en la)\b"),
}  # fmt: skip


_AT_WEEK = re.compile(
    r"\b(?:at|by|a las|con) \d{1,2}(?:\+\d)? (?:weeks?|wks?|semanas?)\b|\b(?:in|en la) (?:week|semana) \d{1,2}\b",
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=4096)
def asks(question: str) -> frozenset[Kind]:
    """What a question or heading asks for; often several things, nothing for bare keywords."""
    found: set[Kind] = {kind for kind, pattern in _ASKS.items() if pattern.search(question)}
    if "time" in found:  # "how many weeks" wants a time, not any number
        found.discard("quantity")
    if "permission" in found and _AT_WEEK.search(question):  # may it be done then: until or from when it may
        found.add("time")
    if "avoid" in found:  # what is forbidden, not what is allowed
        found.discard("permission")
    if found - {"definition"}:  # "what is the treatment" wants the treatment
        found.discard("definition")
    return frozenset(found)


@functools.lru_cache(maxsize=65536)
def gives(sentence: str) -> frozenset[Kind]:
    """What a sentence can answer."""
    return frozenset(kind for kind, pattern in _GIVES.items() if pattern.search(sentence))


_JOINT = re.compile(
    r"(?:\?\s+|;\s*|,\s*|\s+)(?:and |y |e )(?=¿?(?:what|which|when|how|why|who|where|can|may|do|does|is|are|should|will|must|qu[eé]|cu[aá]nd\w+|"
    r"cu[aá]nt\w+|c[oó]mo|cu[aá]l(?:es)?|d[oó]nde|de qu[eé]|puedo|sirve|debo|hay que)\b)"
    r"|[?;,]\s+(?=¿?(?:what|which|when|how|why|who|where|can|may|do|does|should|must|qu[eé]|cu[aá]nd\w+|cu[aá]nt\w+|c[oó]mo|cu[aá]l(?:es)?|"
    r"d[oó]nde|puedo|sirve|debo)\b)",
    re.IGNORECASE,
)
MIN_PART = 3  # words


def parts(question: str) -> list[str]:
    """The questions in a question: "what is it, and when is it given?" has two.

    A question word after a comma, "and" or a question mark begins the next; what comes before the first
    question word belongs to the first.
    """
    found: list[str] = []
    for piece in _JOINT.split(question):
        if found and not (
            asks(found[-1]) and len(found[-1].split()) >= MIN_PART and len(piece.split()) >= MIN_PART
        ):
            found[-1] = f"{found[-1]}, {piece}"
        elif piece.strip():
            found.append(piece.strip())
    return found or [question]
