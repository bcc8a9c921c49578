import html
import re
from collections import Counter
from datetime import UTC, datetime

import pytest
from helpers.behaviours import Reply, Status
from helpers.openai_server import template_of
from helpers.provider_lab import QUESTION, aimed, obliging, provider_lab

from pages.compare.queries import prompts
from rag_core import RECIPES, build
from rag_core.lab.lab import Lab
from rag_core.sessions.history.record import Asked, AskedColumn, from_bytes, to_bytes
from rag_core.sessions.saved import session_text
from rag_core.values.trace import Exchange, Trace

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PRESETS = {
    "rag_msr": {"dynamic_analysis": "model", "theta": 0},
    "contextual": {"transform": True, "enriched": False},
}


@pytest.fixture
def asking(server, read_only_store, embedder, labels) -> Lab:
    server.choose = obliging
    return provider_lab(server, read_only_store, embedder, labels, openai_api_key="sk-secret-0123456789")


def sent_of(trace: Trace) -> list[Exchange]:
    return [one for step in trace.steps for one in step.exchanges]


@pytest.mark.parametrize("strategy", list(RECIPES))
def test_every_prompt_in_a_trace_is_what_the_server_received(asking, server, strategy):
    trace = asking.run(QUESTION, (strategy, PRESETS.get(strategy, {})))
    received = Counter(tuple(content for _, content in request.messages) for request in server.requests)
    assert Counter((one.system, one.text) for one in sent_of(trace)) == received
    for one in sent_of(trace):
        (call,) = one.calls
        assert (call.purpose, call.model) == (one.purpose, one.model)
        assert one.reply
        assert one.error == ""
    assert {call for one in sent_of(trace) for call in one.calls} == {
        call for call in trace.calls if call.of_language_model
    }


def test_the_page_shows_each_text_as_the_server_received_it_and_escaped(asking, server):
    trace = asking.run(f"{QUESTION} <script>&", ("rag_msr", {"dynamic_analysis": "model", "theta": 0}))
    shown = [html.unescape(text) for text in re.findall(r"<pre[^>]*>(.*?)</pre>", prompts(trace), re.DOTALL)]
    for request in server.requests:
        for _, content in request.messages:
            assert content in shown
        assert request.behaviour.text in shown
    assert "<script>" not in prompts(trace)


def test_tokens_name_who_counted_them(asking, server):
    trace = asking.run(QUESTION, "bm25")
    assert "1,000 tokens in, 200 out, counted by the provider" in prompts(trace)
    server.choose = lambda body: Reply("Cats and dogs can live in one house [1].", usage=None)
    (one,) = sent_of(trace := asking.run(f"{QUESTION} Why?", "bm25"))
    (call,) = one.calls
    assert f"{call.input_tokens:,} tokens in, {call.output_tokens} out, counted here" in prompts(trace)


def test_a_refused_prompt_is_listed_with_the_reason_and_no_tokens(asking, server):
    server.choose = aimed(Status(401), lambda body: template_of(body) == "synonyms")
    trace = asking.run(QUESTION, "multi_query")
    refused = next(one for one in sent_of(trace) if one.prompt == "synonyms")
    assert (refused.calls, refused.reply) == ((), "")
    assert "key was refused" in refused.error
    assert "no tokens: the provider refused it" in prompts(trace)


def test_a_reply_that_is_asked_for_again_is_two_prompts(asking, server):
    turns = iter(["no JSON", '{"reason": "It says so.", "score": 90}'])
    judge = {"prompt_set": "none", "k_per_query": 1, "rerank": False, "theta": 0}
    server.choose = lambda body: Reply(next(turns)) if template_of(body) == "judge_passage" else obliging(body)
    judged = [one for one in sent_of(asking.run(QUESTION, ("rag_msr", judge))) if one.purpose == "judge"]
    assert len(judged) == 2
    assert sorted("Your last reply was refused" in one.text for one in judged) == [False, True]


def test_the_history_keeps_the_prompts_and_the_json_session_leaves_them_out(asking):
    trace = asking.run(QUESTION, "hyde")
    asked = Asked("a", NOON, QUESTION, (AskedColumn("hyde", trace.controls, trace.steps, trace=trace),))
    kept = from_bytes("a", NOON, to_bytes(asked)).columns[0].trace
    assert sent_of(kept) == sent_of(trace)
    text = session_text([trace])
    assert "exchanges" not in text
    assert "using numbered sources" not in text  # of the answer's system message


def test_each_hypothesis_is_a_call_of_its_own(asking, server):
    trace = asking.run(QUESTION, ("hyde", {"hypotheses": 3, "rewriter_temperature": 0.7}))
    sent = [request for request in server.requests if request.role == "rewrite"]
    assert [request.body["temperature"] for request in sent] == [0.7, 0.7, 0.7]
    assert [(one.prompt, one.sample) for one in sent_of(trace)] == [
        ("hypothetical", 0), ("hypothetical", 1), ("hypothetical", 2), ("answer", 0),
    ]  # fmt: skip
    assert "hypothetical passage, again (3)" in prompts(trace)


def test_the_offline_engine_takes_other_sentences_for_each_hypothesis(lab):
    asked = ("hyde", {"hypotheses": 3})
    passages = lab.run("When is anti-D given?", asked).final.queries[0].passages
    assert len(set(passages)) == 3
    assert passages == lab.run("When is anti-D given?", asked).final.queries[0].passages
    assert passages[0] == lab.run("When is anti-D given?", "hyde").final.queries[0].text


def test_a_reused_stage_keeps_its_prompts(asking, server):
    first = asking.run(QUESTION, "hyde")
    before = len(server.requests)
    again = asking.what_if(first, include_question=False)
    assert {request.role for request in server.requests[before:]} <= {"answer"} | {"rewrite"}
    assert [one.prompt for one in sent_of(again)] == ["hypothetical", "answer"]


def test_the_offline_engine_was_sent_no_text(lab):
    trace = lab.run("When is anti-D given?", "rag_msr")
    assert all(one.offline and (one.system, one.text) == ("", "") for one in sent_of(trace))
    answer = next(one for one in sent_of(trace) if one.purpose == "answer")
    assert answer.fields["question"] == "When is anti-D given?"
    assert answer.fields["sources"].splitlines() == [
        f"[{n}] {hit.passage.full_title}" for n, hit in enumerate(trace.ranking, start=1)
    ]
    drawn = prompts(trace)
    assert "The offline engine was sent no text" in drawn
    assert "message, as sent" not in drawn
    assert html.escape(trace.ranking.hits[0].passage.full_title) in drawn


def test_a_result_without_a_prompt_says_so(lab):
    trace = build("bm25").without_answer().run("anti-D", lab.services())
    assert "No prompt was needed" in prompts(trace)
