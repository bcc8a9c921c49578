"""Reading sentences, claims and passages, and whether one supports the other."""

from __future__ import annotations

from itertools import islice

import pytest
from helpers.answers import answered, passage
from helpers.small import ROOT
from hypothesis import given
from hypothesis import strategies as st

from rag_core.catalog import build
from rag_core.data.benchmark import read_builtin
from rag_core.data.documents import read_document
from rag_core.evaluation import support
from rag_core.evaluation.support import AnswerCheck, SourceText, check, claims, read
from rag_core.lab.lab import Lab
from rag_core.language.analysis import sentences
from rag_core.values.trace import Step, Trace
from rag_core.values.types import Passage, State


class TestReading:
    @pytest.mark.parametrize(
        ("text", "language", "quantities"),
        [
            ("0.5 mL", "en", {(0.5, "ml")}),
            ("0,5 ml", "es", {(0.5, "ml")}),
            ("24 hours", "en", {(24, "h")}),
            ("24 h", "en", {(24, "h")}),
            ("a 24-hour watch", "en", {(24, "h")}),
            ("10mg", "en", {(10, "mg")}),
            ("1,000 mL", "en", {(1000, "ml")}),
            ("1.500 UI", "es", {(1500, "iu")}),
            ("100 000 units", "en", {(100_000, "iu")}),
            ("0.125 mg", "en", {(0.125, "mg")}),
            ("10,0 mmol/l", "es", {(10, None)}),
            ("300 micrograms, 300 µg, 300 mcg", "en", {(300, "mcg")}),
            ("24 to 28 weeks", "en", {(24, None), (28, "week")}),
            ("24–48 h", "en", {(24, None), (48, "h")}),
            ("at 37+6 weeks", "en", {(37, None), (6, "week")}),
            ("130/80", "en", {(130, None), (80, None)}),
            ("10%, 10 %, ten per cent", "en", {(10, "%")}),
            ("diez por ciento", "es", {(10, "%")}),
            ("3 di\u0301as", "es", {(3, "day")}),  # the accent a character of its own
            ("two doses, doce días", "en", {(2, None)}),
            ("two doses, doce días", "es", {(12, "day")}),
            ("vitamin B12, T3", "en", set()),
            ("one of them, una vez", "en", set()),
        ],
    )
    def test_quantities_are_numbers_with_their_units(self, text, language, quantities):
        assert read(text, language).quantities == quantities

    def test_words_are_stems_without_quantities(self):
        content = read("Doses of 500 mg were repeated twice in 24 hours.", "en")
        assert content.stems == {"dose", "repeat", "twice"}

    @pytest.mark.parametrize(
        ("text", "language", "negated"),
        [
            ("Do not give aspirin now, ever.", "en", {"give", "aspirin", "ever"}),
            ("Cats don’t purr.", "en", {"purr"}),
            ("Cats can't purr.", "en", {"purr"}),
            ("Give aspirin without food.", "en", {"food"}),
            ("Notable nodes nor.", "en", set()),
            ("No se da aspirina.", "es", {"da", "aspirin"}),
            ("Se evitará la aspirina.", "es", {"aspirin"}),
            ("Nicht geben.", "de", set()),
        ],
    )
    def test_a_negation_speaks_of_the_next_three_content_words(self, text, language, negated):
        assert read(text, language).negated == negated


class TestClaims:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Cats purr [1]. Dogs bark [2][3].", [("Cats purr.", [1]), ("Dogs bark.", [2, 3])]),
            ("Cats purr. [1] Dogs bark. [2]", [("Cats purr.", [1]), ("Dogs bark.", [2])]),
            ("Cats purr [1] Dogs bark [2]", [("Cats purr", [1]), ("Dogs bark", [2])]),
            ("Los gatos [1] ¿Ladran?", [("Los gatos", [1]), ("¿Ladran?", [])]),
            ("Cats purr [1] and nap [2].", [("Cats purr and nap.", [1, 2])]),
            ("- cats purr [1]\n- dogs bark", [("cats purr", [1]), ("dogs bark", [])]),
            ("Cats purr. It is.", [("Cats purr.", [])]),
            ("", []),
        ],
    )
    def test_a_marker_belongs_to_the_sentence_it_follows(self, text, expected):
        assert list(claims(text)) == expected


