"""Fit the offline engine's abstention (rag_core/offline/evidence.py): MIN_SUPPORT, MATERNITY_SUPPORT, OTHERS_SUPPORT.

    python tests/benchmarks/fit_answers.py

Support is measured on hybrid_rrf's passages. For each kind of question (neither, naming maternity, about others) and
threshold: the share of the dev questions answered, and the share declined of those that the collection cannot answer,
which must be at least 0.9 over all kinds in either language. Those are the ones of the dev split and OTHER, since the
split has only a few. `rag answers --split test` measures the result.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import rag_core
from rag_core.data.benchmark import read_builtin
from rag_core.lab.opening import open_lab
from rag_core.language.maternity import about_others, names_maternity
from rag_core.offline.evidence import AnswerSupport

DATA = Path(__file__).resolve().parents[2] / "data"
SEARCH = rag_core.build("hybrid_rrf").without_answer()
GRID = np.arange(0.3, 1.0, 0.05)
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
        "How can I stop biting my nails?",
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
        "¿Cómo puedo dejar de morderme las uñas?",
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


def kind_of(question: str) -> str:
    """Which of the thresholds applies to a question about these passages."""
    return "maternity" if names_maternity(question) else "others" if about_others(question) else "neither"


def main() -> None:
    lab = open_lab()
    evidence = AnswerSupport(lab.engines.scorer, lab.index)
    dev = read_builtin(DATA, "dev")
    unanswerable = {question.id for question in dev.unanswerable}
    for language, others in OTHER.items():
        own = [question for question in dev.questions if question.language == language]
        outside = [*(question.text for question in own if question.id in unanswerable), *others]
        asked = [(one.text, True) for one in own if one.id not in unanswerable] + [
            (one, False) for one in outside
        ]
        found = [
            (evidence.assess(text, lab.run(text, SEARCH).ranking.hits), text, inside)
            for text, inside in asked
        ]
        for wanted in (True, False):
            enough = [one.enough for one, _, inside in found if inside is wanted]
            print(
                f"{language}: {np.mean(enough):.3f} of {len(enough)} {'inside' if wanted else 'outside'} answered"
            )
        for kind in ("neither", "maternity", "others"):
            answerable, unanswered = (
                np.array(
                    [one.support for one, text, inside in found if inside is wanted and kind_of(text) == kind]
                )
                for wanted in (True, False)
            )
            print(f"  {kind}: {len(answerable)} inside, {len(unanswered)} outside")
            for least in GRID.round(2):
                print(
                    f"    {least:.2f}  answered {share(answerable >= least)}  declined {share(unanswered < least)}"
                )


def share(found: np.ndarray) -> str:
    return f"{found.mean():.3f}" if len(found) else "-"


if __name__ == "__main__":
    main()
