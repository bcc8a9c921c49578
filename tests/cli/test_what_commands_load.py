"""Commands that need no model load no model library: they answer at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
