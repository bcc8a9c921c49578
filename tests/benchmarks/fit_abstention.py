"""Fit the score of the evidence for an answer, and the thresholds below which a question is declined.

    python tests/benchmarks/fit_abstention.py

Writes data/abstention.toml. A logistic regression on `Facts` tells questions whose passages include a relevant one
from those that the collection cannot answer, both sorts weighted equally. The passages are those of `Context.usual_hits`.
The latter are those of the dev questions, the dev half of data/abstention, its questions to fit, and OTHER; emergencies with a rule of
their own are left out. Thresholds are chosen on scores of questions left out of the fit (ten folds, ten times), in each language:

- offline: the lowest that declines OUTSIDE of the questions that the collection cannot answer, but none that declines more
  than DECLINED of those that it can;
- model: the highest that declines at most MODEL_DECLINED of these, since a language model can decline by itself.

`measure_abstention` (rag_core/evaluation/trust.py) measures the result.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from rag_core.documents.benchmark import passage_key, read_builtin, read_qrels
from rag_core.evaluation.trust import read_abstention
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.language.analysis import LANGUAGES
from rag_core.offline.evidence import Facts, PassageEvidence, is_helped
from rag_core.offline.naming import Naming
from rag_core.offline.urgent import Urgent
from rag_core.runtime.context import Context
from rag_core.safety.urgency.triage import triage
from rag_core.stages.answer import WEIGHED
from rag_core.values.settings import Settings

DATA = Path(__file__).resolve().parents[2] / "data"
OUTSIDE, DECLINED = 0.89, 0.12  # shares of the unanswerable and of the answerable questions
MODEL_DECLINED = 0.03  # the latter before a language model is asked
RIDGE, FOLDS, DIVISIONS = 0.003, 10, 10
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


class Case(NamedTuple):
    """One question and its usual passages.

    Args:
        found: whether a relevant passage is among them.
    """

    text: str
    language: str
    inside: bool
    found: bool
    facts: Facts


def cases(lab: Lab) -> Iterator[Case]:
    engines = lab.engines
    evidence = PassageEvidence(
        engines.scorer, Naming(engines.scorer, engines.thesaurus), engines.scorer.embedder.key, {}
    )
    services = lab.services()
    reader = services.reader
    assert reader is not None
    dev = read_builtin(DATA, "dev")
    unanswerable = {question.id for question in dev.unanswerable}
    grades = {
        question: judged
        for language in LANGUAGES
        for question, judged in read_qrels(
            DATA / "questions" / language / "qrels-passages" / "dev.tsv"
        ).items()
    }
    asked = [(one.text, one.language, one.id not in unanswerable, one.id) for one in dev.questions]
    asked += [
        (one.text, one.language, not outside, "") for one, outside in read_abstention(DATA, "dev").items()
    ]
    asked += [(one.text, one.language, False, "") for one in read_abstention(DATA, "fit")]
    asked += [(text, language, False, "") for language, texts in OTHER.items() for text in texts]
    for text, language, inside, identity in asked:
        hits, read = Context(services).usual_hits(text, WEIGHED), reader.read(text)
        if not is_helped(Urgent(read, triage(read)), hits):
            judged = grades.get(identity)
            found = inside and (judged is None or any(judged.get(passage_key(hit.id), 0) > 0 for hit in hits))
            facts = evidence.facts(read, hits, engines.scorer.relevance(read, hits))
            yield Case(text, language, inside, found, facts)


def fit(rows: list[Case]) -> np.ndarray:
    """Intercept and weights."""
    used = [row for row in rows if row.found or not row.inside]
    x, y = np.array([row.facts for row in used]), np.array([row.inside for row in used], float)
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    z, share = (x - mean) / spread, np.where(y > 0, 0.5 / y.sum(), 0.5 / (1 - y).sum())

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        odds = b[0] + z @ b[1:]
        missed = share * (1 / (1 + np.exp(-odds)) - y)
        total = share @ (np.logaddexp(0, odds) - y * odds) + RIDGE * b[1:] @ b[1:]
        return total, np.concatenate([[missed.sum()], z.T @ missed + 2 * RIDGE * b[1:]])

    b = minimize(loss, np.zeros(len(mean) + 1), jac=True, method="L-BFGS-B").x
    return np.concatenate([[b[0] - (b[1:] / spread) @ mean], b[1:] / spread])


def scores(rows: list[Case], weights: np.ndarray) -> np.ndarray:
    """The score of each case, 0 to 1."""
    return 1 / (1 + np.exp(-(weights[0] + np.array([row.facts for row in rows]) @ weights[1:])))


def unseen(rows: list[Case]) -> np.ndarray:
    """The mean score of each case by fits without its question, which each division into folds gives one of."""
    texts = sorted({row.text for row in rows})
    found = np.zeros((DIVISIONS, len(rows)))
    for seed in range(DIVISIONS):
        fold = {text: i % FOLDS for i, text in enumerate(np.random.default_rng(seed).permutation(texts))}
        for k in range(FOLDS):
            left_out = np.array([fold[row.text] == k for row in rows])
            weights = fit([row for row in rows if fold[row.text] != k])
            found[seed, left_out] = scores([row for row in rows if fold[row.text] == k], weights)
    return found.mean(axis=0)


def main() -> None:
    lab = open_lab(settings=Settings(abstain="off"))  # needs no thresholds
    rows = list(cases(lab))
    weights, left = fit(rows), unseen(rows)
    name = lab.engines.scorer.embedder.key.partition("@")[0]
    lines = ["# Fitted by tests/benchmarks/fit_abstention.py on dev questions.", "", f'["{name}".weights]']
    lines += [
        f"{key} = {value:.3f}" for key, value in zip(("intercept", *Facts._fields), weights, strict=True)
    ]
    least: dict[str, list[str]] = {"offline": [], "model": []}
    for language in LANGUAGES:
        inside, outside = (
            np.array(
                [
                    score
                    for row, score in zip(rows, left, strict=True)
                    if row.language == language and row.inside is wanted
                ]
            )
            for wanted in (True, False)
        )
        enough = np.ceil(100 * np.quantile(outside, OUTSIDE)) / 100
        offline, model = (
            np.floor(100 * np.quantile(inside, most)) / 100 for most in (DECLINED, MODEL_DECLINED)
        )
        for who, threshold in (("offline", min(enough, offline)), ("model", model)):
            least[who].append(f"{language} = {threshold:.2f}")
            print(
                f"{language} {who} {threshold:.2f}: declines {np.mean(outside < threshold):.3f} of {len(outside)} outside, "
                f"{np.mean(inside < threshold):.3f} of {len(inside)} inside"
            )
        for threshold in np.arange(0.05, 1, 0.05):
            print(f"  {threshold:.2f}  {np.mean(outside < threshold):.3f}  {np.mean(inside < threshold):.3f}")
    for who, values in least.items():
        lines += ["", f'["{name}".{who}]', *values]
    (DATA / "abstention.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
