from helpers.looping import for_each

from rag_core.offline.sections import is_about, week_of


@for_each(
    ("question", "week"),
    [
        ("I'm 32 weeks pregnant, can I take ibuprofen?", 32),
        ("TA 172/112 repetida en la semana 36", 36),
        ("steroids at thirty-five weeks?", 35),
        ("Is it 24 weeks or 28 weeks?", None),
        ("Can I take ibuprofen?", None),
    ],
)
def test_the_week_of_a_question(question, week):
    assert week_of(question) == week


@for_each(
    ("heading", "weeks"),
    [
        ("NSAIDs before 20 weeks, and doses taken by mistake", range(0, 20)),
        ("Antes de las 37 semanas: cuándo debe nacer", range(0, 37)),
        ("Medicines in the first 12 weeks", range(0, 12)),
        ("Checks in the first weeks", range(0, 43)),
    ],
)
def test_the_weeks_of_a_heading(heading, weeks):
    assert [week for week in range(43) if is_about(heading, week)] == list(weeks)