class TestSupport:
    TEN = "alpha bravo charlie delta echo foxtrot golf hotel india juliet"

    @pytest.mark.parametrize(("shared", "supported"), [(10, True), (7, True), (6, False), (0, False)])
    def test_seven_stems_in_ten_are_enough(self, shared: int, supported: bool):
        assert support.SUPPORT == 0.7
        text = " ".join(self.TEN.split()[:shared]) + " something else"
        assert SourceText.of(passage(text)).supports(self.TEN) is supported

    def test_the_stems_of_two_passages_are_not_added(self):
        words = self.TEN.split()
        halves = [SourceText.of(passage(" ".join(half))) for half in (words[:5], words[5:])]
        assert not any(half.supports(self.TEN) for half in halves)

    def test_the_title_is_part_of_what_was_shown(self):
        assert SourceText.of(passage("Given at 28 weeks.", title="Anti-D")).supports("Anti-D at 28 weeks.")
        assert not SourceText.of(passage("Given at 28 weeks.")).supports("Anti-D at 28 weeks.")

    @pytest.mark.parametrize(
        ("claim", "supported"),
        [
            ("Cats weigh 24 kg.", True),
            ("Cats weigh 24 kilograms.", True),
            ("Cats weigh 24.0 kg.", True),
            ("Cats weigh 24.", True),
            ("Cats weigh 24 g.", False),
            ("Cats weigh 42 kg.", False),
            ("Cats weigh 2.4 kg.", False),
            ("24 kg.", True),
        ],
    )
    def test_every_number_must_be_there_with_its_unit(self, claim: str, supported: bool):
        assert SourceText.of(passage("Cats weigh 24 kg.")).supports(claim) is supported

    def test_of_equally_near_sentences_one_that_agrees_is_enough(self):
        both = SourceText.of(passage("Cats purr at dusk. Cats never purr at dusk."))
        assert both.supports("Cats purr at dusk.")
        assert both.supports("Cats never purr at dusk.")

    def test_an_empty_passage_supports_nothing(self):
        assert not SourceText.of(passage("")).supports("Cats purr.")

    @given(
        st.lists(st.sampled_from([*TEN.split(), "24 mg", "not", "without", "0.5"]), min_size=1, max_size=9)
    )
    def test_a_passage_supports_its_own_sentence(self, words: list[str]):
        sentence = " ".join(words) + "."
        assert SourceText.of(passage(f"Before it. {sentence} After it.")).supports(sentence)


