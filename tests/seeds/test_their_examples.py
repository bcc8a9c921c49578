"""The questions and code blocks of the sources, run as they stand there but for the module's import, and their answers read."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from helpers.looping import for_each
from typer.testing import CliRunner

from rag_core import hybrid_rrf, rewriter
from rag_core.cli.app import app
from rag_core.lab.lab import Lab
from rag_core.stages.remarks import abstention

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
PREMATURE = "¿Cuáles son los síntomas del parto prematuro?"
# What an answer must say: question of a source -> words that a sentence of its section has.
SAYS = {
    "¿Qué debo hacer si tengo contracciones?": "contracciones",  # source 001, Example Query Rewrites
    PREMATURE: "Los cólicos parecidos a los de la menstruación",  # source 001, Usage
    "¿Qué es la diabetes gestacional?": "es un aumento del azúcar en la sangre",
    "¿Qué cuidados necesito en el embarazo?": "cuidados que se necesitan en un embarazo sano",
    "¿Cuáles son los riesgos de la cesárea?": "La infección puede afectar a la herida",  # source 002, Usage Example
    "¿Qué es la epidural?": "es un método para aliviar el dolor del parto",
}
# Sources 001 (its comparison), 002, 003 and 004, and ours.
STRATEGIES = ("simple_semantic", "hyde", "multi_query", "hybrid_rrf", "contextual", "rag_msr", "ensemble")


@for_each(("question", "words"), list(SAYS.items()))
def test_every_strategy_answers_the_sources_questions(lab, question, words):
    for strategy in STRATEGIES:
        answer = lab.run(question, strategy).answer
        assert words in answer.text, f"{strategy}: {answer.text[:200]}"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_symptoms_asked_for_come_first_and_are_listed(lab, strategy):
    """`multi_query` and `ensemble` began with the tests in hospital and listed none."""
    answer = lab.run(PREMATURE, strategy).answer
    symptoms = ("contracciones", "cólicos", "espalda", "presión en la pelvis", "flujo vaginal", "líquido")
    first_section = answer.text.split(" [", 1)[0]
    assert [word for word in symptoms if word in first_section] == list(symptoms)


@pytest.fixture
def opened(lab: Lab, real_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that opens the lab finds the one whose index is built."""
    monkeypatch.setenv("RAG_HOME", str(real_home))


