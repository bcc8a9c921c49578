"""What servers that speak OpenAI's protocol in their own way send, and what each role makes of it."""

import gzip
import json
from typing import Any

import httpx
import numpy as np
import pytest
from helpers.behaviours import Body, Events, Reply, Status
from helpers.looping import for_each
from helpers.openai_server import role_of, serve, vector_of
from helpers.provider_calls import ASK, ask, billed, failure_of, never
from helpers.provider_lab import aimed

from rag_core.models import load_embedder
from rag_core.models.embedding import shortened
from rag_core.models.llm import load_openai
from rag_core.models.openai import client
from rag_core.models.openai.dialects import readable
from rag_core.models.tokenizer import count_tokens
from rag_core.prompts.prompt import JUDGE_PASSAGE
from rag_core.prompts.templates import STANDALONE
from rag_core.stages import Rewrite
from rag_core.testing import sample_context, sample_services
from rag_core.values.errors import ProviderError, SettingsError, StageError
from rag_core.values.settings import Settings
from rag_core.values.types import Query

QUESTION = "Do cats and dogs sleep in one house?"


def said(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
    return json.dumps({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


REFUSAL = {"content": None, "refusal": "I cannot help."}
WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Dogs bark."}}]}
ENDS = {
    "no reason before [DONE]": (said({"content": "Dogs bark."}), "[DONE]"),
    "an empty reason": (said({"content": "Dogs bark."}), said({}, ""), "[DONE]"),
    "null as a word": (said({"content": "Dogs "}, "null"), said({"content": "bark."}, "null"), "[DONE]"),
    "a list of parts": (
        said({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Cats?"}]}]}),
        said({"content": [{"type": "text", "text": "Dogs "}, "bark."]}, "stop"),
    ),
    "one part": (said({"content": {"type": "output_text", "text": "Dogs bark."}}, "stop"),),
    "no choices in the last": (said({"content": "Dogs bark."}, "stop"), '{"choices": null}', "[DONE]"),
    "a ping": ("{}", said({"content": "Dogs bark."}, "stop"), "[DONE]"),
    "a message, not a delta": (json.dumps(WHOLE), "[DONE]"),
    "the whole message at the end": (
        said({"content": "Dogs "}),
        said({"content": "bark."}),
        json.dumps({"choices": [{**WHOLE["choices"][0], "delta": {}, "finish_reason": "stop"}]}),
        "[DONE]",
    ),
    "the whole text in the last delta": (
        said({"content": "Dogs "}),
        said({"content": "bark."}),
        said({"content": "Dogs bark."}, "stop"),
    ),
    "the whole text once more without its blanks": (
        said({"content": "Dogs "}),
        said({"content": "bark."}),
        said({"content": " Dogs bark.\n"}, "stop"),
    ),
    "a message beside an empty delta after the end": (
        said({"content": "Dogs bark."}, "stop"),
        json.dumps({"choices": [{**WHOLE["choices"][0], "finish_reason": "stop"}]}),
    ),
    "a separator that is no line break in JSON": (
        said({"content": "Dogs bark."}, "stop", note="a\u2028b"),
        "[DONE]",
    ),
}


class TestReplies:
    @for_each("data", ENDS.values(), ids=ENDS)
    def test_a_stream_in_another_form_is_a_complete_reply(self, base, llm, data):
        base.script.append(Events(data))
        pieces, bill = ask(llm)
        assert ("".join(pieces), bill.finish) == ("Dogs bark.", "stop")

    @for_each("kind", ["application/json", "text/event-stream", "text/plain; charset=utf-8"])
    def test_a_plain_reply_to_a_stream_is_used_with_its_usage(self, base, llm, kind):
        usage = {"prompt_tokens": 40, "completion_tokens": 4, "total_tokens": 44}
        base.script.append(Body(json.dumps({**WHOLE, "usage": usage}, indent=1), kind))
        pieces, bill = ask(llm)
        assert ("".join(pieces), bill.finish, bill.input_tokens, bill.output_tokens) == (
            "Dogs bark.",
            "stop",
            40,
            4,
        )

    @for_each("finish", [None, "stop"])
    def test_a_long_text_that_comes_again_is_no_more_text(self, base, llm, finish):
        text = "Dogs bark at night when they hear cats."
        end = (said({}, "stop"), "[DONE]")
        base.script += [
            Events(
                (
                    said({"content": text[:9]}),
                    said({"content": text[9:]}),
                    said({"content": text}, finish),
                    *end,
                )
            ),
            Events((said({"content": text}), said({}, "stop"), said({"content": text}), "[DONE]")),
            Events((said({"content": "Ha"}), said({"content": "Ha"}), *end)),
            Events((said({"content": text}), said({"content": text}), said({"content": text}), *end)),
        ]
        assert ["".join(ask(llm)[0]) for _ in range(4)] == [text, text, "HaHa", text * 3]

    @for_each("behaviour", [
        Events((said({"refusal": "I cannot "}), said({"refusal": "help."}), said({}, "stop"), "[DONE]")),
        Events((said({"refusal": "I cannot "}), said({"refusal": "help."}), "[DONE]")),
        Events((said({"refusal": "I cannot "}), said({"refusal": "help."}))),
        Events((said({"refusal": "I cannot help."}), said({"refusal": "I cannot help."}, "stop"))),
        Events((said({"content": [{"type": "refusal", "refusal": "I cannot help."}]}), "[DONE]")),
        Events((json.dumps({"choices": [{"delta": {"content": ""}, "message": REFUSAL, "finish_reason": "stop"}]}),)),
        Body(json.dumps({"choices": [{"index": 0, "message": REFUSAL}]})),
        Body(json.dumps({"choices": [{"message": {"content": [{"type": "refusal", "refusal": "I cannot help."}]}}]})),
    ])  # fmt: skip
    def test_a_refusal_is_a_failure_in_the_models_words(self, base, llm, behaviour):
        base.script.append(behaviour)
        assert failure_of(llm).message == "Model gpt-4o: the model refused to answer: “I cannot help.”."

    def test_a_plain_reply_that_was_cut_off_is_cut_off(self, base, llm):
        cut = {"choices": [{**WHOLE["choices"][0], "finish_reason": "length"}]}
        base.script.append(Body(json.dumps(cut)))
        assert ask(llm)[1].finish == "length"

    @for_each(
        ("body", "words"),
        [
            (Body('{"error": {"message": "No GPU is free", "code": 503}}'), "No GPU is free"),
            (Body('{"error": "No GPU is free"}'), "No GPU is free"),
            (Body('{"object": "error", "message": "No GPU is free"}'), "No GPU is free"),
            (Body('{"detail": "No GPU is free"}'), "No GPU is free"),
            (Body("<html><body><p>Please <b>log in</b></body></html>", "text/html"), "Please log in"),
            (Body("upstream connect error", "text/plain"), "upstream connect error"),
            (Events((said({"content": "Dogs"}), '{"error": "No GPU is free"}')), "No GPU is free"),
            (Events(('{"message": "No GPU is free"}',)), "No GPU is free"),
        ],
    )
    def test_what_is_no_reply_is_shown_in_the_servers_words(self, base, llm, body, words):
        base.script.append(body)
        error = failure_of(llm)
        assert f"instead of a reply, the server said “{words}”" in error.message
        assert error.next_step
        base.script.append(body)
        bills, _ = billed(llm)
        assert len(bills) == 1

    def test_a_compressed_stream_is_read(self):
        packed = gzip.compress(b"data: [DONE]\n\n")
        response = httpx.Response(
            200,
            headers={"content-encoding": "gzip", "content-length": str(len(packed))},
            stream=httpx.ByteStream(packed),
            request=httpx.Request("POST", "http://127.0.0.1/v1/chat/completions"),
        )
        assert readable(response, streamed=True).read().endswith(b"data: [DONE]\n\n")

    @for_each(
        ("why", "words"),
        [
            ("length", "MAX_TOKENS model_length"),
            ("content_filter", "SAFETY refusal PROHIBITED_CONTENT"),
            ("insufficient_system_resource", "insufficient_system_resource"),
            ("error", "error"),
            ("stop", "COMPLETE eos_token end_of_turn stop_string tool_calls odd_{word}"),
        ],
    )
    def test_any_word_but_for_a_length_a_filter_or_a_fault_is_a_normal_end(self, base, llm, why, words):
        for finish in words.split():
            base.script.append(Reply("Dogs ba", finish=finish))
            assert ask(llm)[1].finish == why


JUDGE = JUDGE_PASSAGE.fill(question="Do cats purr?", sources="", refused="")


class TestRequests:
    @for_each("status", [Status(400, "invalid grammar"), Status(422, "no such feature"), Status(500, "converter")])
    def test_a_schema_that_a_server_cannot_follow_is_left_out_from_then_on(self, base, prices, status):
        base.requests.clear()
        llm = load_openai(Settings(timeout=20), "gpt-4o", prices)
        base.choose = lambda body: status if "response_format" in body else Reply()
        for _ in range(2):
            assert "".join(ask(llm, JUDGE)[0]) == "Cats purr [1]."
        tried = 2 if status.code == 500 else 1  # the client tries a server fault again
        assert ["response_format" in one.body for one in base.requests] == [True] * tried + [False, False]

    def test_when_it_fails_without_the_schema_too_the_schema_was_not_the_reason(self, base, llm):
        base.script += [Status(400, "prompt too long"), Status(400, "prompt too long")]
        with pytest.raises(ProviderError, match=r"refused \(prompt too long\)"):
            list(llm.stream(JUDGE, never))
        ask(llm, JUDGE)
        assert "response_format" in base.requests[-1].body

    def test_without_a_schema_nothing_is_tried_again(self, base, llm):
        base.script.append(Status(400, "prompt too long"))
        failure_of(llm)
        assert len(base.requests) == 1

    @for_each(("path", "words"), [("", "most servers' URLs end with /v1"), ("/v1?version=2", "OPENAI_BASE_URL")])
    def test_a_404_that_names_no_model_points_to_the_url(self, base, prices, path, words):
        base.choose = lambda body: Status(404, "Not Found")
        settings = Settings(openai_base_url=base.url.removesuffix("/v1") + path, timeout=20)
        error = failure_of(load_openai(settings, "gpt-4o", prices))
        assert "nothing at this address" in error.message
        assert words in error.next_step

    @for_each("words", ["`gpt-4o` was never pulled", "Model not found"])
    def test_a_404_that_names_the_model_points_to_it(self, base, llm, words):
        base.script.append(Status(404, words))
        assert "does not have this model" in failure_of(llm).message


TEXTS = [f"cats of house {number}" for number in range(12)]


class TestEmbeddings:
    @pytest.fixture
    def embedder(self, base, prices):
        return load_embedder(Settings(embedding="openai:text-embedding-3-small", timeout=20, gloss="off"), prices)

    @pytest.fixture
    def expected(self):
        rows = np.array([vector_of(text) for text in TEXTS])
        return rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))

    @pytest.mark.parametrize(("code", "most"), [(400, 5), (413, 1), (422, 3)])
    def test_a_batch_is_halved_until_it_fits_and_its_size_is_remembered(self, base, embedder, expected, code, most):
        base.choose = lambda body: Status(code, "no") if len(body["input"]) > most else Reply()
        vectors, bills = embedder.embed(TEXTS, "passage")
        np.testing.assert_allclose(vectors, expected, rtol=1e-5)
        assert sum(bill.input_tokens for bill in bills) == 4 * len(TEXTS)  # the server counts words, four each
        assert not any(bill.note for bill in bills)
        asked = len(base.requests)
        embedder.embed(TEXTS, "passage")
        assert not any(one.refused for one in base.requests[asked:])

    def test_vectors_are_sorted_by_their_index(self, base, embedder, expected):
        base.arrange = lambda rows: rows[::-1]
        np.testing.assert_allclose(embedder.embed(TEXTS, "passage")[0], expected, rtol=1e-5)

    def test_without_an_index_they_are_taken_in_order(self, base, embedder, expected):
        base.arrange = lambda rows: [{**row, "index": None} for row in rows]
        np.testing.assert_allclose(embedder.embed(TEXTS, "passage")[0], expected, rtol=1e-5)

    @for_each("numbers", [(0, 0, 1), (0, 1, 3), (1, 2, 3), (0, None, 2)])
    def test_repeats_and_gaps_are_refused(self, base, embedder, numbers):
        base.arrange = lambda rows: [{**row, "index": n} for row, n in zip(rows, numbers, strict=True)]
        with pytest.raises(ProviderError, match="Model text-embedding-3-small numbered its vectors"):
            embedder.embed(TEXTS[:3], "passage")

    @pytest.mark.parametrize(
        "refusal", [Status(400, "maximum context length"), Status(500, "input is too large to process")]
    )
    def test_a_text_that_is_too_long_is_shortened_and_counted(self, base, embedder, refusal):
        reads = 100  # words

        def choose(body):
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            return refusal if any(len(text.split()) > reads for text in texts) else Reply()

        base.choose = choose
        long = [f"{'dogs bark ' * 90}{number}" for number in range(2)]  # 181 words
        vectors, bills = embedder.embed(["cats", *long, "birds"], "passage")
        sent = [text for one in base.requests if not one.refused for text in one.body["input"]]
        assert len(vectors) == 4
        kept = [text for text in sent if text.startswith("dogs")]
        assert all(whole.startswith(text) for text, whole in zip(kept, long, strict=True))
        assert all(reads * 3 // 4 <= len(text.split()) <= reads for text in kept)
        assert [bill.note for bill in bills if bill.note] == [
            "2 of 4 texts were longer than the model reads; the end of each was left out"
        ]
        _, more = embedder.embed(long, "passage")
        assert shortened([*bills, *more]).startswith("4 of 6 texts "), "counted together after indexing"
        asked = len(base.requests)
        embedder.embed(long, "query")
        assert not any(one.refused for one in base.requests[asked:]), "what it reads is remembered"

    @pytest.mark.parametrize("refusal", [
        Status(400, "base64 encoding is not currently supported"), Status(400, "Invalid value", param="encoding_format"),
        Status(422, "body.encoding_format: Input should be 'float'"), Status(501, "base64 is not implemented"),
    ])  # fmt: skip
    def test_vectors_come_as_numbers_where_base64_is_refused_from_then_on(self, base, embedder, expected, refusal):
        base.requests.clear()
        base.choose = lambda body: refusal if body["encoding_format"] == "base64" else Reply()
        for _ in range(2):
            vectors, calls = embedder.embed(TEXTS, "passage")
            assert np.allclose(vectors, expected)
            assert len(calls) == 1
        tried = 2 if refusal.code >= 500 else 1  # the client tries a server fault again
        assert [one.body["encoding_format"] for one in base.requests] == ["base64"] * tried + ["float"] * 2

    def test_where_any_way_of_writing_vectors_is_refused_none_is_named(self, base, embedder, expected):
        refusal = Status(422, "body.encoding_format: Extra inputs are not permitted")
        base.choose = lambda body: refusal if "encoding_format" in body else Reply()
        for _ in range(2):
            base.requests.clear()
            assert np.allclose(embedder.embed(TEXTS, "passage")[0], expected)
        assert [one.refused for one in base.requests] == [False]

    def test_a_short_text_that_is_refused_is_not_shortened(self, base, embedder):
        base.choose = lambda body: Status(400, "unknown dimensions")
        with pytest.raises(ProviderError, match=r"refused \(unknown dimensions\)"):
            embedder.embed(["cats"], "passage")
        assert len(base.requests) == 1

    def test_an_error_with_status_200_is_shown(self, base, embedder):
        base.script.append(Body('{"error": {"message": "No GPU is free"}}'))
        with pytest.raises(ProviderError, match="the server said “No GPU is free”"):
            embedder.embed(TEXTS[:2], "passage")


WORDINGS = {
    "1. When do cats sleep?\n2. When do felines rest?": "When do cats sleep?",
    "- **When do cats sleep?**\n- When do felines rest?": "When do cats sleep?",
    "Of course. My version:\n\n“When do cats sleep?”\n\nIt names the animal.": "When do cats sleep?",
    "Certainly!\n\nWhen do cats sleep?\n\nHope this helps.": "When do cats sleep?",
    '{"rewritten": "When do cats sleep?"}': "When do cats sleep?",
    '```json\n{"queries": ["When do cats sleep?"]}\n```': "When do cats sleep?",
    '["When do cats sleep?", "When do felines rest?"]': "When do cats sleep?",
    '"When do cats sleep?"': "When do cats sleep?",
    "Of course! Here is the question: When do cats sleep?": "When do cats sleep?",
    "When do cats\nsleep?": "When do cats sleep?",
}


class TestRewrites:
    @for_each(("reply", "query"), WORDINGS.items())
    def test_the_question_alone_is_searched_with(self, base, llm, reply, query):
        base.script.append(Reply(reply))
        ctx = sample_context(sample_services(llm=llm))
        (found,) = Rewrite((STANDALONE,)).rewrite(Query("When do they sleep?"), ctx)
        assert found.text == query
        several = [warning for warning in ctx.meter.warnings if "the first was used" in warning]
        assert len(several) == ("felines" in reply)

    @for_each("reply", ["First this.\n\nThen that.", '{"a": "When?", "b": "Where?"}'])
    def test_one_that_cannot_be_told_from_the_rest_fails_and_is_shown(self, base, llm, reply):
        base.script.append(Reply(reply))
        ctx = sample_context(sample_services(llm=llm))
        with pytest.raises(ProviderError, match="all 1 rewrites failed: the reply is not one question") as caught:
            Rewrite((STANDALONE,)).rewrite(Query("When do they sleep?"), ctx)
        assert " ".join(reply.split()) in caught.value.message

    def test_a_judgement_that_cannot_be_read_is_shown(self, base, animals):
        base.choose = aimed(Reply("I rate it highly."), lambda body: role_of(body) == "judge")
        with pytest.raises(StageError, match=r"The last one: “I rate it highly\.”"):
            animals.run(QUESTION, ("rag_msr", {"theta": 0}))


class TestSelfReports:
    @for_each(("asked", "answered"), [
        ("gpt-4o", "gpt-4o-2024-08-06"), ("gpt-4", "gpt-4-0613"), ("llama3.2", "llama3.2:latest"),
        ("mistral-large", "mistral-large-2411"), ("qwen", "Org/Qwen"), ("small", "/models/small.gguf"),
        ("small-7b", "/models/small-7b.Q4_K_M.gguf"), ("small-7b", "small-7b-IQ2_XS.gguf"),
        ("small-7b", "ggml-org/Small-7B-GGUF:Q4_K_M"), ("small-7b", "small-7b@q4_k_m"), ("small-7b", "small-7b:2"),
        ("org/small-7b:free", "org/small-7b"), ("small-7b", "/models/small-7b/"), ("gpt-35-turbo", "gpt-3.5-turbo-0125"),
        ("large-latest", "large-2411"), ("gpt-4.1", "gpt-4-1-2025-04-14"), ("command-r", "command-r-08-2024"),
        ("us.anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku-20240307"),
    ])  # fmt: skip
    def test_a_version_of_the_same_model_is_no_other(self, base, prices, asked, answered):
        base.script.append(Events((said({"content": "Dogs bark."}, "stop", model=answered), "[DONE]")))
        assert ask(load_openai(Settings(timeout=20), asked, prices))[1].note == ""

    def test_another_model_than_was_asked_for_is_named(self, base, llm):
        base.script.append(Events((
            said({"role": "assistant", "content": ""}, model="gpt-4o"), said({"content": "Dogs"}, model="gpt-4o-mini"),
            said({}, "stop", model="gpt-4o"), "[DONE]",
        )))  # fmt: skip
        assert ask(llm)[1].note == "the server says that its model gpt-4o-mini answered"

    @for_each(("asked", "answered"), [
        ("gpt-4o", "gpt-4o-mini-2024-07-18"), ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"), ("large-2407", "large-2411"),
        ("llama3.1:8b", "llama3.1:70b"), ("gpt-4", "gpt-4-turbo"), ("tgi", "meta-llama/Llama-3.1-8B-Instruct"),
    ])  # fmt: skip
    def test_another_size_or_version_is_another_model(self, base, prices, asked, answered):
        base.script.append(Events((said({"content": "Dogs bark."}, "stop", model=answered), "[DONE]")))
        note = ask(load_openai(Settings(timeout=20), asked, prices))[1].note
        assert note == f"the server says that its model {answered} answered"

    def test_what_azure_calls_a_deployment_names_no_model(self, base, llm):
        base.script.append(Events((said({"content": "Dogs bark."}, "stop", model="gpt-4o"), "[DONE]")))
        llm.name, llm.provider = "ward-assistant", "hospital.openai.azure.com"
        assert ask(llm)[1].note == ""

    @for_each(("share", "told", "noted"), [
        (0.5, {}, True), (0.8, {}, False), (0.5, {"prompt_tokens_details": {"cached_tokens": 300}}, False),
        (0.5, {"prompt_tokens_details": {"cached_tokens": 0}}, True), (0.5, {"cache_read_input_tokens": 300}, False),
        (0.5, {"prompt_cache_hit_tokens": 300}, False),
        (0.5, {"prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": 300}, True),
    ])  # fmt: skip
    def test_a_server_that_read_far_fewer_tokens_than_were_sent_is_named(self, base, llm, share, told, noted):
        prompt = ASK.fill(question="Do cats purr? " * 200)
        sent = count_tokens(prompt.system + prompt.render())
        usage = {"prompt_tokens": int(sent * share), "completion_tokens": 2, "total_tokens": sent + 2, **told}
        base.script.append(
            Events((said({"content": "Yes."}, "stop"), json.dumps({"choices": [], "usage": usage}), "[DONE]"))
        )
        words = f"the server read {sent // 2} of about {sent} tokens"
        assert (words in ask(llm, prompt)[1].note) == noted

    def test_what_a_server_says_of_itself_stands_on_the_column(self, base, animals):
        base.choose = lambda body: Events((said({"content": "Dogs bark [1]."}, "stop", model="other"), "[DONE]"))
        trace = animals.run(QUESTION, "bm25")
        assert "gpt-4o: the server says that its model other answered." in trace.warnings
        assert "other" in json.dumps(trace.as_json()["warnings"])


class TestSurroundings:
    @for_each("status", [301, 302, 307, 308])
    def test_a_redirect_on_the_same_host_is_followed_with_the_question(self, base, llm, status):
        base.script.append(Status(status, headers={"location": "/v1/chat/completions"}))
        assert "".join(ask(llm)[0]) == Reply().text
        assert base.requests[0].body == base.requests[1].body

    def test_another_host_gets_neither_key_nor_question(self, base, llm):
        with serve() as elsewhere:
            host = elsewhere.url.replace("127.0.0.1", "localhost")
            base.script.append(Status(307, headers={"location": f"{host}/chat/completions"}))
            assert f"the server has moved to {host}/chat/completions" in failure_of(llm).message
            assert not elsewhere.requests

    @for_each(("value", "named"), [("localhost:9", "HTTP_PROXY"), ("", "")])
    def test_a_proxy_between_is_named_where_the_server_is_not_reached(self, prices, monkeypatch, value, named):
        monkeypatch.setenv("HTTP_PROXY", value)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        settings = Settings(openai_base_url="http://127.0.0.1:9/v1", timeout=20)
        step = failure_of(load_openai(settings, "gpt-4o", prices)).next_step
        assert step == f"Check OPENAI_BASE_URL{', ' * bool(named)}{named} and the network."

    @for_each(("variable", "value", "words"), [
        ("ALL_PROXY", "socks5://127.0.0.1:1", "a SOCKS proxy needs the package socksio"),
        ("HTTPS_PROXY", "carrier-pigeon://127.0.0.1", "carrier-pigeon"),
        ("SSL_CERT_FILE", "/nowhere/certificates.pem", "No such file"),
        ("SSL_CERT_DIR", "/nowhere", "no such folder"),
        ("SSLKEYLOGFILE", "/nowhere/keys.log", "No such file"),
        ("NO_PROXY", "[::1]", "Invalid port"),
    ])  # fmt: skip
    def test_what_the_environment_gets_wrong_is_named(self, base, prices, monkeypatch, variable, value, words):
        with monkeypatch.context() as environment:
            environment.delenv("SSL_CERT_FILE", raising=False)
            environment.setenv(variable, value)
            client._certificates.cache_clear()
            with pytest.raises(SettingsError, match=words) as caught:
                load_openai(Settings(), "gpt-4o", prices)
        assert variable in caught.value.message