# (what was corrupted, document, a sentence of it, the corruption, whether it is caught)
CORRUPTIONS = [
    ("number", "en/anti-d-rhesus", "The single-dose schedule is 1,500 IU at about 28 weeks.", "The single-dose schedule is 1,800 IU at about 28 weeks.", True),
    ("number", "en/anti-d-rhesus", "More anti-D is given when that bleed is large.", "4 times more anti-D is given when that bleed is large.", True),
    ("number", "en/anti-d-rhesus", "The two-dose schedule is at least 500 IU at 28 weeks and again at 34 weeks.", "The three-dose schedule is at least 500 IU at 28 weeks and again at 34 weeks.", True),
    ("number", "en/postpartum-haemorrhage", "WHO does not recommend starting it more than 3 hours after birth, or with a known clot in this pregnancy.", "WHO does not recommend starting it more than 6 hours after birth, or with a known clot in this pregnancy.", True),
    ("number", "en/medicines-in-pregnancy-paracetamol-nsaids", "The FDA states that its warning does not apply to aspirin 81 mg, the dose that USPSTF advises.", "The FDA states that its warning does not apply to aspirin 8.1 mg, the dose that USPSTF advises.", True),
    ("number", "en/eclampsia-emergency", "WHO then gives 5 g into alternate buttocks every four hours.", "WHO then gives 5 g into alternate buttocks every eight hours.", True),
    ("number", "es/anti-d-factor-rh", "La dosis habitual en España y en Estados Unidos es de 300 microgramos (1500 UI), en una sola inyección intramuscular.", "La dosis habitual en España y en Estados Unidos es de 30 microgramos (1500 UI), en una sola inyección intramuscular.", True),
    ("number", "es/hemorragia-posparto", "La definición clásica es perder 500 ml o más en las primeras 24 horas.", "La definición clásica es perder 5,00 ml o más en las primeras 24 horas.", True),
    ("number of another sentence", "en/anti-d-rhesus", "The single-dose schedule is 1,500 IU at about 28 weeks.", "The single-dose schedule is 500 IU at about 34 weeks.", False),
    ("number of another sentence", "en/eclampsia-emergency", "NICE gives 4 g into a vein over 5 to 15 minutes, then 1 g per hour for 24 hours.", "NICE gives 10 g into a vein over 5 to 15 minutes, then 1 g per hour for 24 hours.", False),
    ("unit", "en/anti-d-rhesus", "ACOG advises a single dose of 300 micrograms, which equals 1,500 IU, at about 28 weeks.", "ACOG advises a single dose of 300 mg, which equals 1,500 IU, at about 28 weeks.", True),
    ("unit", "en/postpartum-haemorrhage", "Tranexamic acid 1 g is given into a vein over 10 minutes, as soon as possible and within 3 hours of birth.", "Tranexamic acid 1 mg is given into a vein over 10 minutes, as soon as possible and within 3 hours of birth.", True),
    ("unit", "en/group-b-streptococcus", "A result counts for about 5 weeks.", "A result counts for about 5 months.", True),
    ("unit", "es/anti-d-factor-rh", "Si se pasaron las 72 horas, conviene pedirla de todos modos cuanto antes, porque hasta los 10 días puede dar cierta protección.", "Si se pasaron las 72 horas, conviene pedirla de todos modos cuanto antes, porque hasta las 10 semanas puede dar cierta protección.", True),
    ("negation dropped", "en/anti-d-rhesus", "Rhesus D positive women do not need anti-D, whatever the baby's type.", "Rhesus D positive women need anti-D, whatever the baby's type.", True),
    ("negation dropped", "en/eclampsia-emergency", "Do not hold her down, and note the time when the fit began.", "Hold her down, and note the time when the fit began.", True),
    ("negation dropped", "en/postpartum-haemorrhage", "WHO does not recommend starting it more than 3 hours after birth, or with a known clot in this pregnancy.", "WHO recommends starting it more than 3 hours after birth, or with a known clot in this pregnancy.", True),
    ("negation dropped", "en/medicines-in-pregnancy-paracetamol-nsaids", "NSAIDs should not be taken in the last third of pregnancy, because they can close a vessel near the baby's heart too early.", "NSAIDs should be taken in the last third of pregnancy, because they can close a vessel near the baby's heart too early.", True),
    ("negation dropped", "es/hemorragia-posparto", "La ergometrina no se da a mujeres con hipertensión.", "La ergometrina se da a mujeres con hipertensión.", True),
    ("negation dropped", "es/cuidado-del-cordon-umbilical", "No se tira del muñón aunque cuelgue de un hilo.", "Se tira del muñón aunque cuelgue de un hilo.", True),
    ("one of two negations dropped", "en/eclampsia-emergency", "Put nothing in her mouth, and give no food, drink or tablets.", "Put nothing in her mouth, and give food, drink or tablets.", True),
    ("one of two negations dropped", "en/medicines-in-pregnancy-paracetamol-nsaids", "Codeine is kept for pain that other measures do not relieve, and is not advised while breastfeeding.", "Codeine is kept for pain that other measures do not relieve, and is advised while breastfeeding.", False),
    ("negation added", "en/anti-d-rhesus", "More anti-D is given when that bleed is large.", "More anti-D is not given when that bleed is large.", True),
    ("negation added", "en/medicines-in-pregnancy-paracetamol-nsaids", "Paracetamol and ibuprofen are both suitable while breastfeeding.", "Paracetamol and ibuprofen are not suitable while breastfeeding.", True),
    ("negation added", "en/safe-sleep", "Babies with reflux also sleep on their back, and their airway protects them from choking in that position.", "Babies with reflux never sleep on their back, and their airway protects them from choking in that position.", True),
    ("negation added", "es/anti-d-factor-rh", "La prueba se repite hacia las 28 semanas, antes de la inyección.", "La prueba no se repite hacia las 28 semanas, antes de la inyección.", True),
    ("name", "en/eclampsia-emergency", "Magnesium works better than diazepam or phenytoin.", "Magnesium works better than diazepam or carbamazepine.", False),
    ("name", "en/postpartum-haemorrhage", "Tranexamic acid 1 g is given into a vein over 10 minutes, as soon as possible and within 3 hours of birth.", "Misoprostol 1 g is given into a vein over 10 minutes, as soon as possible and within 3 hours of birth.", False),
    ("name", "en/group-b-streptococcus", "RCOG uses benzylpenicillin 3 g, then 1.5 g every 4 hours.", "RCOG uses erythromycin 3 g, then 1.5 g every 4 hours.", False),
    ("name", "en/eclampsia-emergency", "Nifedipine and enalapril can be used while breastfeeding.", "Nifedipine and ramipril can be used while breastfeeding.", False),
    ("name", "es/hemorragia-posparto", "La ergometrina no se da a mujeres con hipertensión.", "La oxitocina no se da a mujeres con hipertensión.", False),
    ("direction", "en/anti-d-rhesus", "After 20 weeks the dose is at least 500 IU, with a blood test for the size of the bleed.", "Before 20 weeks the dose is at most 500 IU, with a blood test for the size of the bleed.", False),
    ("direction", "en/postpartum-haemorrhage", "RCOG calls 500 to 1,000 mL minor PPH and more than 1,000 mL major PPH.", "RCOG calls 500 to 1,000 mL major PPH and more than 1,000 mL minor PPH.", False),
    ("other document", "en/anti-d-rhesus", "The single-dose schedule is 1,500 IU at about 28 weeks.", "A fit in pregnancy or after birth means calling your local emergency number at once.", True),
    ("other document", "en/safe-sleep", "A home breathing monitor does not prevent SIDS.", "Carrying GBS is no reason for a caesarean, and RCOG allows water birth if antibiotics can be given.", True),
    ("other document", "en/postpartum-haemorrhage", "Trauma means tears of the perineum, vagina, cervix or womb.", "NSAIDs near term can also cause bleeding and delay labour.", True),
    ("other document", "es/anti-d-factor-rh", "Ser Rh negativa no es una enfermedad.", "El cordón suele caerse entre los 5 y los 15 días de vida.", True),
    ("other document", "es/hemorragia-posparto", "Trauma son los desgarros, la rotura del útero y su inversión.", "La dosis habitual en España y en Estados Unidos es de 300 microgramos (1500 UI), en una sola inyección intramuscular.", True),
]  # fmt: skip