@pytest.fixture
def langchain(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """The part of langchain_openai that the examples use; each model that was made and what it was sent."""
    made: list[SimpleNamespace] = []

    class BaseChatModel:
        __module__ = "langchain_core.language_models.chat_models"

    class ChatOpenAI(BaseChatModel):
        __module__ = "langchain_openai.chat_models.base"

        def __init__(self, model_name: str, temperature: float):
            self.model_name = model_name
            self.sent = SimpleNamespace(model=model_name, temperature=temperature, messages=[])
            made.append(self.sent)

        def stream(self, messages):
            self.sent.messages.append(messages)
            rewriting = "Sources:" not in messages[-1][1]
            text = "¿Qué cuidados necesito en el embarazo?" if rewriting else "Se necesitan controles [1]."
            yield SimpleNamespace(text=text, usage_metadata=None)

    module = ModuleType("langchain_openai")
    module.ChatOpenAI = ChatOpenAI
    monkeypatch.setitem(sys.modules, "langchain_openai", module)
    return made


def executed(code: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(code, "an example of a source", "exec"), names)
    return names


def test_the_examples_of_the_page_run(opened, capsys):
    """Those of sources 000, 001 and 002; two of the page's own follow; `test_code_blocks` runs all of them."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    first, second, own, lab_itself = map(executed, blocks[:4])
    assert SAYS[PREMATURE] in first["result"]["answer"]
    assert first["result"]["metadata"]["retrieval_method"] == "multi_query_rewrite"
    answer, *told = capsys.readouterr().out.rsplit("\n", 5)[:-1]
    assert answer == second["result"]["answer"]
    assert SAYS["¿Cuáles son los riesgos de la cesárea?"] in answer
    assert told == [
        "Retrieval method: hybrid_bm25_semantic_rrf_mmr",
        "RRF constant: 60",
        "MMR lambda: 0.7",
        "Cost: $0.000000",  # the offline engine's
    ]
    (row,) = own["rows"]
    assert SAYS["¿Qué es la epidural?"] in row["response"]
    assert lab_itself["lost"]
    assert lab_itself["moved"].trace.controls["mmr_lambda"] == 0.2
    assert lab_itself["keywords"].strategy == "bm25"


def test_source_001_with_models_of_langchain(opened, langchain):
    result = executed(
        """
from rag_core.rewriter import query_for_evaluation

# With custom LLM instances
from langchain_openai import ChatOpenAI
rewriter_llm = ChatOpenAI(model_name="gpt-3.5-turbo", temperature=0.3)
answer_llm = ChatOpenAI(model_name="gpt-4o", temperature=0)

result = query_for_evaluation(
    question="¿Qué cuidados necesito en el embarazo?",
    custom_rewriter_llm=rewriter_llm,
    custom_answer_llm=answer_llm
)
"""
    )["result"]
    asked = [(one.model, one.temperature, len(one.messages)) for one in langchain]
    assert asked == [("gpt-3.5-turbo", 0.3, 3), ("gpt-4o", 0, 1)]
    assert result["answer"] == "Se necesitan controles [1]."
    assert (result["metadata"]["llm_model"], result["metadata"]["provider"]) == ("gpt-4o", "openai")


def test_source_002_with_a_model_of_langchain(opened, langchain):
    result = executed(
        """
from rag_core.hybrid_rrf import query_for_evaluation

# With custom model
from langchain_openai import ChatOpenAI

custom_llm = ChatOpenAI(model_name="gpt-4o", temperature=0.2)
result = query_for_evaluation(
    question="¿Qué es la epidural?",
    custom_llm=custom_llm
)
"""
    )["result"]
    assert [(one.model, one.temperature, len(one.messages)) for one in langchain] == [("gpt-4o", 0.2, 1)]
    assert (result["answer"], result["metadata"]["rrf_k"]) == ("Se necesitan controles [1].", 60)


@pytest.mark.parametrize("temperature", [0.1, 0.3, 0.5])
def test_source_001_rewriting_at_another_temperature(lab, langchain, temperature):
    from langchain_openai import ChatOpenAI

    llm_rewriter = ChatOpenAI(model_name="gpt-3.5-turbo", temperature=temperature)
    rewriter.process_rewriter_query(PREMATURE, llm_rewriter, lab=lab)
    assert [(one.temperature, len(one.messages)) for one in langchain] == [(temperature, 3)]


@pytest.mark.parametrize(("most", "kept"), [(5, 5), (8, 6), (12, 6)])
def test_source_001_number_of_final_documents(lab, most, kept):
    """Three rewrites of five passages find six different ones here, so 8 and 12 keep all of them."""
    result = rewriter.process_rewriter_query(PREMATURE, max_final_docs=most, lab=lab)
    assert len(result["contexts"]) == kept
    assert SAYS[PREMATURE] in result["answer"]


def test_the_modules_give_their_arguments_the_same_places(lab):
    """Source 000 has the rewriting model second, source 002 the answering one."""
    offline = "offline-extractive"
    rewriting = rewriter.query_for_evaluation(PREMATURE, offline, offline, lab=lab)["metadata"]
    answering = hybrid_rrf.query_for_evaluation(PREMATURE, offline, lab=lab)["metadata"]
    assert (rewriting["rewriter_model"], rewriting["llm_model"], answering["llm_model"]) == (offline,) * 3


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--search-type bm25",
        "--search-type vector",
        "--search-type hybrid --vector-weight 0.7 --bm25-weight 0.3",
        "--transform",
        "--rerank",
        "--show-details",
    ],
)
def test_the_commands_of_source_003(opened, options):
    """Its question is about another collection: every search declines it here."""
    ran = CliRunner().invoke(app, ["query", "How do I access my email in Epic?", *options.split()])
    assert ran.exit_code == 0
    assert " ".join(abstention("en").split()) in " ".join(ran.output.split())


def test_the_page_says_what_the_classes_of_source_003_are_here():
    """And why no model chooses the reformulation."""
    rows = re.findall(r"^\| `(\w+)\.\w+\(\)` \| `(?:rag_core\.([\w.]+)\.(\w+)|lab\.run)", PAGE.read_text("utf-8"), re.M)
    assert [name for name, _, _ in rows] == [
        "RetrieveContextUseCase",
        "RetrievalService",
        "BM25SearchService",
        "OllamaContextualEnrichmentService",
        "RecipRankFusionService",
        "CrossEncoderRerankerService",
    ]
    for _, module, name in rows[1:]:
        assert hasattr(importlib.import_module(f"rag_core.{module}"), name)
    assert "all three are always searched" in PAGE.read_text("utf-8")
