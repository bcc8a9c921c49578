"""Strategies that search with the question as asked, and HyDE."""

from dataclasses import replace

from ..prompts.templates import HYPOTHETICAL, REWRITER_TEMPERATURE
from ..stages import Asked, Bm25, Dense, Generate, Hyde, Mmr, ReciprocalRankFusion, Retrieve, Top
from .prompt_controls import ANSWER_PROMPT, PromptText
from .recipe import Number, Preset, Recipe, Switch, count

TUNED = "Chosen on the built-in dev questions at the same number of passages"
USED = "the {value}-passage limit"  # what a message calls k_final where it cuts a list
K_FINAL = count("k_final", 5, "Passages given to the answer.", label="passages used", limit=USED)
DEDUPLICATE = Switch(
    "deduplicate",
    True,
    "Passages of equal text, as in two documents, are one candidate that names all its sources (Multi-Query Rewriter "
    "RAG, Pipeline Steps: content-based); off keeps them apart.",
    label="equal texts as one",
)
RRF_K = Number(
    "rrf_k",
    60,
    "RRF constant; higher values flatten the top ranks (2009 paper: 60).",
    min=0,
    max=200,
    step=1,
    whole=True,
    label="rank fusion constant (RRF k)",
    symbol="RRF k",
)
TEMPERATURE = Number(
    "rewriter_temperature",
    REWRITER_TEMPERATURE,
    "Temperature of the rewriting model: 0.1 faithful, 0.3 balanced, 0.5 creative (Multi-Query Rewriter RAG, Rewriter Model Temperature); no effect on the offline engine.",
    min=0,
    max=1.5,
    step=0.05,
    label="rewriting temperature",
)

SIMPLE_SEMANTIC = Recipe(
    name="simple_semantic",
    title="Simple semantic",
    summary="Finds the passages whose embeddings are closest to the question's, by cosine similarity.",
    source="The baseline in Multi-Query Rewriter RAG, Comparison with Other Architectures (obstetrics-rag-benchmark documentation).",
    controls=(K_FINAL, DEDUPLICATE, ANSWER_PROMPT),
    stages=lambda c: (
        Retrieve((Dense(k=c["k_final"], control="k_final"),), c["deduplicate"]),
        Generate(c["answer_prompt"]),
    ),
    helps="Clear, full-sentence questions in the documents' language; the cheapest and fastest.",
    hurts="Rare names, abbreviations and numbers, which embeddings blur.",
    calls={"answer": 1},
    presets=(Preset("tuned", {}, f"{TUNED}: the defaults, since only the number of passages can be set."),),
)

BM25 = Recipe(
    name="bm25",
    title="BM25 keywords",
    summary="Finds passages that share words with the question; rare words count more.",
    source="Robertson and Zaragoza 2009; k1 and b as in rank_bm25.",
    controls=(
        K_FINAL,
        Number(
            "k1",
            1.5,
            "Term-frequency saturation; 0 counts each word once.",
            min=0,
            max=3,
            step=0.05,
            label="word repetition (BM25 k1)",
            symbol="k1",
        ),
        Number(
            "b",
            0.75,
            "Length normalisation; 0 turns it off.",
            label="length normalisation (BM25 b)",
            symbol="b",
        ),
        DEDUPLICATE,
        ANSWER_PROMPT,
    ),
    stages=lambda c: (
        Retrieve((Bm25(k=c["k_final"], k1=c["k1"], b=c["b"], control="k_final"),), c["deduplicate"]),
        Generate(c["answer_prompt"]),
    ),
    helps="Exact terms such as drug names, abbreviations and numbers; languages the embedding model does not know.",
    hurts="Everyday words where the documents use clinical terms.",
    calls={"answer": 1},
    presets=(Preset("tuned", {"b": 0.25}, f"{TUNED}: nDCG@10 0.581 instead of 0.579."),),
)

QUESTION_INDEX = Recipe(
    name="question_index",
    title="Question to question",
    summary="Finds the passages that answer a question like this one, among questions written down for each passage.",
    source="doc2query (Nogueira et al. 2019), HyPE, QuOTE (arXiv 2502.10976); the built-in collection's questions are ours.",
    controls=(K_FINAL, DEDUPLICATE, ANSWER_PROMPT),
    stages=lambda c: (
        Retrieve((Asked(k=c["k_final"], alone=True, control="k_final"),), c["deduplicate"]),
        Generate(c["answer_prompt"]),
    ),
    helps="Questions in everyday words, which documents do not use; it tells apart sections about one subject.",
    hurts="What nobody thought of asking, and corpora whose passages have no questions.",
    calls={"answer": 1},
    presets=(Preset("tuned", {}, f"{TUNED}: the defaults, since only the number of passages can be set."),),
)

