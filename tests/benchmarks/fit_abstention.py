"""Fit the score of the evidence for an answer, and the lowest that is enough.

    python tests/benchmarks/fit_abstention.py

Writes data/abstention.toml. A logistic regression on `Facts` tells questions that the collection answers from those that it
does not, both sorts weighted equally: those of the dev questions, of data/answers and of data/abstention, its questions to
fit, and OTHER. Emergencies with a rule of their own are left out. It is fitted as for the built-in documents, on the passages of
`Context.usual_hits` (`known`), and as for documents without known questions, on those that meaning and words find (`plain`). A
question known to be outside with a cosine above TWIN to one that is fitted does not count for it: who wrote it had read that
one. Thresholds are chosen on scores of questions left out of the fit (five folds, five times):

- offline: the lowest that declines DECLINED of the questions that the collection does not answer;
- model: the highest that declines at most MODEL_DECLINED of those that it does, since a language model can decline by itself.

Other documents than the built-in ones may be notices of a line: few words of a question stand in them, and questions outside
them are farther off. Either is declined there below the highest that declines at most PLAIN_DECLINED.

`measure_abstention` (rag_core/evaluation/trust.py) measures the result.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rag_core.documents.answer_set import read_answer_set
from rag_core.documents.asked import OUTSIDE, read_questions
from rag_core.documents.benchmark import read_builtin
from rag_core.evaluation.trust import outside_of, read_abstention
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.offline.evidence import PLAIN, Facts, PassageEvidence, is_helped
from rag_core.offline.urgent import Urgent
from rag_core.runtime.context import Context
from rag_core.safety.urgency.triage import triage
from rag_core.stages.answer import WEIGHED
from rag_core.values.settings import Settings
from rag_core.values.types import Hit

DATA = Path(__file__).resolve().parents[2] / "data"
TWIN = 0.7
DECLINED = 0.9  # share of the questions outside the collection
MODEL_DECLINED = 0.03  # share of the answerable ones before a language model is asked
PLAIN_DECLINED = 0.005  # of them, as if no question were known
RIDGE, FOLDS, DIVISIONS = 0.003, 5, 5
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
    """One question, whether the collection answers it, and its facts without known questions and with them."""

    text: str
    language: str
    inside: bool
    plain: tuple[float | None, ...]
    known: tuple[float | None, ...]


def questions() -> dict[tuple[str, str], bool]:
    """Every dev question by its text and language, and whether the collection answers it."""
    dev = read_builtin(DATA, "dev")
    judged = read_answer_set(DATA / "answers" / "dev.toml", dev).extend(dev)
    rows = outside_of(judged) | read_abstention(DATA, "dev") | read_abstention(DATA, "fit")
    found = {(one.text, one.language): not outside for one, outside in rows.items()}
    return found | {(text, language): False for language, texts in OTHER.items() for text in texts}


def cases(lab: Lab) -> Iterator[Case]:
    """Every dev question that no rule for emergencies answers."""
    evidence = PassageEvidence(lab.engines.scorer, {})
    services = lab.services()
    reader, index = services.reader, services.index
    embedder = lab.engines.scorer.embedder
    written = read_questions(DATA / "asked" / OUTSIDE)
    elsewhere, _ = embedder.embed([one.question for one in written], "query")
    for (text, language), inside in questions().items():
        ctx, read = Context(services), reader.read(text)
        level, usual = triage(read), ctx.usual_hits(text, WEIGHED)
        if is_helped(Urgent(read, level), usual):
            continue
        by_meaning = index.dense(ctx.embed([text])[0], WEIGHED)
        by_words = index.lexical(read, WEIGHED, 1.5, 0.75)
        others: dict[str, Hit] = {}
        for pair in zip(by_meaning, by_words, strict=False):
            others.update((hit.id, hit) for hit in pair)
        known = evidence.facts(read, usual, level, services.asked)
        assert known.contrast is not None
        cosines = elsewhere @ embedder.embed([read], "query")[0][0]
        contrast = known.contrast + cosines.max() - cosines[cosines <= TWIN].max()
        plain = evidence.facts(read, list(others.values()), level)[: len(PLAIN)]
        yield Case(text, language, inside, plain, known._replace(contrast=float(contrast)))


def fit(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intercept and weights."""
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    z, share = (x - mean) / spread, np.where(y > 0, 0.5 / y.sum(), 0.5 / (1 - y).sum())

    def loss(b: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = b[0] + z @ b[1:]
        missed = share * (1 / (1 + np.exp(-odds)) - y)
        total = share @ (np.logaddexp(0, odds) - y * odds) + RIDGE * b[1:] @ b[1:]
        return total, np.concatenate([[missed.sum()], z.T @ missed + 2 * RIDGE * b[1:]])

    b = minimize(loss, np.zeros(len(mean) + 1), jac=True, method="L-BFGS-B").x
    return np.concatenate([[b[0] - (b[1:] / spread) @ mean], b[1:] / spread])


def unseen(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean score of each case by fits without it, of which each division into folds gives one."""
    found = np.zeros((DIVISIONS, len(y)))
    for seed in range(DIVISIONS):
        fold = np.random.default_rng(seed).permutation(len(y)) % FOLDS
        for k in range(FOLDS):
            weights = fit(x[fold != k], y[fold != k])
            found[seed, fold == k] = 1 / (1 + np.exp(-(weights[0] + x[fold == k] @ weights[1:])))
    return found.mean(axis=0)


def main() -> None:
    lab = open_lab(settings=Settings(abstain="off"))  # needs no thresholds
    rows = list(cases(lab))
    y, language = np.array([row.inside for row in rows], float), np.array([row.language for row in rows])
    name = lab.engines.scorer.embedder.key.partition("@")[0]
    lines = ["# Fitted by tests/benchmarks/fit_abstention.py on dev questions."]
    for kind, names in (("plain", PLAIN), ("known", Facts._fields)):
        x = np.array([getattr(row, kind) for row in rows], float)
        left = unseen(x, y)
        most = PLAIN_DECLINED if kind == "plain" else MODEL_DECLINED
        model = np.floor(100 * np.quantile(left[y > 0], most)) / 100
        offline = model if kind == "plain" else np.ceil(100 * np.quantile(left[y == 0], DECLINED)) / 100
        model = min(model, offline)
        lines += ["", f'["{name}".{kind}]']
        lines += [f"{key} = {value:.3f}" for key, value in zip(("intercept", *names), fit(x, y), strict=True)]
        lines += [f"offline = {offline:.2f}", f"model = {model:.2f}"]
        for threshold in dict.fromkeys((offline, model)):
            for group in ("all", *np.unique(language)):
                outside, inside = (left[((language == group) | (group == "all")) & (y == sort)] for sort in (0, 1))
                print(
                    f"{kind} {threshold:.2f} {group}: declines {np.mean(outside < threshold):.3f} of {len(outside)} outside, "
                    f"{np.mean(inside < threshold):.3f} of {len(inside)} inside"
                )
    (DATA / "abstention.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
