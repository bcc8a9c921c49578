import itertools
import json

import pytest
from helpers.looping import for_each
from helpers.small import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core import triage
from rag_core.safety.privacy import find_private, kinds_in_words, redact

NAME, PHONE, EMAIL, RECORD, ID, ADDRESS = (
    "name_and_birth_date", "phone", "email", "record_number", "national_id", "address",
)  # fmt: skip
LABELLED = {
    part: [
        json.loads(line)
        for line in (ROOT / "data" / "private" / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for part in ("dev", "test")
}


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.kind) for span in find_private(text)]


# (country, right check digits, the same with wrong ones)
CHECKED = [
    ("ES", "12345678Z", "12345678A"),
    ("ES", "X1234567L", "X1234567A"),
    ("MX", "GODE561231GR8", "GODE569931GR8"),  # the date in it is none
    ("PE", "20512333797", "20512333798"),
    ("AR", "27-36823324-8", "27-36823324-7"),
    ("CL", "12.345.678-5", "12.345.678-6"),
    ("US", "536-90-4399", "000-90-4399"),
    ("GB", "943 476 5870", "943 476 5871"),
]


@for_each(("country", "right", "wrong"), CHECKED)
def test_an_identity_number_without_its_name_counts_if_its_check_digits_are_right(country, right, wrong):
    assert found(f"Gestante {right}, 28+3") == [(right, ID)]
    assert (wrong, ID) not in found(f"Gestante {wrong}, 28+3")


@for_each(
    ("country", "text", "number"),
    [
        ("ES", "DNI 12345678A de la paciente", "12345678A"),
        ("ES", "NIE X1234567A", "X1234567A"),
        ("ES", "tarjeta sanitaria ABCD 1234567 890", "ABCD 1234567 890"),
        ("MX", "BOXW310820HNERXN09, 12 sdg", "BOXW310820HNERXN09"),
        ("MX", "CURP BOXW310820HNER incompleta", "BOXW310820HNER"),
        ("MX", "NSS 12 34 56 7890 1", "12 34 56 7890 1"),
        ("PE", "DNI 45678912, 35 ss", "45678912"),
        ("PE", "RUC 20512333798", "20512333798"),
        ("CO", "cédula de ciudadanía 1.020.345.678", "1.020.345.678"),
        ("CO", "C.C. 52345678 de Bogotá", "52345678"),
        ("CO", "NUIP 1222621806", "1222621806"),
        ("AR", "DNI 31.510.572, cursando 32", "31.510.572"),
        ("AR", "CUIL 27-36823324-7", "27-36823324-7"),
        ("CL", "RUT 12.345.678-6, 20 semanas", "12.345.678-6"),
        ("US", "SSN 000-90-4399", "000-90-4399"),
        ("GB", "her NHS number is 943 476 5871", "943 476 5871"),
        ("GB", "NI number QQ 12 34 56 C", "QQ 12 34 56 C"),
    ],
)
def test_a_number_after_its_name_counts_whatever_its_check_digits(country, text, number):
    assert found(text) == [(number, ID)]


def test_a_second_number_is_read_with_the_name_of_the_first():
    numbers = [("943 476 5871", ID), ("703 979 1693", ID)]
    assert found("wife's NHS number 943 476 5871 and mine 703 979 1693, 10 weeks") == numbers


@for_each(
    ("country", "number"),
    [
        ("ES", "612 345 678"),
        ("MX", "55 6579 9312"),
        ("PE", "945 262 208"),
        ("CO", "310 555 1234"),
        ("AR", "0351 424-6648"),
        ("CL", "+56 9 4528 3598"),
        ("US", "(617) 555-0152"),
        ("GB", "07700 900854"),
        ("GB", "020 7946 0951"),
        ("IE", "+353 86 123 4567"),
    ],
)
def test_a_phone_number_is_found_with_or_without_its_name(country, number):
    for text in (f"tel {number} por favor", f"28+3, {number}, sangrado"):
        assert found(text) == [(number, PHONE)]


def test_a_phone_number_that_cannot_be_valid_counts_after_a_word_for_calling():
    assert found("call me on 555-0143") == [("555-0143", PHONE)]
    assert found("28 weeks, 555-0143") == []


