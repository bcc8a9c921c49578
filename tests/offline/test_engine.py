import json
import re
from pathlib import Path

import pytest
from helpers.angles import ANGLES, BELOW, LEFT, NEAR, QUESTION, RIGHT, Angles, Fixed, hit, reply
from helpers.looping import for_each

from rag_core import RECIPES, Trace
from rag_core.documents.benchmark import read_builtin
from rag_core.language.analysis import language_of
from rag_core.offline.engine import OfflineEngine
from rag_core.offline.llm import OfflineLlm
from rag_core.prompts.prompt import ANSWER, CONTEXT_PROMPT, JUDGE_PASSAGE, PassageJudgement, Sources, Template
from rag_core.prompts.templates import ANALYSIS, HYPOTHETICAL, READY_TEMPLATES, Form
from rag_core.stages.citations import resolve_citations
from rag_core.values.answers import without_bold
from rag_core.values.errors import ProviderError
from rag_core.values.markers import without_markers
from rag_core.values.pricing import PriceList
from rag_core.values.types import Hit, ModelCall, Vectors

DATA = Path(__file__).parents[2] / "data"
COVERED = [
    "When is anti-D given?",
    "What are the signs of pre-eclampsia?",
    "When should I go to the hospital if I have contractions?",
    "¿Cuáles son los riesgos de la cesárea?",
    "¿Cuáles son los síntomas de la preeclampsia?",
    "¿Qué es la diabetes gestacional?",
]
ROOT = Path(__file__).resolve().parents[2]
OFF_TOPIC = [
    "What is the capital of France?",
    "Who won the football World Cup in 2018?",
    "How do I change a flat tyre?",
    "¿Cuál es la capital de Francia?",
    "¿Quién ganó el Mundial de fútbol de 2018?",
    "¿Cómo se reparan los frenos de una bicicleta?",
    "¿Qué seguro de coche necesito?",
]
MARKED = re.compile(r"\s*(.+?) \[(\d+)\](?=\n\n|$)", re.DOTALL)  # a section and its marker


def quoted(answer: str) -> list[tuple[str, int]]:
    """(section, source) pairs of an answer; fails when anything stands outside them."""
    pairs = [(without_bold(section), int(n)) for section, n in MARKED.findall(answer)]
    assert MARKED.sub("", answer).strip() == ""
    return pairs


@pytest.fixture
def engine() -> OfflineEngine:
    return OfflineEngine(Angles(ANGLES))


class TestQuoting:
    @pytest.mark.parametrize(
        ("question", "words"),
        [("What is the time in Tokyo?", "The passages found"), ("¿Qué hora es?", "Los pasajes")],
    )
    def test_it_says_why_it_abstains_in_the_language_of_the_question(self, engine, question, words):
        assert words in reply(engine, question, [hit("a", NEAR)])

    @pytest.mark.parametrize("mark", [" [2].", " [1, 2].", " [7].", "[^2].", " (Source 2).", "【2】."])
    def test_a_reference_mark_inside_a_passage_is_not_taken_for_a_citation(self, mark):
        marked = NEAR.replace(".", mark)
        engine = OfflineEngine(Angles({**ANGLES, without_markers(marked): ANGLES[NEAR]}))
        answer = resolve_citations(reply(engine, QUESTION, hits := [hit("a", marked), hit("b", BELOW)]), hits)[0]
        assert set(re.findall(r"\[([\d, ]+)\]", answer)) == {"1"}

    def test_it_answers_the_same_each_time_and_from_a_cold_start(self, engine):
        hits = [hit("a", f"{NEAR} {BELOW}"), hit("b", LEFT), hit("c", RIGHT)]
        first = reply(engine, QUESTION, hits)
        assert first == reply(engine, QUESTION, hits) == reply(OfflineEngine(Angles(ANGLES)), QUESTION, hits)

    def test_its_pieces_are_its_answer_and_cost_nothing(self, engine):
        prompt = ANSWER.fill(question=QUESTION, sources=Sources([hit("a", NEAR), hit("b", LEFT)]))
        llm = OfflineLlm(engine, PriceList.read(DATA / "prices.toml"))
        said = list(llm.stream(prompt, lambda: False))
        pieces = [piece for piece in said if isinstance(piece, str)]
        assert pieces == [f"**{NEAR}** [1]", f"\n\n**{LEFT}** [2]"]
        bills = [bill for bill in said if isinstance(bill, ModelCall)]
        assert {(bill.purpose, bill.model) for bill in bills} == {
            ("embed", "angles"),
            ("answer", "offline-extractive"),
        }
        assert {(bill.cost_usd, bill.counted_by) for bill in bills} == {(0.0, "tokenizer")}

    def test_it_stops_when_it_is_told_to(self, engine):
        prompt = ANSWER.fill(question=QUESTION, sources=Sources([hit("a", NEAR), hit("b", LEFT)]))
        llm = OfflineLlm(engine, PriceList({}))
        (piece,) = [piece for piece in llm.stream(prompt, lambda: True) if isinstance(piece, str)]
        assert piece == f"**{NEAR}** [1]"


@pytest.fixture(scope="module")
def traces(lab) -> list[Trace]:
    """Every covered question through every strategy."""
    return [trace for question in COVERED for trace in lab.compare(question, list(RECIPES))]


