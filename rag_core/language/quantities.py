"""Numbers and units of measurement as English and Spanish write them."""

from __future__ import annotations

import re

_TO_TWENTY_NINE = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciseis diecisiete dieciocho diecinueve veinte veintiuno veintidos veintitres veinticuatro "
    "veinticinco veintiseis veintisiete veintiocho veintinueve",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "es": "treinta cuarenta cincuenta sesenta setenta ochenta noventa",
}
NUMBER_WORDS = {
    code: {word: value for value, word in enumerate(row.split())} for code, row in _TO_TWENTY_NINE.items()
}
TENS = {
    code: {word: 10 * value for value, word in enumerate(row.split(), start=2 if code == "en" else 3)}
    for code, row in _TENS.items()
}
LEAST = 2  # "one" and "uno" are usually pronouns

UNITS = {
    word: unit
    for unit, words in {
        "min": "minute minutes minuto minutos",
        "h": "hr hrs hour hours hora horas",
        "day": "days día días",
        "week": "weeks wk wks semana semanas",
        "month": "months mes meses",
        "year": "years año años",
        "mcg": "µg μg ug microgram micrograms microgramo microgramos",
        "mg": "milligram milligrams miligramo miligramos",
        "g": "gram grams gramo gramos",
        "kg": "kilogram kilograms kilo kilos kilogramo kilogramos",
        "ml": "millilitre millilitres milliliter milliliters mililitro mililitros",
        "l": "litre litres liter liters litro litros",
        "iu": "ui unit units unidad unidades",
        "mm": "millimetre millimetres milímetro milímetros",
        "cm": "centimetre centimetres centímetro centímetros",
        "%": "percent",
    }.items()
    for word in (unit, *words.split())
}
THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:[., \u00a0\u202f]\d{3})+")  # 1,500; 1.500; 1 500


def plain_number(written: str) -> str:
    """A number in digits with a decimal point alone: "1,500" is "1500", and "0,5" is "0.5"."""
    return re.sub(r"\D", "", written) if THOUSANDS.fullmatch(written) else written.replace(",", ".")