HYDE = Recipe(
    name="hyde",
    title="HyDE",
    summary="Writes a passage that might answer the question, then searches with its embedding.",
    source="Gao et al. 2023 (HyDE), who average it with the question; a rival in Multi-Query Rewriter RAG, Comparison with Other Architectures.",
    controls=(
        K_FINAL,
        Switch(
            "include_question",
            True,
            "Average the passage's embedding with the question's; off: the passage alone.",
            label="question averaged in",
        ),
        Number(
            "hypotheses",
            1,
            "Passages written; the search uses the mean of their embeddings (Gao et al. 2023, section 3.2: N). More of "
            "them cost a call each, and differ only at a temperature above 0.",
            min=1,
            max=5,
            step=1,
            whole=True,
            label="hypothetical passages",
        ),
        TEMPERATURE,
        DEDUPLICATE,
        PromptText(
            "hyde_prompt",
            HYPOTHETICAL,
            "Instructions to the model that writes the hypothetical passages.",
            Hyde.fills,
            label="hypothetical passage prompt",
        ),
        ANSWER_PROMPT,
    ),
    stages=lambda c: (
        Hyde(
            include_question=c["include_question"],
            template=replace(c["hyde_prompt"], temperature=c["rewriter_temperature"]),
            samples=c["hypotheses"],
        ),
        Retrieve((Dense(k=c["k_final"], control="k_final"),), c["deduplicate"]),
        Generate(c["answer_prompt"]),
    ),
    helps="Questions worded unlike the documents: a hypothetical answer resembles the right passage more than the question does.",
    hurts="A wrong guess sends the search astray; the offline engine can only quote a first search.",
    calls={"rewrite": 1, "answer": 1},
    presets=(Preset("tuned", {}, f"{TUNED}: the defaults; without the question nDCG@10 is 0.644 instead of 0.688."),),
)

HYBRID_RRF = Recipe(
    name="hybrid_rrf",
    title="Hybrid RRF + MMR",
    summary="Runs keyword and embedding search side by side, fuses them by rank, then picks diverse passages.",
    source="Hybrid RRF module (src.rag.hybrid_rrf), obstetrics-rag-benchmark documentation; Cormack et al. 2009 (RRF); Carbonell and Goldstein 1998 (MMR).",
    controls=(
        count(
            "k_bm25_candidates",
            15,
            "Candidates from keyword search (Hybrid RRF module, Retrieval Settings: 15).",
            label="keyword candidates",
        ),
        count(
            "k_semantic_candidates",
            15,
            "Candidates from embedding search (Hybrid RRF module, Retrieval Settings: 15).",
            label="embedding candidates",
        ),
        RRF_K,
        count(
            "k_rrf_pool",
            10,
            "Size of the fused pool MMR picks from (Hybrid RRF module, Retrieval Settings: 10).",
            label="pool after fusion",
            limit="the pool of {value}",
        ),
        Switch(
            "mmr",
            True,
            "Pick diverse passages from the pool; off keeps the RRF order.",
            label="variety step (MMR)",
            symbol="MMR",
        ),
        Number(
            "mmr_lambda",
            0.7,
            "Relevance against diversity: 1 uses cosine to the question alone, 0 novelty alone (Hybrid RRF module, Retrieval Settings: 0.7).",
            symbol="λ",
            needs=(("mmr", (True,)),),
            label="variety (0) ↔ relevance (1)",
        ),
        K_FINAL,
        DEDUPLICATE,
        ANSWER_PROMPT,
    ),
    stages=lambda c: (
        Retrieve(
            (
                Bm25(k=c["k_bm25_candidates"], control="k_bm25_candidates"),
                Dense(k=c["k_semantic_candidates"], control="k_semantic_candidates"),
            ),
            c["deduplicate"],
        ),
        ReciprocalRankFusion(k=c["rrf_k"]),
        Top(k=c["k_rrf_pool"], control="k_rrf_pool"),
        Mmr(c["k_final"], c["mmr_lambda"], "k_final") if c["mmr"] else Top(c["k_final"], "k_final"),
        Generate(c["answer_prompt"]),
    ),
    helps="Questions that mix exact terms with meaning; answers that cover several sides of a subject.",
    hurts="One search much weaker than the other, which then dilutes it; diversity costs precision.",
    calls={"answer": 1},
    presets=(
        Preset(
            "tuned",
            {
                "k_bm25_candidates": 60,
                "k_semantic_candidates": 60,
                "rrf_k": 5,
                "k_rrf_pool": 5,
                "mmr_lambda": 0.9,
            },
            f"{TUNED}: nDCG@10 0.682 instead of 0.662. MMR only orders the five fused passages.",
        ),
        Preset(
            "source",
            {
                "k_bm25_candidates": 15,
                "k_semantic_candidates": 15,
                "rrf_k": 60,
                "k_rrf_pool": 10,
                "mmr_lambda": 0.7,
                "k_final": 5,
            },
            "Its settings (Hybrid RRF module, Retrieval Settings): our defaults, and gpt-4o answers. "
            "RAG_EMBEDDING=openai:text-embedding-3-small embeds as it does; ours needs no key.",
        ),
    ),
)
