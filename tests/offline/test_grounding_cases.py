"""How much the comparison of an answer's sentences with passages detects, by examples and on neighbouring documents."""

from itertools import islice

from helpers.looping import for_each
from helpers.small import ROOT

from rag_core.catalog import build
from rag_core.documents.benchmark import read_builtin
from rag_core.documents.documents import read_document
from rag_core.lab.lab import Lab
from rag_core.language.analysis import sentences
from rag_core.offline.grounding import MOST
from rag_core.values.answers import Claim, Support
from rag_core.values.types import Passage

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
    ("number of another sentence", "en/anti-d-rhesus", "The single-dose schedule is 1,500 IU at about 28 weeks.", "The single-dose schedule is 500 IU at about 34 weeks.", True),
    ("number of another sentence", "en/eclampsia-emergency", "NICE gives 4 g into a vein over 5 to 15 minutes, then 1 g per hour for 24 hours.", "NICE gives 10 g into a vein over 5 to 15 minutes, then 1 g per hour for 24 hours.", True),
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
    ("one of two negations dropped", "en/medicines-in-pregnancy-paracetamol-nsaids", "Codeine is kept for pain that other measures do not relieve, and is not advised while breastfeeding.", "Codeine is kept for pain that other measures do not relieve, and is advised while breastfeeding.", True),
    ("negation added", "en/anti-d-rhesus", "More anti-D is given when that bleed is large.", "More anti-D is not given when that bleed is large.", True),
    ("negation added", "en/medicines-in-pregnancy-paracetamol-nsaids", "Paracetamol and ibuprofen are both suitable while breastfeeding.", "Paracetamol and ibuprofen are not suitable while breastfeeding.", True),
    ("negation added", "en/safe-sleep", "Babies with reflux also sleep on their back, and their airway protects them from choking in that position.", "Babies with reflux never sleep on their back, and their airway protects them from choking in that position.", True),
    ("negation added", "es/anti-d-factor-rh", "La prueba se repite hacia las 28 semanas, antes de la inyección.", "La prueba no se repite hacia las 28 semanas, antes de la inyección.", True),
    ("name", "en/eclampsia-emergency", "Magnesium works better than diazepam or phenytoin.", "Magnesium works better than diazepam or carbamazepine.", True),
    ("name", "en/postpartum-haemorrhage", "Tranexamic acid 1 g is given into a vein over 10 minutes, as soon as possible and within 3 hours of birth.", "Misoprostol 1 g is given into a vein over 10 minutes, as soon as possible and within 3 hours of birth.", True),
    ("name", "en/group-b-streptococcus", "RCOG uses benzylpenicillin 3 g, then 1.5 g every 4 hours.", "RCOG uses erythromycin 3 g, then 1.5 g every 4 hours.", True),
    ("name", "en/eclampsia-emergency", "Nifedipine and enalapril can be used while breastfeeding.", "Nifedipine and ramipril can be used while breastfeeding.", True),
    ("name", "es/hemorragia-posparto", "La ergometrina no se da a mujeres con hipertensión.", "La oxitocina no se da a mujeres con hipertensión.", True),
    ("direction", "en/anti-d-rhesus", "After 20 weeks the dose is at least 500 IU, with a blood test for the size of the bleed.", "Before 20 weeks the dose is at most 500 IU, with a blood test for the size of the bleed.", True),
    ("direction", "en/postpartum-haemorrhage", "RCOG calls 500 to 1,000 mL minor PPH and more than 1,000 mL major PPH.", "RCOG calls 500 to 1,000 mL major PPH and more than 1,000 mL minor PPH.", False),
    ("other document", "en/anti-d-rhesus", "The single-dose schedule is 1,500 IU at about 28 weeks.", "A fit in pregnancy or after birth means calling your local emergency number at once.", True),
    ("other document", "en/safe-sleep", "A home breathing monitor does not prevent SIDS.", "Carrying GBS is no reason for a caesarean, and RCOG allows water birth if antibiotics can be given.", True),
    ("other document", "en/postpartum-haemorrhage", "Trauma means tears of the perineum, vagina, cervix or womb.", "NSAIDs near term can also cause bleeding and delay labour.", True),
    ("other document", "es/anti-d-factor-rh", "Ser Rh negativa no es una enfermedad.", "El cordón suele caerse entre los 5 y los 15 días de vida.", True),
    ("other document", "es/hemorragia-posparto", "Trauma son los desgarros, la rotura del útero y su inversión.", "La dosis habitual en España y en Estados Unidos es de 300 microgramos (1500 UI), en una sola inyección intramuscular.", True),
]  # fmt: skip

