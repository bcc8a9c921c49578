import os
import subprocess
import sys

import pytest
from helpers.provider_lab import provider_lab

from rag_core.lab.opening import warm_up

PROGRAM = """
import sys
from rag_core import RECIPES, open_lab
from rag_core.lab.browsing import indexed_documents
from rag_core.lab.opening import warm_up
from rag_core.models import tokenizer
lab = open_lab()
for language in ("en", "es"):
    warm_up(lab, language)
loaded = set(sys.modules)
trace = lab.run("¿Me puedo teñir el pelo con mechas a las 20 semanas?", "hybrid_rrf")
assert trace.answer.text
print(sorted(name.split(".")[0] for name in set(sys.modules) - loaded), tokenizer._encoding.cache_info().misses)
names = list(RECIPES)
traces = lab.compare("When is anti-D given?", names)
print([trace.strategy for trace in traces] == names, all(trace.answer.text for trace in traces))
assert indexed_documents(lab.index)  # the page shows them below an answer
heavy = {"torch", "transformers", "sentence_transformers", "chromadb", "llama_index.core", "nltk", "scipy"}
print(sorted(heavy & sys.modules.keys()))
"""


def test_the_first_question_after_it_loads_no_library_and_no_strategy_torch_or_llamaindex(lab, real_home):
    environment = {**os.environ, "RAG_HOME": str(real_home), "RAG_LLM": "offline"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["[] 1", "True True", "[]"], ran.stderr


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_lab_with_a_provider_sends_it_nothing(server, store, embedder, index, labels, language):
    warm_up(provider_lab(server, store, embedder, labels, openai_api_key="sk-0123456789abcdef"), language)
    assert server.requests == []