# (document, a sentence of it, the same in other words, whether it is accepted)
PARAPHRASES = [
    ("en/anti-d-rhesus", "The single-dose schedule is 1,500 IU at about 28 weeks.", "In the single-dose schedule, 1500 units are given at about 28 weeks.", True),
    ("en/anti-d-rhesus", "Rhesus D positive women do not need anti-D, whatever the baby's type.", "Anti-D is not needed for Rhesus D positive women.", True),
    ("en/anti-d-rhesus", "After the birth of a Rhesus D positive baby, a Rhesus D negative woman has anti-D, usually into a muscle, within 72 hours.", "If the baby is Rhesus D positive, give anti-D within 72 h after birth.", True),
    ("en/postpartum-haemorrhage", "Tranexamic acid 1 g is given into a vein over 10 minutes, as soon as possible and within 3 hours of birth.", "Give 1 gram of tranexamic acid into a vein over ten minutes within three hours of the birth.", True),
    ("en/postpartum-haemorrhage", "WHO does not recommend starting it more than 3 hours after birth, or with a known clot in this pregnancy.", "Starting it more than three hours after birth is not recommended by WHO.", True),
    ("en/eclampsia-emergency", "Do not hold her down, and note the time when the fit began.", "Note when the fit began and don't hold her down.", True),
    ("en/eclampsia-emergency", "NICE gives 4 g into a vein over 5 to 15 minutes, then 1 g per hour for 24 hours.", "NICE: 4 g in a vein over 5–15 min, followed by 1 g an hour for 24 h.", True),
    ("en/medicines-in-pregnancy-paracetamol-nsaids", "NSAIDs should not be taken in the last third of pregnancy, because they can close a vessel near the baby's heart too early.", "Avoid NSAIDs in the last third of pregnancy: they can close a vessel near the baby's heart.", True),
    ("en/medicines-in-pregnancy-paracetamol-nsaids", "Paracetamol and ibuprofen are both suitable while breastfeeding.", "While breastfeeding, both paracetamol and ibuprofen are suitable.", True),
    ("en/safe-sleep", "Sleeping on the back is the most important protection against sudden infant death syndrome (SIDS, cot death).", "The best safeguard against cot death is to lay infants supine.", False),
    ("en/group-b-streptococcus", "Breastfeeding is safe and encouraged for mothers who carry GBS.", "Mothers with GBS can breastfeed safely.", True),
    ("es/hemorragia-posparto", "La ergometrina no se da a mujeres con hipertensión.", "A las mujeres con hipertensión no se les da ergometrina.", True),
    ("es/anti-d-factor-rh", "La dosis habitual en España y en Estados Unidos es de 300 microgramos (1500 UI), en una sola inyección intramuscular.", "En España, la dosis habitual es una inyección de 300 µg (1.500 UI).", True),
    ("es/cuidado-del-cordon-umbilical", "El cordón suele caerse entre los 5 y los 15 días de vida.", "Normalmente el cordón se desprende entre el quinto día y el decimoquinto.", False),
]  # fmt: skip


