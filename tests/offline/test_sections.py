from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from helpers.angles import ANGLES, BELOW, LEFT, NEAR, QUESTION, RIGHT, Angles, Fixed, hit, reply
from helpers.guidance import ACOG, AMERICAN, BRITISH, RCOG
from helpers.guidance import hit as differing
from helpers.looping import for_each

from rag_core.offline.engine import OfflineEngine
from rag_core.offline.memory import RememberingEmbedder
from rag_core.offline.sections import GAP, LANGUAGE, NEAREST, PLACE, SAYS, is_about, week_of
from rag_core.prompts.prompt import NO_EVIDENCE, Sources
from rag_core.values.types import Hit


def answer(hits: Sequence[Hit], vectors: Mapping[str, Sequence[float]] = ANGLES, question: str = QUESTION) -> str:
    """The answer where all sources are equally relevant."""
    return reply(OfflineEngine(Angles(vectors), Fixed(**{one.id: 0.9 for one in hits})), question, hits)


def test_a_section_is_quoted_whole_with_its_best_sentence_in_bold():
    assert answer([hit("a", f"{BELOW} {NEAR} {LEFT}")]) == f"{BELOW} **{NEAR}** {LEFT} [1]"


def test_a_question_that_the_scorer_has_embedded_is_not_embedded_again(embedder):
    memory = RememberingEmbedder(embedder)
    memory.embed([QUESTION])
    reply(OfflineEngine(memory, Fixed(a=0.9)), QUESTION, [hit("a", NEAR)])
    assert [QUESTION in texts for texts in embedder.asked] == [True, *[False] * (len(embedder.asked) - 1)]
    assert len(embedder.asked) > 1


def test_a_second_section_follows_if_it_is_worth_nearly_as_much():
    assert PLACE / 2 + NEAREST * (0.9 - 0.8) < GAP < PLACE / 2 + NEAREST * (0.9 - 0.5)
    assert answer([hit("a", NEAR), hit("b", LEFT)]) == f"**{NEAR}** [1]\n\n**{LEFT}** [2]"
    assert answer([hit("a", NEAR), hit("b", BELOW)]) == f"**{NEAR}** [1]"
    assert answer([hit("a", NEAR), hit("b", LEFT), hit("c", RIGHT)]) == answer([hit("a", NEAR), hit("b", LEFT)])


def test_the_best_section_comes_first():
    apart = {**ANGLES, LEFT: (0.1, 0, 0.99**0.5, 0)}
    assert PLACE / 2 + GAP < NEAREST * (0.9 - 0.1)
    assert answer([hit("a", LEFT), hit("b", NEAR)], apart) == f"**{NEAR}** [2]"


def test_a_second_section_follows_in_an_urgent_answer_only_if_it_says_what_to_do():
    urgent = "I am 34 weeks and bleeding heavily"
    call = "Heavy bleeding means calling your local emergency number at once."
    also = "Call your local emergency number at once for heavy bleeding. Lie on your side."
    mild = "Light bleeding after sex comes from the cervix."
    angles = {
        urgent: (1, 0, 0, 0),
        call: ANGLES[BELOW],
        also.split(". ")[0] + ".": ANGLES[BELOW],
        mild: (1, 0, 0, 0),
    }
    directness = 2 + 1  # the sign, and the emergency number
    assert abs(PLACE / 2 + NEAREST * (1 - 0.5) - directness * SAYS) < GAP  # near enough in worth to follow
    alone = answer([hit("a", mild), hit("b", call)], angles, urgent)
    assert alone.endswith(f"**{call}** [2]")
    assert mild not in alone
    first, second = f"**{call}** [1]", "**Call your local emergency number at once for heavy bleeding.** [2]"
    assert answer([hit("a", call), hit("b", also)], angles, urgent).endswith(f"{first}\n\n{second}")


def test_a_section_in_the_question_s_language_comes_before_its_twin_in_another():
    assert answer([hit("a", NEAR, "es"), hit("b", LEFT)]) == f"**{LEFT}** [2]"
    far = {**ANGLES, BELOW: (-0.1, 0, 0, 0.99**0.5)}
    assert PLACE / 2 + NEAREST * (0.9 + 0.1) > LANGUAGE
    assert answer([hit("a", NEAR, "es"), hit("b", BELOW)], far) == f"**{NEAR}** [1]"


def test_where_all_sections_are_in_another_language_they_are_quoted_as_they_are():
    assert answer([hit("a", NEAR, "es"), hit("b", LEFT, "es")]) == f"**{NEAR}** [1]\n\n**{LEFT}** [2]"


