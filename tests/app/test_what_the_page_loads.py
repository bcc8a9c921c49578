"""The first page is drawn before the models are loaded, and loads neither their libraries nor the history's."""

from helpers.small import python

PROGRAM = """
import sys
from streamlit.testing.v1 import AppTest
from pages.shared.engine import Engine
opened = []
Engine.start = lambda self: opened.append(sorted({"llama_index", "chromadb", "nltk", "phonenumbers", "scipy", "sqlalchemy", "torch", "rag_core.lab.lab"} & sys.modules.keys()))
page = AppTest.from_file("app.py", default_timeout=120).run()
assert not page.exception
print([button.label for button in page.button].count("Run"), opened)
"""


def test_the_engine_starts_after_the_page_and_the_page_loads_no_model_library(tmp_path):
    ran = python("-c", PROGRAM, RAG_HOME=str(tmp_path), RAG_LLM="offline")
    assert ran.out.split("\n")[-2:] == ["1 [[]]", ""], ran.err
