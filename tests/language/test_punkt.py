"""Punkt without the rest of NLTK cuts every text as Punkt does, and leaves NLTK to whoever imports it."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from rag_core.documents.documents import readable_documents
from rag_core.language.analysis import sentences
from rag_core.language.punkt import splitter, trained
from rag_core.values.settings import read_settings

texts = [(one.language, one.text) for one in readable_documents(read_settings().data / "corpus")[0]]
def spans(one):
    return list(splitter(one[0]).span_tokenize(one[1]))
with ThreadPoolExecutor(8) as pool:
    ours = list(pool.map(spans, texts))
loaded = sorted({"nltk", "pandas", "scipy", "sklearn"} & sys.modules.keys())

before = sentences("It is Dr. Lee. Call now.", "en")
import nltk, nltk.corpus
nltk.data.path.insert(0, str(trained()))
whole = {code: nltk.tokenize.PunktTokenizer(name) for code, name in (("en", "english"), ("es", "spanish"))}
theirs = [list(whole[language].span_tokenize(text)) for language, text in texts]
print(json.dumps({
    "loaded": loaded,
    "languages": sorted({language for language, _ in texts}),
    "sentences": sum(map(len, ours)),
    "parameters": all(vars(splitter(code)._params) == vars(one._params) for code, one in whole.items()),
    "differ": [text for (_, text), one, other in zip(texts, ours, theirs) if one != other],
    "other": splitter("fr") is splitter("en"),
    "before": before,
    "after": sentences("It is Dr. Lee. Call now.", "en"),
    "nltk": nltk.FreqDist("aab")["a"],
}))
"""


def test_punkt_alone_cuts_the_built_in_documents_as_nltk_does_which_can_still_be_imported_after_it():
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    assert found["loaded"] == []
    assert found["parameters"]
    assert found["differ"] == []
    assert found["languages"] == ["en", "es"]
    assert found["sentences"] > 5_000
    assert found["other"]  # a language without a model is cut as English
    assert found["before"] == found["after"] == ["It is Dr. Lee.", "Call now."]
    assert found["nltk"] == 2


def test_punkt_of_an_nltk_that_is_loaded_already_is_taken_from_it():
    program = (
        "import nltk\n"
        "from rag_core.language.punkt import splitter\n"
        "print(isinstance(splitter('es'), nltk.tokenize.PunktSentenceTokenizer))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"
