"""Whether a text or a subject is about pregnancy, birth or a baby."""

from __future__ import annotations

import re

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