# (document, a sentence of it, the same in other words, whether it is accepted)
PARAPHRASES = [
    ("en/anti-d-rhesus", "The single-dose schedule is 1,500 IU at about 28 weeks.", "In the single-dose schedule, 1500 units are given at about 28 weeks.", False),
    ("en/anti-d-rhesus", "Rhesus D positive women do not need anti-D, whatever the baby's type.", "Anti-D is not needed for Rhesus D positive women.", True),
    ("en/anti-d-rhesus", "After the birth of a Rhesus D positive baby, a Rhesus D negative woman has anti-D, usually into a muscle, within 72 hours.", "If the baby is Rhesus D positive, give anti-D within 72 h after birth.", True),
    ("en/postpartum-haemorrhage", "Tranexamic acid 1 g is given into a vein over 10 minutes, as soon as possible and within 3 hours of birth.", "Give 1 gram of tranexamic acid into a vein over ten minutes within three hours of the birth.", True),
    ("en/postpartum-haemorrhage", "WHO does not recommend starting it more than 3 hours after birth, or with a known clot in this pregnancy.", "Starting it more than three hours after birth is not recommended by WHO.", True),
    ("en/eclampsia-emergency", "Do not hold her down, and note the time when the fit began.", "Note when the fit began and don't hold her down.", True),
    ("en/eclampsia-emergency", "NICE gives 4 g into a vein over 5 to 15 minutes, then 1 g per hour for 24 hours.", "NICE: 4 g in a vein over 5–15 min, followed by 1 g an hour for 24 h.", True),
    ("en/medicines-in-pregnancy-paracetamol-nsaids", "NSAIDs should not be taken in the last third of pregnancy, because they can close a vessel near the baby's heart too early.", "Avoid NSAIDs in the last third of pregnancy: they can close a vessel near the baby's heart.", True),
    ("en/medicines-in-pregnancy-paracetamol-nsaids", "Paracetamol and ibuprofen are both suitable while breastfeeding.", "While breastfeeding, both paracetamol and ibuprofen are suitable.", True),
    ("en/safe-sleep", "Sleeping on the back is the most important protection against sudden infant death syndrome (SIDS, cot death).", "The best safeguard against cot death is to lay infants supine.", True),
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


def supports(lab: Lab, said: list[str], *shown: Passage) -> list[Support]:
    """How well these passages support each sentence."""
    assert lab.engines.grounder
    claims = [Claim(0, len(sentence), sentence) for sentence in said]
    parts = [claims[at : at + MOST] for at in range(0, len(claims), MOST)]
    found = [one for part in parts for one in lab.engines.grounder.ground(part, shown, shown[0].language)]
    return [one.support for one in found]


def support(lab: Lab, sentence: str, *shown: Passage) -> Support:
    """How well these passages support a sentence."""
    (found,) = supports(lab, [sentence], *shown)
    return found


@for_each(
    ("kind", "document", "sentence", "corrupted", "caught"), CORRUPTIONS, ids=[row[3][:40] for row in CORRUPTIONS]
)  # fmt: skip
def test_a_corrupted_sentence(lab, kind, document, sentence, corrupted, caught):
    shown = section(document, sentence)
    assert support(lab, sentence, shown) == "supported"
    assert (support(lab, corrupted, shown) != "supported") is caught


@for_each(
    ("document", "sentence", "paraphrase", "accepted"), PARAPHRASES, ids=[row[2][:40] for row in PARAPHRASES]
)  # fmt: skip
def test_a_paraphrase(lab, document, sentence, paraphrase, accepted):
    assert (support(lab, paraphrase, section(document, sentence)) == "supported") is accepted


def test_few_sentences_of_neighbouring_documents_pass(lab):
    """Neighbours: further down in the ranking for the same question, from documents not shown.

    Of routine questions, since several documents say the same about an urgent one: over every fourth dev question 41 of
    813 sentences (0.050) pass, of urgent ones 57 of 279. Some of the 41 are said by the passages shown too.
    """
    questions = read_builtin(ROOT / "data", "dev").measured
    deep = {"k_bm25_candidates": 50, "k_semantic_candidates": 50, "k_rrf_pool": 40, "k_final": 40}
    strategy = build(("hybrid_rrf", {**deep, "mmr": False})).without_answer()
    passed = []
    for question in questions[:: len(questions) // 16]:
        if question.level != "routine":
            continue
        ranked = [hit.passage for hit in lab.run(question.text, strategy).ranking]
        shown = ranked[:5]
        named = {one.doc_id for one in shown}
        others = islice((one for one in ranked[5:] if one.doc_id not in named), 0, 6, 2)
        said = [sentence for other in others for sentence in sentences(other.text, other.language)]
        passed += [found == "supported" for found in supports(lab, said, *shown)]
    assert len(passed) > 150
    assert sum(passed) / len(passed) <= 0.07
