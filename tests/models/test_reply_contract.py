"""What becomes of replies that end early, are too long, hold no valid text, or count tokens as no provider can."""

import json

import pytest
from helpers import fuzzing_text
from helpers.behaviours import Endless, Reply
from helpers.fuzzing_text import CUT
from helpers.looping import fuzzed
from helpers.openai_server import role_of, serve, template_of
from helpers.provider_calls import PROMPT, SENT, never
from helpers.provider_lab import aimed
from hypothesis import example, given

from rag_core.indexing.enrich import DocumentPassages, LlmEnricher
from rag_core.models.llm import SENSELESS_USAGE
from rag_core.models.reply import MAX_REPLY, MAX_TOKENS
from rag_core.models.reply import Reply as Taken
from rag_core.models.tokenizer import count_tokens
from rag_core.values.errors import StageError
from rag_core.values.types import ModelCall, Passage

QUESTION = "Do cats and dogs sleep in one house?"
WHOLE = "Cats and dogs can live in one house [1]."


def said(llm) -> tuple[str, ModelCall]:
    *pieces, bill = llm.stream(PROMPT, never)
    return "".join(pieces), bill


class TestHowItEnded:
    @pytest.mark.parametrize("finish", CUT)
    def test_an_answer_that_was_cut_off_says_so_where_it_ends(self, base, animals, finish):
        base.choose = aimed(Reply(WHOLE, finish=finish), lambda body: "input" not in body)
        trace = animals.run(QUESTION, "bm25")
        assert trace.answer.text == WHOLE
        remark = trace.answer.remarks[0]
        assert remark.kind == "cut"
        assert remark.text.startswith("This answer is incomplete: ")
        assert "\x1b" not in remark.text
        shown = trace.as_json()
        assert shown["answer"]["remarks"][0]["kind"] == "cut"
        assert "incomplete" in shown["warnings"][0]

    def test_a_whole_answer_says_nothing_of_the_kind(self, animals):
        trace = animals.run(QUESTION, "bm25")
        assert "cut" not in {remark.kind for remark in trace.answer.remarks}
        assert not any("incomplete" in warning for warning in trace.warnings)

    def test_a_spanish_question_gets_the_remark_in_spanish(self, base, animals):
        base.choose = lambda body: Reply("Los gatos ronronean [1].", finish="length")
        trace = animals.run("¿Cuándo ronronean los gatos y por qué duermen mucho?", "bm25")
        assert trace.answer.remarks[0].text.startswith("Esta respuesta está incompleta")

    @pytest.mark.parametrize("finish", CUT)
    def test_a_filtered_answer_without_text_is_a_failure_with_the_reason(self, base, animals, finish):
        base.choose = lambda body: Reply("", finish=finish)
        with pytest.raises(StageError, match=r"empty reply \(finish reason: ") as caught:
            animals.run(QUESTION, "bm25")
        assert [call.input_tokens for call in caught.value.calls if call.of_language_model] == [1000]

    @pytest.mark.parametrize("finish", CUT)
    def test_a_rewrite_that_was_cut_off_is_left_out(self, base, animals, finish):
        base.choose = aimed(Reply(QUESTION[:12], finish=finish), lambda body: template_of(body) == "standalone")
        trace = animals.run(QUESTION, "multi_query")
        assert QUESTION[:12] not in {query.text for query in trace.final.queries}
        assert any("incomplete" in warning for warning in trace.warnings)

    def test_a_hypothetical_passage_that_was_cut_off_is_a_failure(self, base, animals):
        base.choose = lambda body: Reply("Cats sleep in", finish="length")
        with pytest.raises(StageError, match=r"Hyde failed: .*incomplete \(length\)"):
            animals.run(QUESTION, "hyde")

    def test_a_judgement_that_was_cut_off_is_no_score(self, base, animals):
        cut = Reply('{"reason": "It", "score": 90}', finish="length")
        base.choose = aimed(cut, lambda body: role_of(body) == "judge")
        with pytest.raises(StageError, match=r"no passage could be judged: .*incomplete \(length\)"):
            animals.run(QUESTION, ("rag_msr", {"theta": 0}))

    def test_a_context_that_was_cut_off_is_not_kept(self, base, llm, prices, tmp_path):
        base.choose = lambda body: Reply("It is about", finish="length")
        passage = Passage("a", "a", "Cats", "Cats purr.")
        enricher = LlmEnricher(llm, prices, tmp_path / "contexts.sqlite")
        written = enricher.enrich([DocumentPassages("Cats purr.", (passage,))], lambda done, total: None)
        assert (written.contexts, written.reason) == (("",), "gpt-4o's reply was incomplete (length)")


class TestNothingSaid:
    @pytest.mark.parametrize("text", ["[99]", "[1]", " \n\t ", "[1][2] [99].", "…", "\u200b", "[" + "9" * 5000 + "]"])
    def test_a_reply_without_a_word_is_a_failure_and_never_an_empty_box(self, base, animals, text):
        base.choose = lambda body: Reply(text)
        with pytest.raises(StageError, match=r"empty reply|says nothing") as caught:
            animals.run(QUESTION, "bm25")
        assert caught.value.next_step
        assert "answer" in {call.purpose for call in caught.value.calls}, "it is billed"


