"""A strategy as LlamaIndex's retriever, in LlamaIndex's own query engine."""

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

import rag_core

retriever = rag_core.open_lab().retriever("ensemble", k_final=3)
print(RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query("When is anti-D given?"))