PRIVATE = {
    EMAIL: [
        ("from megan.t.foster@example.com: bleeding", "megan.t.foster@example.com"),
        ("JAMES.OKORO@EXAMPLE.CO.UK?", "JAMES.OKORO@EXAMPLE.CO.UK"),
        ("reach dr.lin at example dot com.", "dr.lin at example dot com"),
        ("escribe a ana_perez arroba correo punto es", "ana_perez arroba correo punto es"),
    ],
    RECORD: [
        ("MRN-773565, asthma", "773565"),
        ("hospital number X105665", "X105665"),
        ("The number on my maternity notes is 6761703", "6761703"),
        ("Chart #44521", "44521"),
        ("NHC 158488", "158488"),
        ("HC 739284-9; RCIU", "739284-9"),
        ("Historia clínica N° 12345", "12345"),
        ("expediente ISSSTE 294336/5", "294336/5"),
        ("ficha 16797-6: PTI", "16797-6"),
    ],
    ADDRESS: [
        ("en C/ Alcalá, 45, 2.º dcha., 28014 Madrid y sangro", "C/ Alcalá, 45, 2.º dcha., 28014 Madrid"),
        ("Calle Jacarandas 118 int. 4, Col. Las Flores, 44600 Guadalajara, Jal. Parto", "Calle Jacarandas 118 int. 4, Col. Las Flores, 44600 Guadalajara, Jal."),
        ("Av. El Sol 1225, dpto. 301, Wanchaq, Cusco; puérpera", "Av. El Sol 1225, dpto. 301, Wanchaq, Cusco"),
        ("Carrera 7 # 45-20, apto 301, Bogotá", "Carrera 7 # 45-20, apto 301, Bogotá"),
        ("domicilio Pje. Las Heras 233, B° Yapeyú, X5000 Córdoba", "Pje. Las Heras 233, B° Yapeyú, X5000 Córdoba"),
        ("Pasaje Los Aromos 1234, depto 45, Ñuñoa, Santiago", "Pasaje Los Aromos 1234, depto 45, Ñuñoa, Santiago"),
        ("at 602 N Magnolia Ave, Ocala, Florida 34475 and", "602 N Magnolia Ave, Ocala, Florida 34475"),
        ("lady at Flat 3, 118 Gladstone Road, Nottingham NG7 5BT refusing", "Flat 3, 118 Gladstone Road, Nottingham NG7 5BT"),
    ],
    NAME: [
        ("Mum Ewa Nowak, b. 1986-04-30, 39+6", "Ewa Nowak, b. 1986-04-30"),
        ("PATEL, Nisha 21-NOV-1988: HbA1c 58", "PATEL, Nisha 21-NOV-1988"),
        ("Label:\nMOHAMED Hodan\nDOB 12/02/1997", "MOHAMED Hodan\nDOB 12/02/1997"),
        ("DOB 03/04/1991, Jane Smith, 28/40", "DOB 03/04/1991, Jane Smith"),
        ("my name is laura gomez, born 12/03/1990", "laura gomez, born 12/03/1990"),
        ("Luz Dary Castaño – FN: 17.06.1979, 47 años", "Luz Dary Castaño – FN: 17.06.1979"),
        ("Soy Karla Menjívar, 09/30/1997.", "Karla Menjívar, 09/30/1997"),
        ("Carla Paz de 34 años, nacida el 1/2/90", "Carla Paz de 34 años, nacida el 1/2/90"),
        ("(nací el 1 de agosto del 93) Ana Gil", "nací el 1 de agosto del 93) Ana Gil"),
    ],
}  # fmt: skip


@for_each(("kind", "text", "what"), [(kind, *row) for kind, rows in PRIVATE.items() for row in rows])
def test_addresses_also_of_e_mail_spelt_out_record_numbers_and_names_with_birth_dates(kind, text, what):
    assert found(text) == [(what, kind)]