class TestText:
    @pytest.mark.parametrize("size", [MAX_REPLY, MAX_REPLY + 1, 1_000_000])
    def test_a_long_reply_is_read_up_to_the_limit_and_marked(self, base, animals, size):
        said = f"Cats {'purr' * 50} when happy [1]. "  # streamed word by word: few, so long ones
        base.choose = lambda body: Reply((said * (size // len(said) + 1))[:size])
        trace = animals.run(QUESTION, "bm25")
        assert len(trace.answer.text) <= MAX_REPLY
        assert ("cut" in {remark.kind for remark in trace.answer.remarks}) is (size > MAX_REPLY)

    def test_the_rest_of_a_long_reply_is_not_read(self, base, llm):
        base.script.append(Endless("word " * 150))
        text, bill = said(llm)
        assert (len(text), bill.finish, bill.counted_by) == (MAX_REPLY, "too_long", "tokenizer")
        assert base.gone.wait(10)

    def test_half_characters_become_replacement_characters_and_pairs_are_joined(self, base, llm):
        base.script.append(Reply("Cats \ud83d\ude3a purr \ud800 often \udc00"))
        assert said(llm)[0] == "Cats 😺 purr \ufffd often \ufffd"

    def test_a_pair_that_was_sent_in_two_pieces_is_one_character(self):
        reply = Taken(says_end=True)
        assert [reply.take("b\ud83d"), reply.take("\ude3ac"), reply.take("", last=True)] == ["b", "😺c", ""]

    def test_a_half_character_at_the_end_is_replaced(self):
        reply = Taken(says_end=True)
        assert reply.take("a\ud83d") + reply.take("", last=True) == "a\ufffd"

    def test_an_answer_with_half_characters_can_be_printed_and_saved(self, base, animals):
        base.choose = lambda body: Reply("Cats \ud800 sleep [1].")
        trace = animals.run(QUESTION, "bm25")
        assert json.dumps(trace.as_json(), ensure_ascii=False).encode()

    def test_a_character_reference_of_5000_digits_is_no_number(self, base, animals):
        base.choose = lambda body: Reply(f"Cats &#{'9' * 5000}; sleep &lt; dogs [1].")
        assert animals.run(QUESTION, "bm25").answer.text == "Cats \ufffd sleep < dogs [1]."


SENSELESS = (
    '{"prompt_tokens": null, "completion_tokens": null, "total_tokens": null}',
    '{"prompt_tokens": "many", "completion_tokens": 2, "total_tokens": 3}',
    '{"prompt_tokens": -5, "completion_tokens": 2, "total_tokens": 3}',
    '{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}',
    '{"prompt_tokens": NaN, "completion_tokens": 2, "total_tokens": 3}',
    '{"prompt_tokens": 1e308, "completion_tokens": 1e999, "total_tokens": 3}',
    '{"prompt_tokens": 12.5, "completion_tokens": 2, "total_tokens": 3}',
    '{"prompt_tokens": {"a": 1}, "completion_tokens": [], "total_tokens": 3}',
    f'{{"prompt_tokens": {MAX_TOKENS + 1}, "completion_tokens": 2, "total_tokens": 3}}',
    f'{{"prompt_tokens": {"9" * 5000}, "completion_tokens": 2, "total_tokens": 3}}',
    "null", '"none"', "[]", "7", "{}", '{"prompt_tokens"',
)  # fmt: skip


TRUE = '{"prompt_tokens": true, "completion_tokens": true, "total_tokens": 2}'  # read as 1 by OpenAI's client


class TestUsage:
    @pytest.mark.parametrize("usage", SENSELESS, ids=lambda usage: usage[:40])
    def test_a_usage_that_makes_no_sense_is_counted_here_and_loses_neither_answer_nor_bill(self, base, llm, usage):
        base.script.append(Reply(WHOLE, usage=usage))
        text, bill = said(llm)
        assert text == WHOLE
        assert (bill.input_tokens, bill.output_tokens) == (SENT, count_tokens(WHOLE))
        assert (bill.counted_by, bill.finish) == ("tokenizer", "stop")
        assert bill.cost_usd == pytest.approx(SENT * 2.50e-6 + bill.output_tokens * 10.00e-6)

    @pytest.mark.parametrize("usage", [SENSELESS[0], TRUE])
    def test_the_trace_says_that_the_counts_made_no_sense(self, base, animals, usage):
        base.choose = lambda body: Reply(WHOLE, usage=usage)
        trace = animals.run(QUESTION, "bm25")
        assert f"gpt-4o: {SENSELESS_USAGE}." in trace.warnings
        assert trace.as_json()["metrics"]["usage_source"] == "tokenizer"

    def test_whole_numbers_written_as_fractions_count(self, base, llm):
        base.script.append(Reply(WHOLE, usage='{"prompt_tokens": 12.0, "completion_tokens": 3.0, "total_tokens": 15}'))
        _, bill = said(llm)
        assert (bill.input_tokens, bill.output_tokens, bill.counted_by) == (12, 3, "provider")


class TestAnyReply:
    """`make bench` tries thousands; see `fuzzed`."""

    @fuzzed(100)
    @given(fuzzing_text.usages)
    def test_any_count_is_a_sane_number_or_none(self, value):
        fuzzing_text.check_count(value)

    @fuzzed(100)
    @given(fuzzing_text.pieces)
    @example(["Cats", " purr" * MAX_REPLY])
    def test_any_pieces_are_taken_as_valid_text_up_to_the_limit(self, pieces):
        fuzzing_text.check_pieces(pieces)

    @fuzzed(30)
    @given(fuzzing_text.replies)
    def test_any_reply_is_an_answer_or_a_failure_and_is_billed(self, prices, reply):
        with serve() as server:
            fuzzing_text.check_reply(server, prices, *reply)
