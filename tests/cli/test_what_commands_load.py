"""Commands load no library they do not need: without a model they answer at once, and the default needs neither torch nor LlamaIndex."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag_core.catalog import RECIPES
from rag_core.lab.lab import Lab

HEAVY = {"torch", "transformers", "chromadb", "llama_index", "scipy", "sklearn", "pandas", "streamlit"}


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--help"], HEAVY | {"numpy", "pydantic_settings", "phonenumbers"}),
        (["strategies"], HEAVY),
        (["triage", "bleeding at 30 weeks"], HEAVY),
    ],
)
def test_a_command_without_a_model_loads_no_model_library(arguments: list[str], unneeded: set[str]) -> None:
    program = (
        "import sys\n"
        "from rag_core.cli import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "except SystemExit: pass\n"
        f"sys.stderr.write(' '.join(sorted({unneeded!r} & sys.modules.keys())))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout
    assert ran.stderr == ""


def asked(home: Path, arguments: list[str], watched: set[str]) -> tuple[str, list[str]]:
    """What a question prints with the offline engine, and which of the watched packages it loaded."""
    program = (
        "import sys\n"
        "from rag_core.cli import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "finally:\n"
        f"    sys.stderr.write(' loaded ' + ' '.join(sorted({watched!r} & sys.modules.keys())))\n"
    )
    environment = {**os.environ, "RAG_HOME": str(home), "RAG_LLM": "offline"}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    return ran.stdout, ran.stderr.rpartition(" loaded ")[2].split()


def test_no_strategy_of_the_offline_engine_needs_torch_or_llamaindex(lab: Lab, real_home: Path) -> None:
    names = list(RECIPES)
    arguments = ["compare", "When is anti-D given?", "--strategies", ",".join(names), "--json"]
    watched = {"torch", "transformers", "chromadb", "llama_index.core"}
    printed, loaded = asked(real_home, arguments, watched)
    assert loaded == ["chromadb"]
    traces = json.loads(printed)["traces"]
    assert [trace["strategy"] for trace in traces] == names
    assert all(trace["answer"]["text"] for trace in traces)


def test_a_keyword_search_opens_no_vector_store(lab: Lab, real_home: Path) -> None:
    arguments = ["query", "When is anti-D given?", "--strategy", "bm25", "--json"]
    watched = {
        "chromadb",
        "llama_index.core",
        "nltk",
        "openai",
        "onnxruntime",
        "pandas",
        "plotly",
        "scipy",
        "sklearn",
        "streamlit",
        "torch",
    }
    printed, loaded = asked(real_home, arguments, watched)
    assert loaded == ["onnxruntime"]  # the offline engine compares sentences
    assert json.loads(printed)["answer"]["text"] == lab.run("When is anti-D given?", "bm25").answer.text
