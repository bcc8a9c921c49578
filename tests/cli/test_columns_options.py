"""`rag query --model`, and `rag compare` with a model and a corpus for each label."""

import json

import pytest
from helpers.openai_server import OpenAIServer
from helpers.provider_lab import QUESTION, provider_lab
from helpers.small import WordEmbedder

from rag_core.cli.options import parse_columns
from rag_core.indexing import CorpusIndex, CorpusStore
from rag_core.values.labels import LabelRules


@pytest.fixture
def opened(
    server: OpenAIServer,
    store: CorpusStore,
    index: CorpusIndex,
    embedder: WordEmbedder,
    labels: LabelRules,
    monkeypatch: pytest.MonkeyPatch,
) -> list[str]:
    """The corpora that commands open; each is the same small lab."""
    names: list[str] = []
    lab = provider_lab(server, store, embedder, labels)

    def other(corpus: str, asked: object = ()) -> object:
        names.append(corpus)
        return lab

    monkeypatch.setattr("rag_core.cli.app._lab", other)
    lab.others = other  # type: ignore[assignment]
    return names


def test_two_models_beside_each_other(rag, opened, server):
    ran = rag("compare", QUESTION, "--strategies", "a=bm25,b=bm25", "--model", "b=my-local-model", "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)["traces"]
    assert [(one["label"], one["engine"]["llm"], one["models"]) for one in told] == [
        ("a", "gpt-4o", {}),
        ("b", "my-local-model", {"model": "my-local-model"}),
    ]
    assert [one["metrics"]["total_cost"] for one in told] == [
        pytest.approx((1000 * 2.5 + 200 * 10) / 1e6),
        None,
    ]
    assert {request.body["model"] for request in server.requests} == {"gpt-4o", "my-local-model"}


def test_the_model_of_a_query(rag, opened):
    ran = rag("query", QUESTION, "--strategy", "bm25", "--model", "gpt-4o-mini")
    assert ran.code == 0, ran.err
    assert "[gpt-4o-mini]" in ran.out


def test_the_first_strategys_corpus_is_opened_and_the_others_beside_it(rag, opened):
    ran = rag(
        "compare", QUESTION, "--strategies", "a=bm25,b=bm25", "--corpus", "leaflets", "--corpus", "b=ward"
    )
    assert ran.code == 0, ran.err
    assert opened == ["leaflets", "leaflets", "ward"]
    assert "corpus=ward" in ran.out


def test_a_value_alone_is_for_all_and_a_label_overrides_it():
    found = parse_columns("a=bm25,b=bm25", ["a.k1=1.2"], ["gpt-4o", "b=x=1"], [])
    assert found == {"a": ("bm25", {"k1": "1.2", "model": "gpt-4o"}), "b": ("bm25", {"model": "x=1"})}


@pytest.mark.parametrize("option", ["--model", "--corpus"])
@pytest.mark.parametrize("given", [["c=x"], ["a="], ["a=x", "a=y"], ["x", "y"]])
def test_wrong_usage_names_the_labels(rag, option, given):
    ran = rag("compare", QUESTION, "--strategies", "a=bm25,b=bm25", *(f"{option}={one}" for one in given))
    assert ran.code == 2
    assert "the labels are a, b" in " ".join(ran.err.split())