class TestRealQuestions:
    def test_plain_questions_the_collection_covers_are_answered(self, traces):
        assert [trace.question for trace in traces if trace.answer.abstained] == []

    def test_one_or_two_sections_stand_word_for_word_in_their_passages(self, traces):
        for trace in traces:
            pairs = quoted(trace.answer.text)
            assert 1 <= len(pairs) <= 2
            for section, n in pairs:
                assert section.strip("… ") in trace.ranking.hits[n - 1].passage.text
            cited = {citation.n: citation.context_id for citation in trace.answer.citations}
            assert cited == {n: trace.ranking.hits[n - 1].id for _, n in pairs}

    def test_quotations_are_in_the_language_of_the_question_or_say_that_they_are_not(self, traces):
        for trace in traces:
            cited = {trace.ranking.hits[n - 1].passage.language for _, n in quoted(trace.answer.text)}
            said = any(remark.kind == "language" for remark in trace.answer.remarks)
            assert said is (cited != {language_of(trace.question)})

    def test_the_same_question_gets_the_same_answer(self, lab, traces):
        for trace in traces[:2]:
            assert lab.run(trace.question, trace.strategy).answer == trace.answer

    @for_each("strategy", RECIPES)
    @for_each("question", OFF_TOPIC)
    def test_a_question_the_collection_does_not_cover_gets_no_answer(self, lab, question, strategy):
        answer = lab.run(question, strategy).answer
        assert answer.abstained
        assert answer.citations == ()
        assert answer.reason
        assert language_of(answer.text) == language_of(question)

    def test_most_judged_questions_outside_the_collection_get_no_answer(self, lab):
        outside = read_builtin(ROOT / "data", "dev").unanswerable
        assert len(outside) >= 12
        abstained = [lab.run(question.text, "hybrid_rrf").answer.abstained for question in outside]
        assert sum(abstained) >= 0.85 * len(outside)


class TestOtherReplies:
    @pytest.mark.parametrize(
        ("question", "form", "full"),
        [
            ("When do cats sleep?", "sentence", ""),
            ("cats sleep", "keywords", "What should be known about cats sleep?"),
            ("gatos dormir noche", "keywords", "¿Qué hay que saber sobre gatos dormir noche?"),
        ],
    )
    def test_it_analyses_a_question_by_the_rules(self, question, form, full):
        reply = self.ask(OfflineEngine(Angles(ANGLES)), ANALYSIS, question=question)
        assert json.loads(reply) == {"form": form, "question": full}

    def ask(self, engine: OfflineEngine, template: Template, **fields: object) -> str:
        llm = OfflineLlm(engine, PriceList({}))
        pieces = llm.stream(template.fill(**fields), lambda: False)
        return "".join(piece for piece in pieces if isinstance(piece, str))

    def test_it_judges_a_passage_by_the_scorers_relevance_at_threefold_odds(self):
        engine = OfflineEngine(Angles(ANGLES), Fixed(a=0.734))
        sources = Sources([hit("a", f"{BELOW} {NEAR}")])
        said = json.loads(self.ask(engine, JUDGE_PASSAGE, question=QUESTION, sources=sources, refused=""))
        assert said == {
            "reason": f"Closest sentence: “{NEAR}”",
            "score": 89,
        }  # 3 · 0.734 / (3 · 0.734 + 0.266) = 0.892
        PassageJudgement.model_validate(said)

    def test_it_refuses_to_judge_without_a_scorer(self, engine):
        sources = Sources([hit("a", NEAR)])
        with pytest.raises(ProviderError, match="scorer"):
            self.ask(engine, JUDGE_PASSAGE, question=QUESTION, sources=sources, refused="")

    def test_a_hypothetical_passage_is_the_closest_sentences_of_a_first_pass(self):
        found = [hit("a", f"{BELOW} {NEAR}"), hit("b", f"{LEFT} {RIGHT}")]

        class Found:
            name = "found"

            def dense(self, vector: Vectors, k: int) -> list[Hit]:
                return found

            def lexical(self, text: str, k: int, k1: float, b: float) -> list[Hit]:
                return found

        engine = OfflineEngine(Angles(ANGLES), index=Found())
        assert self.ask(engine, HYPOTHETICAL, question=QUESTION) == f"{NEAR} {LEFT} {RIGHT}"
        assert self.ask(OfflineEngine(Angles(ANGLES)), HYPOTHETICAL, question=QUESTION) == QUESTION

    def test_it_places_a_passage_by_title_and_first_sentence(self, engine):
        fields = {"title": "Cats", "document": f"{NEAR} {LEFT}", "passage": LEFT}
        assert self.ask(engine, CONTEXT_PROMPT, **fields) == f"Cats: {NEAR}"

    def test_it_rewrites_by_the_templates_name(self, engine):
        said = {name: self.ask(engine, template, question="No fever at 34 weeks, is it normal?", form=Form("sentence"))
                for name, template in READY_TEMPLATES.items()}  # fmt: skip
        assert said["synonyms"] == "No fever 34 weeks normal"
        assert said["complications"].endswith("(complications, risks, signs to watch for)")
