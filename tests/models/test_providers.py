"""Calls to a provider's language model: what is sent, what comes back, what fails, and what each costs."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import islice

import pytest
import tiktoken
from helpers.behaviours import Cut, Drip, Drop, Endless, Hang, Malformed, Meet, Reply, Status
from helpers.provider_calls import (
    KEY,
    LOST,
    PROMPT,
    SENT,
    TWO_WORDS,
    WHOLE,
    ask,
    billed,
    failure_of,
    never,
    sent_and_received,
)

from rag_core.models.llm import load_openai
from rag_core.models.tokenizer import count_tokens
from rag_core.prompts.prompt import JUDGE_PASSAGE
from rag_core.values.settings import Settings


class TestWhatIsSentAndBilled:
    def test_an_answer_comes_piece_by_piece_as_the_server_sends_it(self, base, llm):
        base.script.append(Reply("Cats purr when\nthey are  happy [1]."))
        pieces, _ = ask(llm)
        assert pieces == ["Cats ", "purr ", "when\n", "they ", "are  ", "happy ", "[1]."]

    def test_the_request_holds_model_temperature_system_and_user_message_and_the_key(self, base, llm):
        ask(llm)
        (request,) = base.requests
        assert request.path == "/v1/chat/completions"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert (request.body["model"], request.body["temperature"]) == ("gpt-4o", 0.0)
        assert request.body["stream"] is True
        assert request.body["stream_options"] == {"include_usage": True}
        assert request.messages == [("system", "Answer with care."), ("user", "Question: Do cats purr?")]

    @pytest.mark.parametrize(
        ("model", "cost"),
        [
            ("gpt-4o", 1000 * 2.50e-6 + 200 * 10.00e-6),
            ("gpt-4o-2024-08-06", 1000 * 2.50e-6 + 200 * 10.00e-6),
            ("gpt-3.5-turbo", 1000 * 0.50e-6 + 200 * 1.50e-6),
            ("my-local-model", None),
        ],
    )
    def test_the_bill_holds_the_providers_usage_and_a_cost_where_the_price_is_known(self, base, prices, model, cost):
        base.script.append(Reply(usage=(1000, 200)))
        _, bill = ask(load_openai(Settings(), model, prices))
        assert (bill.purpose, bill.model) == ("answer", model)
        assert (bill.input_tokens, bill.output_tokens, bill.counted_by) == (1000, 200, "provider")
        assert bill.cost_usd == (None if cost is None else pytest.approx(cost, rel=1e-12))

    @pytest.mark.parametrize("reply", ["Cats purr [1].", "¿Qué es la cesárea?", "<|endoftext|> is a word here"])
    def test_without_usage_the_models_own_tokenizer_counts(self, base, llm, reply):
        base.script.append(Reply(reply, usage=None))
        _, bill = ask(llm)
        encoding = tiktoken.encoding_for_model("gpt-4o")
        sent = sum(len(encoding.encode(text)) for text in ("Answer with care.", "Question: Do cats purr?"))
        assert abs(bill.input_tokens - sent) <= 1  # the two may share a token where they meet
        assert bill.output_tokens == len(encoding.encode(reply, disallowed_special=()))
        assert bill.counted_by == "tokenizer"
        assert bill.cost_usd == pytest.approx(bill.input_tokens * 2.50e-6 + bill.output_tokens * 10.00e-6)

    @pytest.mark.parametrize("option", ["stream_options", "temperature", "response_format"])
    @pytest.mark.parametrize(
        "rejection",
        [
            lambda option: Status(400, f"Unrecognized request argument supplied: {option}"),
            lambda option: Status(422, f"body.{option}: extra inputs are not permitted"),
            lambda option: Status(400, "not with this model; try max_tokens or stream_options", param=option),
            lambda option: Status(400, f"no {option}; these would do: stream_options, temperature, top_p"),
        ],
        ids=["400", "422", "named apart", "named among others"],
    )
    def test_an_option_that_a_server_refuses_is_left_out_from_then_on(self, base, llm, option, rejection):
        prompt = JUDGE_PASSAGE.fill(question="Do cats purr?", sources="", refused="")
        base.choose = lambda body: rejection(option) if option in body else Reply(usage=(1000, 200))
        for _ in range(2):
            pieces, bill = ask(llm, prompt)
            assert "".join(pieces) == "Cats purr [1]."
            assert bill.counted_by == ("tokenizer" if option == "stream_options" else "provider")
            assert bool(bill.note) is (option == "temperature")
        assert [option in request.body for request in base.requests] == [True, False, False]
        others = {"stream_options", "temperature", "response_format"} - {option}
        assert all(others <= request.body.keys() for request in base.requests)

    def test_several_refused_options_are_all_left_out(self, base, llm):
        def choose(body):
            refused = next((name for name in ("temperature", "stream_options") if name in body), None)
            return Status(400, f"Unsupported parameter: {refused}") if refused else Reply()

        base.choose = choose
        assert "".join(ask(llm)[0]) == "Cats purr [1]."
        assert len(base.requests) == 3
        assert not {"temperature", "stream_options"} & base.requests[-1].body.keys()

    def test_calls_that_are_refused_an_option_at_the_same_time_all_go_on_without_it(self, base, llm):
        met = threading.Barrier(4)
        base.choose = lambda body: (
            Meet(met, Status(400, "no stream_options")) if "stream_options" in body else Reply(usage=None)
        )
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda _: ask(llm), range(4)))
        assert {"".join(pieces) for pieces, _ in replies} == {"Cats purr [1]."}
        assert sorted("stream_options" in request.body for request in base.requests) == [False] * 4 + [True] * 4

    def test_a_template_with_a_shape_asks_for_it_by_a_strict_schema(self, base, llm):
        ask(llm, JUDGE_PASSAGE.fill(question="Do cats purr?", sources="", refused=""))
        ask(llm)
        judged, plain = (request.body for request in base.requests)
        assert "response_format" not in plain
        assert judged["response_format"]["type"] == "json_schema"
        asked = judged["response_format"]["json_schema"]
        assert (asked["name"], asked["strict"]) == ("PassageJudgement", True)
        assert asked["schema"]["additionalProperties"] is False
        assert asked["schema"]["required"] == ["reason", "score"]
        assert {name: field["type"] for name, field in asked["schema"]["properties"].items()} == {
            "reason": "string",
            "score": "number",
        }

    def test_a_server_that_rejects_the_second_request_too_is_a_failure_with_its_reason(self, base, llm):
        base.choose = lambda body: Status(400, "no stream_options" if "stream_options" in body else "too long")
        assert "too long" in failure_of(llm).message
        assert len(base.requests) == 2

    def test_a_known_openai_model_needs_no_base_url(self, server, monkeypatch, prices):
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_BASE", server.url)  # what LlamaIndex's own class reads
        llm = load_openai(Settings(), "gpt-4o", prices)
        pieces, bill = ask(llm)
        assert type(llm.model).__name__ == "OpenAI"
        assert "".join(pieces) == "Cats purr [1]."
        assert (bill.input_tokens, bill.output_tokens, bill.counted_by) == (1000, 200, "provider")

    def test_a_server_without_keys_gets_no_secret_and_answers(self, server, prices):
        pieces, _ = ask(load_openai(Settings(openai_base_url=server.url), "my-local-model", prices))
        assert "".join(pieces) == "Cats purr [1]."
        assert server.requests[0].headers["authorization"] == "Bearer none"

    def test_the_same_model_serves_llamaindex_without_streaming(self, base, llm):
        assert llm.model.complete("Do cats purr?").text == "Cats purr [1]."
        assert "stream" not in base.requests[0].body or base.requests[0].body["stream"] is False
        assert "stream_options" not in base.requests[0].body


BROKEN = [(SENT, TWO_WORDS, "tokenizer")]
# what the server does, requests made, cause, next step, bills
STREAM_FAULTS = {
    "500": ([Status(500)] * 2, 2, "HTTP 500", "later", []),
    "503": ([Status(503)] * 2, 2, "HTTP 503", "later", []),
    "429": ([Status(429, headers={"Retry-After": "0.2"})] * 2, 2, "rate limit", "Wait 1 s", []),
    "401": ([Status(401)], 1, "key was refused", "OPENAI_API_KEY", []),
    "403": ([Status(403)], 1, "", "", []),
    "404": ([Status(404, "no such model")], 1, "does not have this model", "RAG_ANSWER_MODEL", []),
    "400": ([Status(400, "too long")], 1, "too long", "limits", []),
    "422": ([Status(422)], 1, "", "", []),
    "hang": ([Hang()] * 2, 2, "the request timed out", "RAG_TIMEOUT", [LOST, LOST]),
    "hang before its first word": (
        [Hang(after=0, begun=True)],
        1,
        "the request timed out",
        "RAG_TIMEOUT",
        [LOST],
    ),
    "hang mid-stream": ([Hang(after=2)], 1, "the request timed out", "RAG_TIMEOUT", BROKEN),
    "drop before its first word": ([Drop(after=0)], 1, "", "again", [LOST]),
    "reset before its first word": ([Drop(after=0, reset=True)], 1, "", "again", [LOST]),
    "drop mid-stream": ([Drop(after=2)], 1, "", "again", BROKEN),
    "reset mid-stream": ([Drop(after=2, reset=True)], 1, "", "again", BROKEN),
    "ended before it was finished": ([Cut(after=2)], 1, "", "again", BROKEN),
    "closed before it was finished": ([Cut(after=2, framed=False)], 1, "", "again", BROKEN),
    "ended before it began": ([Cut(after=0)], 1, "", "again", [LOST]),
    "malformed": ([Malformed(after=0)], 1, "", "", [LOST]),
    "malformed mid-stream": ([Malformed(after=2)], 1, "", "", BROKEN),
}


class TestFaults:
    @pytest.mark.parametrize(
        ("behaviours", "attempts", "cause", "step", "bills"), STREAM_FAULTS.values(), ids=STREAM_FAULTS
    )
    def test_a_failed_call_names_its_cause_and_the_next_step_and_is_billed_as_far_as_it_came(
        self, base, prices, behaviours, attempts, cause, step, bills
    ):
        base.script += behaviours
        base.choose = lambda body: Reply("an answer nobody should get")
        silent = any(isinstance(one, Hang) for one in behaviours)
        found, error = billed(load_openai(Settings(timeout=0.3 if silent else 20), "gpt-4o", prices))
        assert error.message.startswith("Model gpt-4o: ")
        assert cause in error.message
        assert error.next_step
        assert step in error.next_step
        assert "\n" not in str(error)
        assert len(base.requests) == attempts
        assert sent_and_received(found) == bills
        for bill in found:
            assert bill.cost_usd == pytest.approx(bill.input_tokens * 2.50e-6 + bill.output_tokens * 10.00e-6)

    @pytest.mark.parametrize("code", [429, 503])
    @pytest.mark.parametrize(
        ("headers", "wait"),
        [
            ({"Retry-After": "60"}, "60 s"),
            ({"Retry-After": "2.5"}, "3 s"),
            ({"retry-after-ms": "90000", "Retry-After": "1"}, "90 s"),
            ({"Retry-After": format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)}, " s"),
        ],
        ids=["seconds", "fraction", "milliseconds", "date"],
    )
    def test_a_provider_that_asks_for_a_longer_wait_than_the_timeout_fails_the_call_at_once(
        self, base, prices, code, headers, wait
    ):
        base.script.append(Status(code, headers=headers))
        error = failure_of(load_openai(Settings(timeout=2), "gpt-4o", prices))
        assert wait in error.next_step
        assert len(base.requests) == 1

    def test_a_server_that_cannot_be_reached_is_named_and_costs_nothing(self, short_back_off, prices):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = Settings(openai_base_url=f"http://127.0.0.1:{port}/v1", timeout=5)
        bills, error = billed(load_openai(settings, "gpt-4o", prices))
        assert "cannot be reached" in error.message
        assert "OPENAI_BASE_URL" in error.next_step
        assert bills == [], "a request that never left costs nothing"

    @pytest.mark.parametrize("key", ["none", "x", "model", ""])
    def test_a_word_in_place_of_a_key_is_not_taken_out_of_the_error(self, base, prices, key):
        base.script.append(Status(400, "the model has none for x"))
        settings = Settings(openai_base_url=base.url, openai_api_key=key)
        assert "the model has none for x" in failure_of(load_openai(settings, "gpt-4o", prices)).message

    @pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 422])
    def test_a_key_that_the_server_repeats_is_in_no_error(self, base, llm, code):
        base.script += [Status(code, "refused: {authorization}")] * 2
        error = failure_of(llm)
        assert KEY not in repr((str(error), error.message, error.next_step, error.args))


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
    def test_every_request_of_a_call_that_was_taken_on_is_billed(self, base, prices, behaviours, bills, fails):
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
