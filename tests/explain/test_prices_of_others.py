import datetime
import statistics
from dataclasses import replace

import pytest
import tiktoken
from helpers.fakes import QUESTION, talker
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rag_core.catalog import build
from rag_core.explain.bill import TYPED, project, quotes, texts_of
from rag_core.values.pricing import Price
from rag_core.values.types import ModelCall

DAY = datetime.date(2026, 1, 1)


def call(model: str = "gpt-4o", sent: int = 1_000, received: int = 100, cost: float | None = 0.0035, *,
         purpose: str = "answer", by: str = "provider") -> ModelCall:  # fmt: skip
    return ModelCall(purpose, model, sent, received, cost, by)  # type: ignore[arg-type]


def price(sent: float, received: float) -> Price:
    return Price(sent, received, DAY, "typed")


def test_all_language_model_calls_at_the_price_of_one_model_and_the_others_as_they_were():
    calls = [call(sent=1_000, received=100), call(sent=500, received=0), call(cost=0.25, purpose="embed")]
    (quote,) = quotes(calls, {"gpt-4.1": price(2.0, 8.0)}, {})
    assert quote.cost_usd == pytest.approx(1_500 * 2e-6 + 100 * 8e-6 + 0.25)


def test_the_cheapest_comes_first_and_a_typed_price_takes_its_place():
    found = quotes([call()], {"gpt-4o": price(2.5, 10), "gpt-4o-mini": price(0.15, 0.6), TYPED: price(1, 1)}, {})
    assert [quote.model for quote in found] == ["gpt-4o-mini", TYPED, "gpt-4o"]


@pytest.mark.parametrize(
    ("counted", "by", "model", "tokeniser"),
    [
        ("gpt-4o", "provider", "gpt-4.1", "same"),  # both o200k_base
        ("gpt-3.5-turbo", "provider", "gpt-4", "same"),  # both cl100k_base
        ("gpt-3.5-turbo", "provider", "gpt-4o", "another"),
        ("offline-extractive", "tokenizer", "gpt-4o", "same"),  # counted here, with o200k_base
        ("offline-extractive", "tokenizer", "gpt-4", "another"),
        ("llama3", "provider", "gpt-4o", "unknown"),
        ("gpt-4o", "provider", TYPED, "unknown"),
    ],
)
def test_whose_tokeniser_counted(counted, by, model, tokeniser):
    (quote,) = quotes([call(counted, by=by)], {model: price(1, 1)}, {})
    assert quote.tokeniser == tokeniser
    (quote,) = quotes([call("gpt-4o"), call("gpt-4")], {"gpt-4o": price(1, 1)}, {})
    assert quote.tokeniser == "another"


def test_an_unknown_price_of_another_call_stays_unknown():
    (quote,) = quotes([call(), call(purpose="embed", cost=None)], {"gpt-4o": price(1, 1)}, {})
    assert quote.cost_usd is None


def test_only_models_that_write_are_offered_each_once(prices):
    offered = prices.writers
    assert {"gpt-4o", "gpt-4o-2024-05-13", "gpt-5-mini", "gpt-3.5-turbo-1106"} <= set(offered)
    assert not {"gpt-4o-2024-08-06", "text-embedding-3-small", "offline-extractive", "all-MiniLM-L6-v2"} & set(offered)  # fmt: skip


@given(
    tokens=st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)),
    per_million=st.dictionaries(st.text(min_size=1), st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=8),
)
def test_a_single_call_costs_its_tokens_at_each_price(tokens, per_million):
    found = quotes([call("m", *tokens)], {name: price(*both) for name, both in per_million.items()}, {})
    assert sorted(quote.model for quote in found) == sorted(per_million)
    costs = [quote.cost_usd for quote in found]
    assert costs == sorted(costs)
    for quote in found:
        sent, received = per_million[quote.model]
        assert quote.cost_usd == pytest.approx((tokens[0] * sent + tokens[1] * received) / 1e6)


def test_a_month_is_thirty_days_of_questions():
    month = project([0.02], 100)
    assert (month.n, month.per_question, month.per_month) == (1, 0.02, 0.02 * 100 * 30)
    assert (month.low, month.high) == (None, None), "one question has no spread"


@given(costs=st.lists(st.floats(0, 1), min_size=2, max_size=30), per_day=st.floats(0, 10_000))
def test_the_interval_is_students(costs, per_day):
    month = project(costs, per_day)
    assert month.n == len(costs)
    assert month.low is not None
    assert month.high is not None
    assert 0 <= month.low <= month.per_month * (1 + 1e-12)
    if statistics.stdev(costs) > 1e-9 and per_day > 1e-3:
        low, high = stats.t.interval(
            0.95,
            len(costs) - 1,
            loc=statistics.fmean(costs),
            scale=statistics.stdev(costs) / len(costs) ** 0.5,
        )
        assert month.low == pytest.approx(max(0.0, low * per_day * 30), rel=1e-6, abs=1e-6)
        assert month.high == pytest.approx(high * per_day * 30, rel=1e-6)


def test_known_texts_are_counted_again_with_the_tokeniser_of_the_other_model():
    counted, sent, received = (
        call("gpt-3.5-turbo"),
        "¿Cuándo se administra la inmunoglobulina anti-D?",
        "At 28 weeks [1].",
    )
    prices = {"gpt-4o": price(2.5, 10), "gpt-4": price(30, 60), TYPED: price(1, 1)}
    found = {quote.model: quote for quote in quotes([counted], prices, {counted: (sent, received)})}
    o200k = tiktoken.get_encoding("o200k_base")
    assert found["gpt-4o"].tokeniser == "counted again"
    assert found["gpt-4o"].cost_usd == pytest.approx(
        (len(o200k.encode(sent)) * 2.5 + len(o200k.encode(received)) * 10) / 1e6
    )
    assert (found["gpt-4"].tokeniser, found["gpt-4"].cost_usd) == ("same", (1_000 * 30 + 100 * 60) / 1e6)
    assert found[TYPED].tokeniser == "unknown", "nobody knows which tokeniser a typed price belongs to"


def test_unless_every_text_is_known_no_count_is_mixed():
    known, unknown = call("gpt-4"), call("gpt-4")
    (quote,) = quotes([known, unknown], {"gpt-4o": price(1, 1)}, {known: ("Cats", "sleep")})
    assert (quote.tokeniser, quote.cost_usd) == ("another", 2_200 / 1e6)


def test_the_texts_of_a_trace_are_those_of_its_language_model_calls(full):
    trace = build("multi_query").run(QUESTION, full)
    texts = texts_of(trace)
    assert set(texts) == {one for one in trace.calls if one.of_language_model}
    assert all(sent and received for sent, received in texts.values())
    engine = talker()
    engine.offline = True
    offline = replace(full, llms=dict.fromkeys(full.llms, engine))
    assert texts_of(build("multi_query").run(QUESTION, offline)) == {}
