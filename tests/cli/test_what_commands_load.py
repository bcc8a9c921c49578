"""Commands load no library they do not need: without a model, or a search by words, they answer at once."""

from helpers.small import python

HEAVY = {"torch", "transformers", "chromadb", "llama_index", "scipy", "sklearn", "pandas", "streamlit"}


COMMANDS = [  # a command without a model, a word that it prints, and what it must not load
    (["--help"], "Usage", HEAVY | {"numpy", "pydantic_settings", "phonenumbers"}),
    (["strategies"], "hybrid_rrf", HEAVY),
    (["triage", "bleeding at 30 weeks"], "bleeding", HEAVY),
]
PROGRAM = """
import sys
from rag_core.cli import main
for arguments, _, unneeded in {commands!r}:
    try:
        main(arguments)
    except SystemExit:
        pass
    print("loaded", sorted(unneeded & sys.modules.keys()))
"""


def test_commands_without_a_model_load_no_model_library():
    """One after the other in one process, first the one that needs least."""
    *printed, rest = python("-c", PROGRAM.format(commands=COMMANDS)).out.split("loaded []\n")
    assert rest == ""
    assert [word in text for text, (_, word, _) in zip(printed, COMMANDS, strict=True)] == [True] * 3


def test_a_keyword_search_opens_no_vector_store(lab, real_home):
    watched = {
        "chromadb", "llama_index.core", "nltk", "openai", "onnxruntime", "pandas", "plotly", "scipy",
        "sklearn", "streamlit", "torch",
    }  # fmt: skip
    program = (
        "import sys\n"
        "from rag_core.cli import main\n"
        "try:\n"
        "    main(['query', 'When is anti-D given?', '--strategy', 'bm25', '--json'])\n"
        "finally:\n"
        f"    sys.stderr.write(' '.join(sorted({watched!r} & sys.modules.keys())))\n"
    )
    ran = python("-c", program, RAG_HOME=str(real_home), RAG_LLM="offline")
    assert ran.err == "onnxruntime"  # the offline engine compares sentences
    assert ran.json["answer"]["text"] == lab.run("When is anti-D given?", "bm25").answer.text
