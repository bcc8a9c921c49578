"""Whom a question is about."""

from helpers.looping import for_each

from rag_core.language.maternity import about_others, names_maternity


@for_each(
    ("question", "maternity", "others"),
    [
        ("Acid comes up my throat every night, big bump now", True, False),
        ("Backache at 31 weeks", True, False),
        ("My boyfriend scares me since I got pregnant", True, False),
        ("Can my husband come to the birth?", True, False),
        ("Where can my husband park?", False, False),
        ("Desde que nació mi guagua no duermo", True, False),
        ("infecion de orina enbarasada", True, False),
        ("TXA PPH timing", False, False),
        ("¿Qué seguro de coche necesito?", False, False),
        ("How is gout treated in older men?", False, True),
        ("Is teething gel safe for a nine-month-old?", False, True),
        ("How often should I have a smear from age 30?", False, True),
        ("¿Cada cuánto hay que revisar la próstata?", False, True),
    ],
)
def test_a_question_is_about_maternity_or_others_or_neither(question, maternity, others):
    assert names_maternity(question) is maternity
    assert about_others(question) is others
