"""What servers that speak OpenAI's protocol in their own way send, and what each role makes of it."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import numpy as np
import pytest
from helpers.behaviours import Body, Endless, Events, Reply, Status
from helpers.looping import for_each
from helpers.openai_server import role_of, vector_of
from helpers.provider_calls import PROMPT, ask, billed, failure_of, never
from helpers.provider_lab import aimed, obliging, provider_lab

from rag_core.evaluation.judge import judge
from rag_core.indexing.enrich import DocumentPassages, LlmEnricher
from rag_core.models import load_embedder
from rag_core.models.llm import load_openai
from rag_core.models.openai.dialects import readable
from rag_core.models.reasoning import WithoutReasoning
from rag_core.models.reply import MAX_REPLY
from rag_core.models.tokenizer import count_tokens
from rag_core.pipeline.stream import Token
from rag_core.prompts.prompt import JUDGE_PASSAGE
from rag_core.prompts.replies import Restart
from rag_core.prompts.templates import STANDALONE
from rag_core.runtime.context import Context
from rag_core.stages import Rewrite
from rag_core.testing import sample_context, sample_services
from rag_core.values.errors import ProviderError, StageError
from rag_core.values.settings import Settings
from rag_core.values.types import Passage, Query

QUESTION = "Do cats and dogs sleep in one house?"
# as a careless model thinks: a citation of no source, our words for no answer, and a score of its own
THOUGHT = 'The cats come first [7]. NOT_ENOUGH_EVIDENCE? Perhaps {"reason": "no", "score": 3}, I wonder.'
TAGS = {
    "think": ("<think>", "</think>"),
    "a longer name": ("\n<inner_thoughts>", "</inner_thoughts>"),
    "capitals": ("<Reasoning>", "</reasoning>"),
    "with an attribute": ('<thinking mode="deep">', "</thinking>"),
    "two words": ("<thought process>", "</thought process>"),
    "of Seed": ("<seed:think>", "</seed:think>"),
    "of Magistral": ("[THINK]", "[/THINK]"),
    "of Kimi": ("◁think▷", "◁/think▷"),
    "of OpenThinker": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "of Cohere": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "of MedGemma": ("<unused94>thought\n", "<unused95>"),
    "of gpt-oss": (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    "not opened": ("", "</think>"),
    "two blocks": ("<think>First.</think>\n<think>", "</think>"),
    "nested": ("<think><think>", "</think></think>"),
}


@pytest.fixture
def animals(base, read_only_store, embedder, labels):
    """A lab over conftest's documents whose models are the server's."""
    base.choose = obliging
    return provider_lab(base, read_only_store, embedder, labels)


def thinking(tags: tuple[str, str], thought: str = THOUGHT):
    """The obliging server, which thinks aloud first."""

    def choose(body: dict[str, Any]) -> Reply:
        said = obliging(body)
        return said if "input" in body else Reply(f"{tags[0]}{thought}{tags[1]}\n\n{said.text}", said.usage)

    return choose


class TestReasoningInsideTheContent:
    def test_no_role_of_a_strategy_reads_it(self, base, animals):
        """Rewrites, judge and answer: the same as of a model that does not think aloud."""
        chosen = ("rag_msr", {"theta": 0})
        plain = animals.run(QUESTION, chosen)
        assert plain.answer.text == "Cats and dogs can live in one house [1]."
        for kind, tags in TAGS.items():
            base.choose = thinking(tags)
            trace = animals.run(QUESTION, chosen)
            assert trace.answer.text == plain.answer.text, kind
            assert [one.text for one in trace.final.queries] == [one.text for one in plain.final.queries], (
                kind
            )
            assert [hit.score for hit in trace.ranking] == [hit.score for hit in plain.ranking], kind
            assert trace.warnings == plain.warnings, kind

    def test_nor_does_hyde_nor_the_judge_of_answers_nor_enrichment(
        self, base, animals, llm, prices, tmp_path
    ):
        trace = animals.run(QUESTION, "bm25")
        base.choose = thinking(TAGS["think"])
        assert animals.run(QUESTION, "hyde").final.queries[0].passages == (
            "Cats and dogs sleep in one house when they meet young.",
        )
        base.choose = lambda body: Reply(f'<think>{THOUGHT}</think>{{"faithfulness": 90, "relevance": 70}}')
        found, _ = judge(trace, Context(sample_services(llm=llm)))
        assert (found.faithfulness, found.relevance) == (90, 70)
        base.choose = lambda body: Reply(f"<think>{THOUGHT}</think>\nFrom a book about cats.")
        enricher = LlmEnricher(llm, prices, tmp_path / "contexts.sqlite")
        passages = (Passage("a", "a", "Cats", "Cats purr."),)
        written = enricher.enrich([DocumentPassages("Cats purr.", passages)], lambda done, total: None)
        assert written.contexts == ("From a book about cats.",)

    def test_it_does_not_count_towards_the_limit_and_is_billed(self, base, llm):
        thought = f"Let me weigh {'this' * 200} once more. " * (2 * MAX_REPLY // 800)
        assert len(thought) > MAX_REPLY
        base.script.append(Reply(f"<think>{thought}</think>Cats purr.", usage=None))
        pieces, bill = ask(llm)
        assert ("".join(pieces), bill.finish) == ("Cats purr.", "stop")
        assert bill.output_tokens == count_tokens(f"<think>{thought}</think>Cats purr.")

    @pytest.mark.parametrize("finish", ["stop", "length"])
    @pytest.mark.parametrize("tags", [TAGS["think"], TAGS["of gpt-oss"]], ids=["think", "gpt-oss"])
    def test_a_block_that_never_ends_is_no_answer_and_is_billed(self, base, llm, finish, tags):
        base.script.append(Reply(tags[0] + THOUGHT, finish=finish))
        bills, error = billed(llm)
        assert error is not None
        assert "before the model had finished its reasoning" in error.message
        assert "output tokens" in error.next_step
        assert [bill.input_tokens for bill in bills] == [1000]

    def test_endless_reasoning_is_not_waited_for(self, base, llm):
        base.script.append(Endless("<think>" + "and yet " * 2_000))
        assert "finished its reasoning" in failure_of(llm).message
        assert base.gone.wait(10)

    def test_a_block_without_its_opening_tag_is_shown_once_at_most(self, base, llm):
        """The template opened it: that is known when it is closed, and from the next reply on before."""
        base.choose = lambda body: Reply("Hm, cats. </think>Cats purr.")
        first, second = ([*llm.stream(PROMPT, never)][:-1] for _ in range(2))
        restart = next(place for place, piece in enumerate(first) if isinstance(piece, Restart))
        assert "".join(first[restart:]) == "".join(second) == "Cats purr."
        base.choose = lambda body: Reply("Dogs bark.")
        assert "".join(ask(llm)[0]) == "Dogs bark.", "one that does not think is not lost"

    def test_what_was_shown_of_it_is_replaced(self, base, animals):
        base.choose = lambda body: Reply("Hm, cats. </think>Cats purr [1].")
        events = [one for one in animals.stream(QUESTION, ["bm25"]) if isinstance(one, Token)]
        assert "".join(one.text for one in events if not one.restart).startswith("Hm, cats. ")
        last = max(place for place, one in enumerate(events) if one.restart)
        assert "".join(one.text for one in events[last:]) == "Cats purr [1]."

    @for_each(
        "text",
        [
            "<b>Call 112 now</b> and lie down [1].",
            "<answer>Cats purr</answer>",
            "[Reasoning] is a word here, as is [THINK] later.",
            "< 5 weeks: rest. <think of it",
            "Rising pressure (<90) or [1] and <|x|> stay.",
        ],
    )
    def test_other_tags_hold_the_answer(self, base, llm, text):
        base.script.append(Reply(text))
        assert "".join(ask(llm)[0]) == text

    @for_each(
        ("said", "left"),
        [(tags[0] + THOUGHT + tags[1] + " Cats purr.", "Cats purr.") for tags in TAGS.values()],
    )
    def test_it_makes_no_difference_where_the_pieces_end(self, said, left):
        for size in (1, 2, 7, len(said)):
            taken, text = WithoutReasoning(), ""
            for start in range(0, len(said), size):
                piece = taken.take(said[start : start + size])
                text = piece if isinstance(piece, Restart) else text + piece
            assert text + taken.take("", last=True) == left

    def test_a_block_after_the_answer_is_taken_off_too(self, base, llm):
        base.script.append(Reply("Cats purr [1]. <reflection>Was that right?</reflection>"))
        assert "".join(ask(llm)[0]).rstrip() == "Cats purr [1]."


def said(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
    return json.dumps({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


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

    @for_each("finish", ["COMPLETE", "eos_token", "end_of_turn", "stop_string", "tool_calls", "odd {word}"])
    def test_any_other_word_is_a_normal_end(self, base, llm, finish):
        base.script.append(Reply("Dogs bark.", finish=finish))
        assert ask(llm)[1].finish == "stop"

    @for_each(
        ("finish", "why"),
        [
            *(("MAX_TOKENS", "length"), ("model_length", "length")),
            *(
                ("SAFETY", "content_filter"),
                ("refusal", "content_filter"),
                ("PROHIBITED_CONTENT", "content_filter"),
            ),
            *(("insufficient_system_resource", "insufficient_system_resource"), ("error", "error")),
        ],
    )
    def test_a_length_a_filter_or_a_fault_is_none(self, base, llm, finish, why):
        base.script.append(Reply("Dogs ba", finish=finish))
        assert ask(llm)[1].finish == why


JUDGE = JUDGE_PASSAGE.fill(question="Do cats purr?", sources="", refused="")


class TestRequests:
    @for_each(
        "status", [Status(400, "invalid grammar"), Status(422, "no such feature"), Status(500, "converter")]
    )
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

    @for_each(
        ("path", "words"), [("", "most servers' URLs end with /v1"), ("/v1?version=2", "OPENAI_BASE_URL")]
    )
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
        return load_embedder(
            Settings(embedding="openai:text-embedding-3-small", timeout=20, gloss="off"), prices
        )

    @pytest.fixture
    def expected(self):
        rows = np.array([vector_of(text) for text in TEXTS])
        return rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))

    @pytest.mark.parametrize(("code", "most"), [(400, 5), (413, 1), (422, 3)])
    def test_a_batch_is_halved_until_it_fits_and_its_size_is_remembered(
        self, base, embedder, expected, code, most
    ):
        base.choose = lambda body: Status(code, "no") if len(body["input"]) > most else Reply()
        vectors, bills = embedder.embed(TEXTS, "passage")
        np.testing.assert_allclose(vectors, expected, rtol=1e-5)
        assert sum(bill.input_tokens for bill in bills) == 4 * len(
            TEXTS
        )  # the server counts words, four each
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
        asked = len(base.requests)
        embedder.embed(long, "query")
        assert not any(one.refused for one in base.requests[asked:]), "what it reads is remembered"

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
        with pytest.raises(
            ProviderError, match="all 1 rewrites failed: the reply is not one question"
        ) as caught:
            Rewrite((STANDALONE,)).rewrite(Query("When do they sleep?"), ctx)
        assert " ".join(reply.split()) in caught.value.message

    def test_a_judgement_that_cannot_be_read_is_shown(self, base, animals):
        base.choose = aimed(Reply("I rate it highly."), lambda body: role_of(body) == "judge")
        with pytest.raises(StageError, match=r"The last one: “I rate it highly\.”"):
            animals.run(QUESTION, ("rag_msr", {"theta": 0}))
