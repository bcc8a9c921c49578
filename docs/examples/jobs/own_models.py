"""LlamaIndex's models in place of the lab's: one embeds, one answers, and the offline engine judges."""

from llama_index.core import Document, MockEmbedding
from llama_index.core.llms import MockLLM

import rag_core

embed = MockEmbedding(embed_dim=8)
rag_core.index([Document(text="Gloves lie on shelf A3.", doc_id="gloves")], "mine", embed_model=embed)
lab = rag_core.open_lab("mine", embed_model=embed, llm=MockLLM(), judge_llm="offline-extractive")
print(lab.run("Where are gloves?", "bm25").answer)