def test_a_heading_that_names_other_weeks_than_the_question_speaks_against_its_section():
    asked = "Can I take it at 32 weeks?"
    vectors = {**ANGLES, asked: ANGLES[QUESTION]}
    early, late = hit("a", NEAR), hit("b", LEFT)
    early = replace(early, passage=replace(early.passage, heading="Before 20 weeks"))
    late = replace(late, passage=replace(late.passage, heading="After 20 weeks"))
    vectors |= dict.fromkeys((early.passage.full_title, late.passage.full_title), (0.0, 0.0, 0.0, 0.0))
    assert answer([early, late], vectors, asked) == f"**{LEFT}** [2]"
    assert answer([early], vectors, asked) == f"**{NEAR}** [1]"


def test_each_part_of_a_question_has_its_section():
    first, second = "What is lochia", "how long does it last?"
    question = f"{first}, and {second}"
    what, long = "Lochia is the bleeding after a birth.", "The flow goes on for some weeks."
    vectors = {
        question: (0.7, 0.5, 0.26**0.5, 0), first: (1, 0, 0, 0), second: (0, 1, 0, 0),
        what: (0.9, 0, 0, 0.19**0.5), long: (0, 0.9, 0, 0.19**0.5),
    }  # fmt: skip
    hits = [hit("a", what), hit("b", BELOW), hit("c", long)]
    assert answer(hits, vectors, question) == f"**{what}** [1]\n\n**{long}** [3]"


def test_a_sentence_is_read_under_its_title():
    """(0.5, 0.87) alone is nearer than (0.4, 0.92); with half of the title (1, 0) added to one, that is."""
    vague, clear = "They last some weeks.", "Beds are made at nine."
    vectors = {
        QUESTION: (1, 0, 0, 0),
        vague: (0.4, 0.84**0.5, 0, 0),
        clear: (0.5, 0, 0.75**0.5, 0),
        "Words": (1, 0, 0, 0),
    }
    told = [hit("a", clear), hit("b", vague, title="Words")]
    assert answer(told, vectors).startswith(f"**{vague}** [2]")


FILLER = " ".join(["Water is drunk with every meal of the day."] * 20)


def test_of_a_long_section_the_list_with_the_best_item_is_quoted_whole():
    lead, item, other = (
        "Call the unit in the following situations:",
        "- You bleed a lot.",
        "- The waters break.",
    )
    last = "With any of these signs you should not drive."
    engine = {**ANGLES, "You bleed a lot.": ANGLES[NEAR]}
    long = hit("a", f"{FILLER}\n\n{lead}\n\n{item}\n{other}\n\n{last}\n\n{FILLER}")
    assert answer([long], engine) == f"… {lead}\n\n- **You bleed a lot.**\n{other}\n\n{last} … [1]"


def test_of_a_long_section_the_best_paragraph_is_quoted_whole():
    assert answer([hit("a", f"{BELOW} {NEAR}\n\n{FILLER}")]) == f"{BELOW} **{NEAR}** … [1]"


def test_the_country_s_section_comes_first_and_only_where_guidance_differs():
    def said(ours: Hit, country: str) -> str:
        near = {QUESTION: (1, 0, 0, 0), AMERICAN: (0.9, 0.19**0.5, 0, 0), BRITISH: (0.8, 0, 0.6, 0)}
        engine = OfflineEngine(Angles(near), Fixed(**{"theirs:0": 0.9, "uk:0": 0.9}))
        hits = [differing(AMERICAN, name="theirs"), ours]
        return "".join(engine.reply("answer", {"question": QUESTION, "sources": Sources(hits, country)}))

    ours = differing(BRITISH, sources=(RCOG,), differs_from=(ACOG,), name="uk")
    assert said(ours, "").startswith(f"**{AMERICAN}** [1]")
    assert said(ours, "GB").startswith(f"**{BRITISH}** [2]")


@pytest.mark.parametrize("hits", [[], [hit("a", "")], [hit("a", "Short one.")], [hit("a", BELOW)]])
def test_where_nobody_rated_the_sources_a_sentence_must_be_near_enough(hits):
    engine = OfflineEngine(Angles(ANGLES))
    assert reply(engine, QUESTION, hits).startswith(NO_EVIDENCE)
    assert reply(engine, QUESTION, [*hits, hit("z", NEAR)]).startswith(f"**{NEAR}**")


def test_what_the_country_s_guidance_says_is_marked():
    near = {QUESTION: (1, 0, 0, 0), AMERICAN: (0.9, 0.19**0.5, 0, 0), BRITISH: (0.8, 0, 0.6, 0)}
    engine = OfflineEngine(Angles(near), Fixed(**{"swab:0": 0.9}))

    def said(country: str) -> str:
        sources = Sources([differing(AMERICAN, BRITISH)], country)
        return "".join(engine.reply("answer", {"question": QUESTION, "sources": sources}))

    assert said("") == said("US") == f"**{AMERICAN}** {BRITISH} [1]"
    assert said("GB") == f"{AMERICAN} **{BRITISH}** [1]"


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