@for_each(
    ("text", "who"),
    [
        ("My name is Maria Lopez, can I fly?", ["Maria Lopez"]),
        ("Hello, my name\u2019s Jo O'Neill and I am 30 weeks", ["Jo O'Neill"]),
        ("I'm called Ewa I am 30 weeks", ["Ewa"]),
        ("Her name is Nisha Patel", ["Nisha Patel"]),
        ("Me llamo María de la Cruz Peña y tengo 30 semanas", ["María de la Cruz Peña"]),
        ("Hola, mi nombre es Luz", ["Luz"]),
        ("my name is not on the list", []),
        ("Mi nombre es privado", []),
        ("¿Cómo se llama la prueba del talón? ¿Es el Test de Guthrie?", []),
        ("What is HELLP Syndrome called in Spanish?", []),
    ],
)
def test_a_name_that_introduces_someone_is_found_alone(text, who):
    assert found(text) == [(name, "name") for name in who]
    assert redact(text).count("[name]") + redact(text).count("[nombre]") == len(who)


def test_a_name_that_introduces_someone_is_asked_about_once_and_hides_nothing_after_it():
    assert found("Me llamo Ana, DNI 12345678Z") == [("Ana", "name"), ("12345678Z", ID)]
    assert found("My name is Ewa Nowak, b. 1986-04-30") == [("Ewa Nowak, b. 1986-04-30", NAME)]


def test_what_stands_between_a_name_and_its_birth_date_keeps_its_own_kind():
    kinds = [("Ana Ruiz", NAME), ("12345678Z", ID), ("FN 12/03/1990", NAME)]
    assert found("Ana Ruiz DNI 12345678Z FN 12/03/1990") == kinds


LOOK_ALIKES = """LMP 03/04/2026, EDD 8 January 2027
FUR 12/03/2026, FPP 19/12/2026, 28+3 semanas
BP 142/91, HR 110, RR 22, SpO2 96 %, TA 160/110 en dos tomas
EPDS 13, item 10 = 1; Apgar 4/6/8 a las 10:32
Hb 9.1 g/dL, platelets 85,000, AST 120, LDH 650
beta hCG 12,345 then 24,690
historia de trombocitopenia, plaquetas 85000
NICE NG133 2019, RCOG 37a April 2015, NOM-007-SSA2-2016
¿Llamo al 112, al 024 o al 016?
Should I call 988, 111, 1-833-852-6262, 116 123 or 0808 2000 247?
Línea de la Vida 800 911 2000, Salud Responde 600 360 7777, 0800 999 0091
HC 325 mm, AC 310, FL 68, EFW 2450 g
curva 92-180-155-140; OGTT 5.1 / 10.0 / 8.5
oxitocina 10 UI en 1000 ml a 6-12-24 ml/h
labetalol 200 c/12, hidralazina 5 c/20 y sigue
vitamin B12 1000 mcg, 1000/200 IU, levothyroxine 100-125-150 mcg
vaccine batch AB1234 given 12/03/2026
Kleihauer Betke 14/02/2026: 0,8 %
Graves diagnosed 12/03/2019, Hospital General, 12/03/2026 ingreso
Baby born 09/01/2026, 4 days old, SBR 268
My sister Jane gave birth on 12/03/2026
Doctora Ana Gil dice que mi bebé nacido el 3/1/2026 está bien
El bebé de María bajó 9 % al tercer día
camino 30 minutos al día, vía oral 500 mg cada 8 horas
vivo en la calle y tengo 30 semanas; vivo en Cusco a 3.400 m
30 minutes down the road from the hospital, 2 doses of St John's Wort
Doctors Hospital floor 4, room 412
NCT02451234, rs1801133, c.1601G>A, 46,XY,t(9;22)(q34;q11)
¿Necesito DNI o NIE para pedir cita el 12/03/2026?
Do I need my NHS number to book at 8 weeks?"""


@for_each("text", LOOK_ALIKES.splitlines())
def test_clinical_numbers_and_helplines_are_left_alone(text):
    assert found(text) == []


def test_no_built_in_question_for_tuning_has_private_data():
    for language in ("en", "es"):
        folder = ROOT / "data" / "questions" / language
        judged = (folder / "qrels" / "dev.tsv").read_text(encoding="utf-8").splitlines()
        dev = {line.partition("\t")[0] for line in judged}
        asked = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        texts = [row["text"] for row in map(json.loads, asked) if row["_id"] in dev]
        assert len(texts) > 50
        assert [text for text in texts if find_private(text)] == []