def section(document: str, sentence: str) -> Passage:
    """The section of a built-in document that holds a sentence: about one passage of the index."""
    read_in = read_document(ROOT / "data" / "corpus" / f"{document}.md")
    (found,) = [part for part in read_in.text.split("\n## ") if sentence in part]
    heading, _, text = found.partition("\n")
    return Passage("s", read_in.id, read_in.title, text.strip(), heading, read_in.language)


class TestProxy:
    """How much the proxy detects; `SourceText.supports` lists what it misses."""

    @pytest.mark.parametrize(
        ("kind", "document", "sentence", "corrupted", "caught"), CORRUPTIONS, ids=[row[3][:40] for row in CORRUPTIONS]
    )  # fmt: skip
    def test_corruptions(self, kind: str, document: str, sentence: str, corrupted: str, caught: bool):
        evidence = SourceText.of(section(document, sentence))
        assert evidence.supports(sentence)
        assert evidence.supports(corrupted) is not caught

    @pytest.mark.parametrize(
        ("document", "sentence", "paraphrase", "accepted"), PARAPHRASES, ids=[row[2][:40] for row in PARAPHRASES]
    )  # fmt: skip
    def test_paraphrases(self, document: str, sentence: str, paraphrase: str, accepted: bool):
        assert SourceText.of(section(document, sentence)).supports(paraphrase) is accepted

    def test_at_most_one_in_twenty_sentences_of_neighbouring_documents_passes(self, lab: Lab):
        """Neighbours: further down in the ranking for the same question, from documents not shown."""
        questions = read_builtin(ROOT / "data", "dev").measured
        deep = {"k_bm25_candidates": 50, "k_semantic_candidates": 50, "k_rrf_pool": 40, "k_final": 40}
        strategy = build(("hybrid_rrf", {**deep, "mmr": False})).without_answer()
        passed = []
        for question in questions[:: len(questions) // 12]:
            ranked = [hit.passage for hit in lab.run(question.text, strategy).ranking]
            shown = [SourceText.of(one) for one in ranked[:5]]
            named = {one.doc_id for one in ranked[:5]}
            for other in islice((one for one in ranked[5:] if one.doc_id not in named), 6):
                for sentence in sentences(other.text, other.language):
                    passed.append(any(evidence.supports(sentence) for evidence in shown))
        assert len(passed) > 300
        assert sum(passed) / len(passed) <= 0.05


class TestCheck:
    CATS, GATOS = passage("Cats purr when they are happy."), passage("Los gatos duermen mucho.", "es")

    def test_sentences_and_citations_are_counted(self):
        text = "Cats purr when they are happy [1]. Dogs bark at every stranger [1][2]. Cats purr."
        found = check(answered(text, self.CATS, passage("Birds sing."), invalid=2))
        assert found == AnswerCheck(
            supported=2, unsupported=("Dogs bark at every stranger.",), unchecked=0, citations=5, valid_citations=3
        )  # fmt: skip
        assert found.sentences == 3

    @pytest.mark.parametrize(
        ("text", "passages", "counts"),
        [
            ("Los gatos ronronean cuando están contentos [1].", (CATS,), (0, 0, 1)),
            ("Los gatos ronronean cuando están contentos.", (CATS,), (0, 0, 1)),
            ("Los gatos ronronean cuando están contentos.", (CATS, GATOS), (0, 1, 0)),
            ("Los gatos ronronean cuando están contentos [1].", (CATS, GATOS), (0, 0, 1)),
            ("Los gatos ronronean cuando están contentos [1][2].", (CATS, GATOS), (0, 1, 0)),
            ("Los gatos duermen mucho [2].", (CATS, GATOS), (1, 0, 0)),
            ("Los gatos duermen mucho. [2] Cats purr when they are happy. [1]", (CATS, GATOS), (2, 0, 0)),
        ],
    )
    def test_a_sentence_over_evidence_in_another_language_is_counted_apart(self, text, passages, counts):
        found = check(answered(text, *passages))
        assert (found.supported, len(found.unsupported), found.unchecked) == counts

    def test_an_abstention_says_nothing(self):
        assert check(answered("There is not enough evidence.", self.CATS, abstained=True)) == AnswerCheck()

    def test_a_trace_without_an_answer_cannot_be_checked(self):
        trace = answered("Cats.", self.CATS)
        state = State(trace.final.question, (), trace.final.rankings)
        with pytest.raises(ValueError, match="no answer"):
            check(Trace("Why?", "s", {}, "f", (Step("Dense", "retrieve", {}, state, 0.0),)))
