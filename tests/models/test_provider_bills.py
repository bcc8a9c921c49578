"""What a call to a provider's language model costs when it fails, is stopped or does not end."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import pytest
from helpers.behaviours import Drip, Drop, Endless, Hang, Meet, Reply, Status
from helpers.provider_calls import LOST, PROMPT, SENT, TWO_WORDS, WHOLE, ask, billed, never, sent_and_received

from rag_core.models.llm import load_openai
from rag_core.models.tokenizer import count_tokens
from rag_core.values.settings import Settings
from rag_core.values.types import ModelCall


def model(prices, *faults):
    """A model whose timeout is short only where the server is silent."""
    silent = any(isinstance(fault, Hang) for fault in faults)
    return load_openai(Settings(timeout=0.5 if silent else 20), "gpt-4o", prices)


class TestBills:
    """One bill for each request that the provider took on, and none for those it refused."""

    @pytest.mark.parametrize(
        ("behaviours", "bills", "fails"),
        [
            ([Hang(), Status(500)], [LOST], True),
            ([Hang(), Status(400)], [LOST], True),
            ([Hang(), Reply()], [LOST, WHOLE], False),
            ([Hang(), Drop(2)], [LOST, (SENT, TWO_WORDS, "tokenizer")], True),
            ([Status(500, headers={"retry-after-ms": "10"}), Hang()], [LOST], True),
            ([Status(500, headers={"retry-after-ms": "10"}), Reply()], [WHOLE], False),
            (
                [Status(400, "no stream_options"), Reply()],
                [(SENT, count_tokens("Cats purr [1]."), "tokenizer")],
                False,
            ),
        ],
        ids=lambda value: None if isinstance(value, bool) else " ".join(map(str, value)),
    )
    def test_every_request_of_a_call_that_was_taken_on_is_billed(
        self, base, prices, behaviours, bills, fails
    ):
        base.script += behaviours
        found, error = billed(model(prices, *behaviours))
        assert sent_and_received(found) == bills
        assert (error is not None) is fails

    def test_a_call_that_broke_off_at_an_unknown_price_costs_an_unknown_amount(self, base, prices):
        base.script.append(Drop(2))
        bills, _ = billed(load_openai(Settings(), "my-local-model", prices))
        assert [bill.cost_usd for bill in bills] == [None]

    def test_the_calls_of_several_threads_are_billed_apart(self, base, llm):
        met = threading.Barrier(8)
        base.choose = lambda body: Meet(met, Reply("word " * 8))
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _: ask(llm), range(8)))
        assert [bill.counted_by for _, bill in replies] == ["provider"] * 8


class TestNoCallIsWithoutAnEnd:
    @pytest.mark.parametrize("fault", [Endless(), Drip()], ids=repr)
    def test_a_reply_that_keeps_coming_is_broken_off_and_billed(self, base, prices, monkeypatch, fault):
        monkeypatch.setattr("rag_core.models.openai.client.MAX_REPLY_TIMEOUTS", 0.02)
        base.script.append(fault)
        bills, error = billed(load_openai(Settings(timeout=20), "gpt-4o", prices))
        assert "the request timed out" in error.message
        assert len(base.requests) == 1
        assert base.gone.wait(10)
        (bill,) = bills
        assert (bill.input_tokens, bill.counted_by) == (SENT, "tokenizer")
        assert (bill.output_tokens > 0) is (fault == Endless())


class TestStop:
    def test_stop_closes_the_connection_and_bills_what_was_read(self, base, llm):
        base.script.append(Endless())
        seen: list[str] = []
        stream = llm.stream(PROMPT, lambda: len(seen) >= 3)
        for item in islice(stream, 100):
            if isinstance(item, ModelCall):
                break
            seen.append(item)
        assert base.gone.wait(10)
        assert seen == ["word "] * 3
        assert item.counted_by == "tokenizer"
        assert 3 <= item.output_tokens <= 4  # "word", " word", " word", and the space at the end
        assert len(base.requests) == 1

    def test_a_stream_that_nobody_reads_on_is_closed(self, base, llm):
        base.script.append(Endless())
        stream = llm.stream(PROMPT, never)
        assert next(stream) == "word "
        stream.close()
        assert base.gone.wait(10)

    def test_closing_one_stream_leaves_another_of_the_same_thread_alone(self, base, llm):
        base.script += [Endless(), Endless()]
        first, second = llm.stream(PROMPT, never), llm.stream(PROMPT, never)
        assert (next(first), next(second)) == ("word ", "word ")
        first.close()
        assert base.gone.wait(10)
        assert list(islice(second, 50)) == ["word "] * 50