@pytest.mark.parametrize(("part", "recall", "precision"), [("dev", 1.0, 1.0), ("test", 0.91, 0.99)])
def test_labelled_questions(part, recall, precision):
    """Recall: labelled pieces covered whole. Precision: found pieces that lie in labelled ones by half or more."""
    pieces = covered = spans = right = 0
    for row in LABELLED[part]:
        text = row["text"]
        hits = [_letters(text, span.start, span.end) for span in find_private(text)]
        labels = [_letters(text, start, end) for start, end, _ in row["spans"]]
        inside, hidden = set().union(*labels), set().union(*hits)
        pieces, covered = pieces + len(labels), covered + sum(one <= hidden for one in labels)
        spans, right = spans + len(hits), right + sum(2 * len(one & inside) >= len(one) for one in hits)
    assert covered / pieces >= recall
    assert right / spans >= precision


def _letters(text: str, start: int, end: int) -> set[int]:
    return {at for at in range(start, end) if text[at].isalnum()}


def test_the_labels_are_places_in_their_questions():
    for row in (row for rows in LABELLED.values() for row in rows):
        for start, end, kind in row["spans"]:
            assert row["text"][start:end] == row["text"][start:end].strip() != ""
            assert kind in (NAME, PHONE, EMAIL, RECORD, ID, ADDRESS)


def test_redaction_names_the_kind_in_the_language_of_the_question():
    assert (
        redact("Call me on 07700 900854, is it safe to fly at 36 weeks?")
        == "Call me on [phone], is it safe to fly at 36 weeks?"
    )
    spanish = "Mi teléfono es 612 345 678 y tengo 36 semanas, ¿puedo volar?"
    assert redact(spanish) == "Mi teléfono es [teléfono] y tengo 36 semanas, ¿puedo volar?"
    assert redact("Is it safe to fly at 36 weeks?") == "Is it safe to fly at 36 weeks?"


@for_each("row", LABELLED["dev"], ids=lambda row: row["text"][:30])
def test_nothing_is_left_to_find_in_a_redacted_question(row):
    assert find_private(redact(row["text"])) == ()


@for_each("row", LABELLED["dev"], ids=lambda row: row["text"][:30])
def test_redaction_changes_nothing_about_how_urgent_a_question_is(row):
    assert triage(redact(row["text"])) == triage(row["text"])


def test_a_named_person_with_an_urgent_sign_is_no_lesson_once_redacted():
    typed = "Ewa Nowak, b. 1986-04-30, NHS 943 476 5870: severe headache and flashing lights at 36 weeks"
    assert triage(typed).level == triage(redact(typed)).level == "emergency"


def test_the_kinds_in_words_never_repeat_the_data():
    assert kinds_in_words(find_private("tel 612 345 678, mail ana@example.com, otro tel 612 345 679")) == (
        "a phone number and an e-mail address"
    )


@given(st.text(alphabet=st.sampled_from("aAé1 2.-/,()+@#\n") | st.characters(), max_size=200))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_any_text_gives_spans_in_order_that_do_not_overlap(text):
    spans = find_private(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(one.end <= other.start for one, other in itertools.pairwise(spans))
    redact(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I am Maria Lopez, phone 07700 900854", "Maria Lopez"),
        ("I'm Maria Lopez and I bleed", "Maria Lopez"),
        ("Soy Ana Gil y tengo 34 semanas", "Ana Gil"),
        ("My name is maria lopez and I bleed", "maria lopez"),
        ("me llamo ana de la torre y sangro", "ana de la torre"),
        ("Paciente: LÓPEZ GARCÍA, ANA", "LÓPEZ GARCÍA, ANA"),
        ("Patient: Maria Lopez. 32 weeks", "Maria Lopez"),
    ],
)
def test_a_name_that_is_introduced_is_found_without_a_birth_date(text: str, name: str) -> None:
    assert name in [text[span.start : span.end] for span in find_private(text) if span.kind == "name"]


@pytest.mark.parametrize(
    "text",
    [
        "I am Rh Negative, do I need anti-D?", "I am Type O Negative, and my baby is not", "I'm Very Worried",
        "I am In Labour, what now?", "soy médica residente", "my name is on the form.",
        "my name is spelled wrong, who corrects it?", "Paciente: Gestante Primigesta. HTA",
        "Paciente: Diabetes Gestacional, 30 semanas", "Patient: Group B Strep, penicillin allergy",
    ],
)  # fmt: skip
def test_what_follows_like_a_name_and_is_none_is_left(text: str) -> None:
    assert find_private(text) == ()
