"""What a passage's score is called, and what it means."""

from pages.drawing.translate import declared, translated
from rag_core.explain import query_title, stage_title

SCALES = {
    "cosine": declared("cosine"), "bm25": "BM25", "rrf": "RRF", "weighted_cosine": declared("weighted cosine"),
    "mmr": "MMR", "cross_encoder": declared("cross-encoder"), "offline_scorer": declared("offline scorer"),
    "known_questions": declared("score with known questions"), "judge": declared("judge"), "s_final": "S_final",
    "external": declared("external"), "postprocessor": declared("postprocessor"),
}  # fmt: skip
SCALE_HELP = {
    "cosine": declared(
        "Cosine similarity of question and passage embeddings: 1 is the same direction, 0 is unrelated."
    ),
    "bm25": declared(
        "BM25: higher when question and passage share rarer words; no upper limit. Compare only within one list."
    ),
    "rrf": declared(
        "Reciprocal rank fusion: Σ 1 / (k + rank) over the lists that contain the passage. "
        "It orders passages; it does not say how relevant they are."
    ),
    "weighted_cosine": declared(
        "Cosine of passage and rewrite times the rewrite's weight, combined over the rewrites "
        "that found the passage."
    ),
    "mmr": declared(
        "Maximal marginal relevance: λ · cosine to the question − (1 − λ) · cosine to the most "
        "similar passage above it. The first passage has none above it."
    ),
    "cross_encoder": declared(
        "A cross-encoder's score for query and passage, read together. Compare only within one list."
    ),
    "offline_scorer": declared(
        "The offline scorer's score for query and passage; no cross-encoder or language model is involved."
    ),
    "known_questions": declared(
        "The score before, standardised over the list, plus the weighted cosine of the question to the nearest "
        "question that the passage is known to answer. Compare only within one list."
    ),
    "judge": declared("The judge's relevance score for the passage, 0 to 1."),
    "s_final": declared("S_final = α · cosine + (1 − α) · judge, compared with the threshold θ."),
}
WEIGHTS = {"s_final": "α", "mmr": "λ"}  # symbol for the weight of the first term
TERMS = {
    "cosine": SCALES["cosine"], "judge": SCALES["judge"], "similarity": declared("similarity"),
    "standardised": declared("standardised score"), "known question": declared("nearest known question"),
}  # fmt: skip


def summand(name: str) -> str:
    """What a part of a score is called: who searched and who wrote the query, or what is weighed."""
    pieces = (TERMS.get(one) or query_title(stage_title(one)) for one in name.split(" · "))
    return " · ".join(translated(one) for one in pieces)
