"""The stages a strategy is made of."""

from .answer import Generate
from .base import Flow, FusionStage, RerankStage, Retriever, SelectStage, Stage, TransformStage
from .fuse import MaxFusion, ReciprocalRankFusion, WeightedFusion
from .rerank import Blend, LlmRerank, Rerank, RerankByQuestions
from .retrieve import Asked, Bm25, Dense, Retrieve
from .select import LeaveOut, Mmr, Spread, Threshold, Top
from .transform import AnalyseQuery, AnalyseQueryByLlm, Hyde, Rephrase, Rewrite
