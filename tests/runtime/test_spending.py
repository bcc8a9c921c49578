from datetime import date

import pytest
from helpers.behaviours import Status
from helpers.provider_lab import QUESTION, listed, obliging, provider_lab

from rag_core.models import load_embedder
from rag_core.pipeline.stream import collect
from rag_core.runtime.run import using
from rag_core.runtime.spending import Spending, Visitor, payer
from rag_core.values.errors import LimitReached, RagError
from rag_core.values.settings import Settings
from rag_core.values.types import ModelCall

TODAY = date(2026, 11, 27)
DEAREST = max(price.cost_usd(1000, 200) for price in listed().writers.values())


def spending(**budgets: float) -> Spending:
    return Spending(Settings(**budgets), listed(), lambda: TODAY)


def asked(lab, purse: Spending, visitor: str) -> list[object]:
    with using(payer, Visitor(purse, visitor)):
        return collect(lab.stream(QUESTION, ["multi_query"]))


@pytest.fixture
def model(server):
    server.choose = obliging
    return server


@pytest.fixture
def lab(model, read_only_store, embedder, labels):
    return provider_lab(model, read_only_store, embedder, labels)


def test_a_visitor_sends_no_more_calls_than_the_budget_and_others_are_free(model, lab):
    purse = spending(visitor_calls=5)  # multi_query: 3 rewrites and an answer are 4
    (first,) = asked(lab, purse, "ana")
    assert not isinstance(first, RagError)
    assert len(model.requests) == 4
    (again,) = asked(lab, purse, "ana")
    assert isinstance(again, RagError)
    assert isinstance(again.__cause__, LimitReached)
    assert len(model.requests) == 5
    (other,) = asked(lab, purse, "bea")
    assert not isinstance(other, RagError)
    assert len(model.requests) == 9


def test_the_day_s_budget_is_everybody_s(model, lab):
    purse = spending(day_calls=4)
    asked(lab, purse, "ana")
    (other,) = asked(lab, purse, "bea")
    assert isinstance(other, RagError)
    assert "This server's budget" in str(other)
    assert len(model.requests) == 4


def test_the_second_try_of_a_request_is_a_call_too(server, lab):
    server.choose = lambda body: Status(500)
    (failed,) = asked(lab, spending(visitor_calls=100), "ana")
    assert isinstance(failed, RagError)
    tried = len(server.requests)
    server.requests.clear()
    (refused,) = asked(lab, spending(visitor_calls=1), "ana")
    assert isinstance(refused.__cause__, LimitReached)
    assert (len(server.requests), tried) == (1, 3 * 2)  # three rewrites, each sent twice


def test_an_embedding_is_a_call_too(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    settings = Settings(embedding="openai:text-embedding-3-small", openai_api_key="none")
    embedder = load_embedder(settings, listed())
    with using(payer, Visitor(spending(visitor_calls=3), "ana")):
        for _ in range(3):
            embedder.embed([QUESTION])
        with pytest.raises(LimitReached, match="Your budget"):
            embedder.embed([QUESTION])
    assert len(server.requests) == 3


def test_no_budget_leaves_all_as_it_was(model, lab):
    for _ in range(3):
        asked(lab, spending(), "ana")
    assert len(model.requests) == 12  # 3 runs of 4 calls


def test_an_unknown_price_counts_as_the_dearest_known(model, lab):
    purse = spending(visitor_dollars=2 * DEAREST)
    unknown = ModelCall("answer", "o1-pro", 1000, 200, None, "provider")
    purse.spend("ana", [unknown])
    purse.reserve("ana")  # one of two is spent
    purse.spend("ana", [unknown])
    with pytest.raises(LimitReached, match="Your budget"):
        purse.reserve("ana")


def test_dollars_that_are_known_beforehand_must_fit():
    purse = spending(day_dollars=1)
    purse.reserve("ana", calls=10, dollars=0.6)
    with pytest.raises(LimitReached):
        purse.reserve("bea", calls=10, dollars=0.6)  # 1.2 in all
    purse.reserve("bea", calls=10, dollars=0.4)


def test_budgets_begin_anew_at_midnight():
    days = [TODAY]
    purse = Spending(Settings(visitor_calls=1), listed(), lambda: days[-1])
    purse.reserve("ana")
    with pytest.raises(LimitReached):
        purse.reserve("ana")
    days.append(date(2026, 11, 28))
    purse.reserve("ana")
