"""Fit the offline engine's abstention (rag_core/offline/evidence.py): MIN_SUPPORT.

    python tests/benchmarks/fit_answers.py

Support is measured on hybrid_rrf's passages. The threshold is the lowest at which nine in ten of the questions that
the collection cannot answer are declined: of those of the dev split, and of OTHER in each language, since the split
has only a few. `rag answers --split test` measures the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import rag_core
from rag_core.data.benchmark import read_builtin
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.offline.evidence import MIN_SUPPORT, AnswerSupport

DATA = Path(__file__).resolve().parents[2] / "data"
SEARCH = rag_core.build("hybrid_rrf").without_answer()
ANSWERED = 0.1  # highest share of those that may be answered
OTHER = {
    "en": [
        "What is the capital of Australia?",
        "How do I change a flat bicycle tyre?",
        "Which laptop is best for video editing?",
        "What time does the last train to Leeds leave?",
        "How is gout treated in older men?",
        "What are the symptoms of Parkinson's disease?",
        "How much does a new kitchen cost?",
        "Which statin has the fewest side effects for a 70-year-old man?",
        "How do I train a puppy not to bite?",
        "What car insurance do I need as a new driver?",
        "How often should a man have his prostate checked?",
        "When do toddlers start to talk in sentences?",
        "What is the best treatment for acne in teenagers?",
        "How long does a knee replacement last?",
        "Can I claim tax relief on a home office?",
        "What causes cataracts and when are they operated on?",
        "Which foods lower cholesterol?",
        "How is COPD diagnosed with spirometry?",
        "My ten-year-old has head lice, what shampoo works?",
        "What are the side effects of chemotherapy for bowel cancer?",
        "How do I renew my passport online?",
        "What is the normal PSA level at 60?",
        "Is hormone replacement therapy safe after breast cancer?",
        "How can I stop snoring at night?",
        "When should my son get his measles booster at school?",
        "How is osteoporosis treated after the menopause?",
        "What does a credit score of 700 mean?",
        "Which antibiotics are used for a tooth abscess in a man?",
        "How do I get rid of mould on the wall?",
        "What is the difference between a cold and hay fever in children?",
    ],
    "es": [
        "¿Cuál es la capital de Australia?",
        "¿Cómo se cambia la rueda de un coche?",
        "¿Qué seguro de hogar me conviene contratar?",
        "¿A qué hora sale el último tren a Sevilla?",
        "¿Cómo se trata la gota en un hombre mayor?",
        "¿Cuáles son los síntomas del párkinson?",
        "¿Cuánto cuesta reformar una cocina?",
        "¿Qué estatina tiene menos efectos secundarios a los 70 años?",
        "¿Cómo enseño a mi perro a no morder?",
        "¿Qué necesito para renovar el pasaporte?",
        "¿Cada cuánto hay que revisar la próstata?",
        "¿Cuándo empiezan a hablar los niños con frases completas?",
        "¿Cuál es el mejor tratamiento para el acné juvenil?",
        "¿Cuánto dura una prótesis de rodilla?",
        "¿Qué gastos puedo desgravar en la declaración de la renta?",
        "¿Qué causa las cataratas y cuándo se operan?",
        "¿Qué alimentos bajan el colesterol?",
        "¿Cómo se diagnostica la EPOC con espirometría?",
        "Mi hijo de diez años tiene piojos, ¿qué champú funciona?",
        "¿Qué efectos secundarios tiene la quimioterapia del cáncer de colon?",
        "¿Cómo se cocina una paella valenciana?",
        "¿Qué valor de PSA es normal a los 60 años?",
        "¿Cómo puedo dejar de roncar por la noche?",
        "¿Qué ordenador me compro para editar vídeo?",
        "¿Cómo se trata la osteoporosis después de la menopausia?",
        "¿Cuándo le salen los dientes definitivos a un niño?",
        "¿Qué hago si pierdo el móvil en el extranjero?",
        "¿Cómo se quita el moho de la pared?",
        "¿Qué diferencia hay entre el resfriado y la alergia al polen en niños?",
        "¿Cuánto se tarda en aprender a conducir?",
        "¿Qué seguro de coche necesito?",
    ],
}


def supports(lab: Lab, evidence: AnswerSupport, questions: Sequence[str]) -> np.ndarray:
    """Support of each question, in descending order."""
    found = [evidence.assess(text, lab.run(text, SEARCH).ranking.hits).support for text in questions]
    return np.sort(found)[::-1]


def main() -> None:
    lab = open_lab()
    evidence = AnswerSupport(lab.engines.scorer, lab.index)
    dev = read_builtin(DATA, "dev")
    outside = {question.id for question in dev.unanswerable}
    without = {"dev": [question.text for question in dev.unanswerable], **OTHER}
    for name, texts in without.items():
        found = supports(lab, evidence, texts)
        above = found[int(ANSWERED * len(found))]
        declined = np.mean(found < MIN_SUPPORT)
        print(f"{name}: declined {declined:.3f} of {len(found)}; fitted: above {above:.3f}", flush=True)
    for language in OTHER:
        inside = [one.text for one in dev.questions if one.language == language and one.id not in outside]
        answered = np.mean(supports(lab, evidence, inside) >= MIN_SUPPORT)
        print(f"{language}: answered {answered:.3f} of {len(inside)}", flush=True)


if __name__ == "__main__":
    main()
