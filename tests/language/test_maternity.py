from helpers.looping import for_each

from rag_core.language.questions import is_maternity


@for_each(
    ("subject", "expected"),
    [
        ("Acid comes up my throat every night, big bump now", True),
        ("Backache at 31 weeks", True),
        ("My boyfriend scares me since I got pregnant", True),
        ("Can my husband come to the birth?", True),
        ("Where can my husband park?", False),
        ("Desde que nació mi guagua no duermo", True),
        ("infecion de orina enbarasada", True),
        ("TXA PPH timing", False),
        ("¿Qué seguro de coche necesito?", False),
        ("How is gout treated in older men?", False),
        ("Is teething gel safe for a nine-month-old?", False),
        ("How often should I have a smear from age 30?", False),
        ("¿Cada cuánto hay que revisar la próstata?", False),
    ],
)
def test_what_is_about_maternity(subject, expected):
    assert is_maternity(subject) is expected
