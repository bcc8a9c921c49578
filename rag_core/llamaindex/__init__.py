"""Strategies as LlamaIndex retrievers and query engines; `Lab.retriever` and `Lab.query_engine` make them.

They work without a key and never touch LlamaIndex's global Settings.
"""

from .nodes import Embedding, Found, LlamaIndexRetriever, PassageNode, as_hits, as_nodes
from .query_engine import StrategyQueryEngine, StrategyRetriever, SynthesizedQueryEngine, query_engine
