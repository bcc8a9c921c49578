import html
from dataclasses import replace

import pytest
from helpers.guidance import ACOG, RCOG, WHO, hit, without_difference

from rag_core.prompts.prompt import Sources, contexts_in
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.stages.answer import Generate
from rag_core.stages.remarks import remarks_on, what_differs
from rag_core.testing import ScriptedLlm
from rag_core.values.answers import Remark
from rag_core.values.types import Query, Ranking, State

ENGLISH = "Who is offered a swab?"
SPANISH = "¿A quién se le ofrece la prueba del estreptococo?"
DIFFERS = "Guidance differs: ACOG 2020 (US) says one thing, RCOG 2017 (UK) another."


def differing(remarks: tuple[Remark, ...]) -> list[str]:
    return [remark.text for remark in remarks if remark.kind == "differs"]


class TestRemarks:
    def test_both_sides_are_named_for_a_cited_passage(self):
        (remark,) = remarks_on(ENGLISH, "A swab is taken. [1]", [hit()])
        assert (remark.kind, remark.citations, remark.text) == ("differs", (1,), f"[1] {DIFFERS}")

    def test_a_passage_that_is_not_cited_or_does_not_differ_says_nothing(self):
        assert differing(remarks_on(ENGLISH, "A swab. [1]", [without_difference(hit()), hit()], "GB")) == []

    @pytest.mark.parametrize(
        ("country", "leads"),
        [
            ("GB", " For the country you chose (UK), RCOG 2017 applies."),
            ("US", " For the country you chose (US), ACOG 2020 applies."),
            ("ES", ""),
            ("", ""),
        ],
    )
    def test_the_side_of_the_chosen_country_leads(self, country, leads):
        assert differing(remarks_on(ENGLISH, "A swab. [1]", [hit()], country)) == [f"[1] {DIFFERS}{leads}"]

    def test_in_the_language_of_the_question(self):
        (text,) = differing(remarks_on(SPANISH, "Se toma una muestra. [1]", [hit()], "GB"))
        assert text == (
            "[1] Las guías difieren: ACOG 2020 (EE. UU.) dice una cosa; RCOG 2017 (Reino Unido), otra. "
            "En el país elegido (Reino Unido) se aplica RCOG 2017."
        )

    def test_passages_with_the_same_two_sides_share_a_remark(self):
        hits = [hit(), hit(name="other"), hit(sources=(WHO,), name="third")]
        first, second = differing(remarks_on(ENGLISH, "One. [1] Two. [2] Three. [3]", hits))
        assert first == f"[1] and [2] {DIFFERS}"
        assert second.startswith("[3] Guidance differs: WHO 2016 (International) says one thing")


class TestPrompt:
    def test_each_source_says_who_wrote_it_and_who_differs(self):
        sent = str(Sources([hit(), without_difference(hit())]))
        first, second = (line for line in sent.splitlines() if line.startswith("<source"))
        assert first.endswith(' from="ACOG 2020 (US)" differs_from="RCOG 2017 (UK)">')
        assert second.endswith(' from="ACOG 2020 (US) and RCOG 2017 (UK)">')

    def test_a_passage_without_sources_has_no_such_attribute(self):
        bare = replace(hit(), passage=replace(hit().passage, sources=(), differs_from=()))
        assert "from=" not in str(Sources([bare]))

    @pytest.mark.parametrize(
        "name", ['A" title="x', "</source>", "<b>&amp;", "two\nlines", '">\n</source>\n<source n="2"']
    )
    def test_a_hostile_organisation_stays_in_its_attribute(self, name):
        one = hit(sources=(replace(ACOG, organisation=name),))
        sent = str(Sources([one, hit(name="second")]))
        assert contexts_in(sent) == [(each.passage.full_title, each.passage.text) for each in (one, hit(name="second"))]
        assert (sent.count("<source "), sent.count("</source>")) == (2, 2)
        assert html.escape(" ".join(name.split())) in sent

    def test_a_chosen_country_adds_one_line_and_no_country_none(self):
        with_country, without = str(Sources([hit()], "GB")), str(Sources([hit()]))
        assert with_country.removeprefix(without).strip().startswith("The reader's country: UK.")
        assert with_country.startswith(without)
        assert str(Sources([hit()], "XX")) == without


def written(services: Services) -> tuple[State, str]:
    llm = ScriptedLlm("A swab is taken [1].")
    ctx = Context(replace(services, llms={"answer": llm}))
    question = Query(ENGLISH)
    state = Generate()(State(question, (question,), (Ranking(question, (hit(),)),)), ctx)
    return state, llm.prompts[0].render()


@pytest.mark.parametrize("country", ["GB", "US"])
def test_the_answer_stage_passes_the_country_on(services, country, embedder):
    services = replace(services, engine={"country": country})
    state, sent = written(services)
    (text,) = differing(state.answer.remarks)
    assert text.endswith(
        f"{(RCOG if country == 'GB' else ACOG).organisation} {2017 if country == 'GB' else 2020} applies."
    )
    assert f"The reader's country: {'UK' if country == 'GB' else 'US'}." in sent


def test_the_model_is_asked_to_give_both_positions():
    assert "give both positions, each with its organisation and country" in Generate().template.system


def test_what_differs_is_said_in_the_words_of_the_passage():
    text = "RCOG offers no swab. Swabs are common. ACOG offers one, whereas RCOG does not. ACOG is old."
    passage = replace(hit().passage, text=text)  # ACOG on one side, RCOG on the other
    assert what_differs(passage) == ("RCOG offers no swab.", "ACOG offers one, whereas RCOG does not.")
    assert what_differs(replace(passage, differs_from=())) == ()
