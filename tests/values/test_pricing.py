import datetime

import pytest
from helpers.looping import for_each

from rag_core.values.errors import DataError
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
from rag_core.values.types import Cost, ModelCall

ENTRY = '[models."m"]\ninput = 3.0\noutput = 15.0\ndate = 2025-06-01\nsource = "s"\n'


@pytest.fixture
def prices() -> PriceList:
    return PriceList.read(Settings().data / "prices.toml")


def call(purpose: str, cost: float | None) -> ModelCall:
    return ModelCall(purpose, "m", 10, 5, cost, "provider")


# US dollars per million tokens: OpenAI API pricing page, 2025-06-01 (the gpt-5 family: 2025-08-07); Groq's for the last.
@for_each(
    ("model", "sent", "received"),
    [
        ("gpt-4o", 2.50, 10.00),
        ("gpt-4o-mini", 0.15, 0.60),
        ("gpt-3.5-turbo", 0.50, 1.50),
        ("gpt-5-nano", 0.05, 0.40),
        ("text-embedding-3-small", 0.02, 0.0),
        ("llama-3.1-8b-instant", 0.05, 0.08),
        # snapshots of one name differ in price
        ("gpt-4o-2024-05-13", 5.00, 15.00),
        ("gpt-4o-2024-08-06", 2.50, 10.00),
        ("gpt-3.5-turbo-0613", 1.50, 2.00),
    ],
)
def test_a_million_tokens_cost_what_the_provider_published(prices, model, sent, received):
    assert prices.cost_usd(model, 1_000_000, 0) == pytest.approx(sent)
    assert prices.cost_usd(model, 0, 1_000_000) == pytest.approx(received)


@pytest.mark.parametrize(
    ("model", "sent", "received", "cost"),
    [
        ("gpt-4o", 1000, 200, 1000 * 2.50e-6 + 200 * 10.00e-6),  # 0.0025 + 0.0020
        ("gpt-3.5-turbo", 1200, 300, 1200 * 0.50e-6 + 300 * 1.50e-6),  # 0.0006 + 0.00045
        ("gpt-4o", 1, 0, 0.0000025),
        ("gpt-4o", 0, 0, 0.0),
    ],
)
def test_a_call_costs_its_input_and_its_output_tokens(prices, model, sent, received, cost):
    assert prices.cost_usd(model, sent, received) == pytest.approx(cost, rel=1e-12, abs=0)


@pytest.mark.parametrize("model", ["offline-extractive", "all-MiniLM-L6-v2"])
def test_what_runs_on_this_machine_costs_exactly_nothing(prices, model):
    assert prices.cost_usd(model, 12_345, 678) == 0.0


@for_each(
    "model",
    [
        "my-local-model", "Llama-3.1-8B-Instruct", "", "-", "2025-06-01", "-2025-06-01", "gpt-4-", "gpt-4o-", "GPT-4o", "openai/gpt-4o",
        "gpt-4o-latest", "gpt-4o-2024-13-01", "gpt-4o-2024-08-06-x", "gpt-4o_2024-08-06", "my-model-2024-08-06",
        "gpt-4o2024-08-06", "gpt-4o-realtime", "gpt-4o-2099-01-01", "gpt-4-9999", "gpt-3.5-turbo-9999", "gpt-4-32k",
        "o3", "ft:gpt-4o-2024-08-06", "text-embedding-3-small-2024-01-25",
    ],
)  # fmt: skip
def test_a_model_that_is_not_listed_has_no_price_rather_than_a_price_of_zero(prices, model):
    assert prices.get(model) is None
    assert prices.cost_usd(model, 1000, 200) is None
    assert prices.cost_usd(model, 0, 0) is None


def test_a_snapshot_that_is_not_listed_is_not_given_its_models_price(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(ENTRY + 'snapshots = ["2024-08-06", "0613"]\n', encoding="utf-8")
    read = PriceList.read(path)
    assert read.get("m") == read.get("m-2024-08-06") == read.get("m-0613") is not None
    assert read.get("m-2024-05-13") is read.get("m-0314") is None


@pytest.mark.parametrize("model", ["gpt-4o", "text-embedding-3-small", "offline-extractive"])
def test_every_price_says_when_and_where_it_was_read(prices, model):
    price = prices.get(model)
    assert isinstance(price.date, datetime.date)
    assert price.source


BROKEN = {
    "missing": None,
    "not TOML": "not toml [",
    "empty": "",
    "no models": ENTRY.replace("models", "prices"),
    "no input": ENTRY.replace("input = 3.0\n", ""),
    "no output": ENTRY.replace("output = 15.0\n", ""),
    "no date": ENTRY.replace("date = 2025-06-01\n", ""),
    "no source": ENTRY.replace('source = "s"\n', ""),
    "price in words": ENTRY.replace("3.0", '"dear"'),
    "price in a list": ENTRY.replace("3.0", "[3.0]"),
    "a snapshot is listed twice": ENTRY + 'snapshots = ["1"]\n' + ENTRY.replace('"m"', '"m-1"'),
    "models is a number": "models = 3\n",
    "a model is a number": "[models]\nm = 3.0\n",
    "not UTF-8": b"\xff\xfe",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_price_list_is_refused_by_name_with_the_next_step(tmp_path, content):
    path = tmp_path / "prices.toml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        PriceList.read(path)
    assert str(path) in caught.value.message
    assert "prices.toml" in caught.value.next_step


@pytest.mark.parametrize(
    ("costs", "total"),
    [((), 0.0), ((0.25,), 0.25), ((0.25, 0.5, 0.0), 0.75), ((0.25, None), None), ((None,), None)],
)
def test_a_total_is_unknown_as_soon_as_one_price_is(costs, total):
    found = Cost.of(call("answer", cost) for cost in costs)
    assert found.usd == total
    assert found.known == sum(cost for cost in costs if cost is not None)
    assert found.unpriced == costs.count(None)


def test_a_call_is_counted_once_however_often_it_is_given():
    shared, own = call("rewrite", 0.25), call("answer", 0.5)
    assert Cost.of([shared, own, shared]) == Cost(0.25 + 0.5)
    assert Cost.of([shared, call("rewrite", 0.25)]) == Cost(0.25 + 0.25), "equal calls are two bills"


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (Cost(), "$0"),
        (Cost(0.5), "$0.5000"),
        (Cost(0.000123), "$0.000123"),
        (Cost(0, 1), "1 call of unknown price"),
        (Cost(0.5, 1200) + Cost(0.25, 34), "$0.7500 and 1,234 calls of unknown price"),
    ],
)
def test_a_cost_says_what_is_known_and_what_is_not(cost, said):
    assert str(cost) == said
