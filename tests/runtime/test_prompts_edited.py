import json

import pytest
from helpers.openai_server import OpenAIServer
from helpers.provider_lab import QUESTION, obliging, provider_lab

from rag_core import RECIPES, build
from rag_core.catalog import PromptText, describe_changes
from rag_core.catalog.address import LONGEST, from_address, to_address
from rag_core.lab.lab import Lab
from rag_core.prompts.prompt import ANSWER, JUDGE_PASSAGE
from rag_core.sessions.saved import parse_session, session_json
from rag_core.values.errors import ConfigError

MINE = {"system": "You are terse.", "text": "Q: {question}\n{sources}"}
REWRITE = {"system": "You are terse.", "text": "Q: {question}"}
BASE = {  # settings in which each prompt is sent
    "transform_prompt": {"transform": True, "enriched": False},
    "analysis_prompt": {"dynamic_analysis": "model", "theta": 0},
    "judge_prompt": {"theta": 0},
    "answer_prompt": {},
    "hyde_prompt": {},
}
PROMPTS = [
    (name, control)
    for name, recipe in RECIPES.items()
    for control in recipe.controls
    if isinstance(control, PromptText) and name != "question_index"  # no questions are known here
]
every_prompt = pytest.mark.parametrize(
    ("name", "control"), PROMPTS, ids=[f"{name}.{control.name}" for name, control in PROMPTS]
)


@pytest.fixture
def asking(server: OpenAIServer, read_only_store, embedder, labels) -> Lab:
    def oblige(body):  # by what is in a prompt, since its template is ours to edit
        user = body["messages"][1]["content"]
        if body["messages"][0]["content"] != MINE["system"]:
            return obliging(body)
        judged = '{"reason": "Yes.", "score": 90, "form": "sentence", "question": ""}'
        usual = obliging({"messages": [{"content": ""}, {"content": ""}]})
        return type(usual)(judged if user.count("<source") == 1 else usual.text)

    server.choose = oblige
    return provider_lab(server, read_only_store, embedder, labels, openai_api_key="sk-0123456789abcdef")


def own(control: PromptText) -> dict[str, str]:
    return MINE if "sources" in control.fills.needed else REWRITE


def sent(server: OpenAIServer) -> list[list[tuple[str, str]]]:
    return [request.messages for request in server.requests]


@every_prompt
def test_what_is_edited_is_what_the_server_receives(asking, server, name, control):
    base = BASE[control.name] | ({"enriched": False} if name == "contextual" else {})
    asking.run(QUESTION, (name, base))
    assert not any(system == MINE["system"] for (_, system), _ in sent(server))
    server.requests.clear()
    asking.run(QUESTION, (name, base | {control.name: own(control)}))
    edited = [user for (_, system), (_, user) in sent(server) if system == MINE["system"]]
    assert edited
    assert all(user.startswith(f"Q: {QUESTION}") for user in edited)


def test_a_changed_answer_prompt_writes_only_the_answer_again(asking, server):
    first = asking.run(QUESTION, ("rag_msr", {"theta": 0}))
    server.requests.clear()
    again = asking.what_if(first, answer_prompt=MINE)
    assert [request.messages[0] for request in server.requests] == [("system", MINE["system"])]
    assert [step.reused for step in again.steps] == [True] * (len(again.steps) - 1) + [False]
    assert again.fingerprint != first.fingerprint
    assert again.controls["answer_prompt"] == MINE


@every_prompt
def test_a_bad_template_is_refused_with_what_is_wrong(name, control):
    needed = " ".join(f"{{{field}}}" for field in control.fills.needed)
    for texts, says in [
        ({"text": "  "}, "is empty"),
        ({"text": "Say something."}, "is missing {question}"),
        ({"text": f"{needed} {{tone}}"}, "has {tone}, which"),
        ({"text": f"{needed} {{question.__class__}}"}, "has {question.__class__}, which"),
        ({"system": "For {reader}", "text": needed}, "the system message"),
        ({"text": needed + "x" * 2000}, "characters"),
    ]:
        with pytest.raises(ConfigError) as refused:
            build((name, {control.name: texts}))
        assert says in refused.value.message
        assert refused.value.next_step


def test_a_prompt_is_written_as_text_json_or_name():
    (control,) = (one for one in RECIPES["bm25"].controls if one.name == "answer_prompt")
    text = "{question}\n{sources}"
    assert control.parse("answer") is ANSWER
    assert control.parse(text).text == text
    assert control.parse(text).system == ANSWER.system
    assert control.parse(json.dumps(MINE)) == control.parse(MINE)
    assert control.parse({"text": ANSWER.text, "system": ANSWER.system}) is ANSWER
    assert 'Reply {"a": 1}' in control.parse(f'Reply {{"a": 1}} {text}').text
    with pytest.raises(ConfigError, match="must be a text"):
        control.parse(3)


def test_the_chip_names_the_prompt_and_not_its_text():
    assert describe_changes(("hyde", {"answer_prompt": MINE, "hyde_prompt": REWRITE})) == (
        "hypothetical passage prompt, answer prompt"
    )


def test_a_long_prompt_comes_back_from_an_address_and_from_a_saved_session(asking):
    long = {"system": ANSWER.system, "text": "{question}\n{sources}\n" + " ".join(map(str, range(400)))}
    strategy = build(("hyde", {"answer_prompt": long}))
    written = to_address([strategy, build("bm25")])
    (packed,) = written["1.answer_prompt"]
    assert len(packed) < len(long["text"]) + len(long["system"])
    found = from_address(written, ("bm25", "bm25"))
    assert found.problems == ()
    assert found.columns[0].strategy.controls["answer_prompt"] == long
    (saved,) = parse_session(session_json([asking.run(QUESTION, strategy)]))
    assert build((saved.strategy, saved.controls)).fingerprint == strategy.fingerprint


def test_what_an_address_cannot_take_is_named_in_it():
    random = "".join(chr(0x4E00 + (n * 7919) % 20_000) for n in range(1900))  # hardly compressible
    long = {"system": random, "text": f"{{question}}\n{{sources}}\n{random}"[:2000]}
    written = to_address([build(("bm25", {"answer_prompt": long, "k1": 1.2}))] * 2)
    assert sum(len(value) for values in written.values() for value in values) < LONGEST
    assert written["left"]
    found = from_address(written, ("bm25", "bm25"))
    assert found.columns[0].strategy.controls["k1"] == 1.2
    assert f"{written['left'][0]} was too long for an address; its default is used." in found.problems


@pytest.mark.parametrize("value", ["z.", "z.AAAA", "z.%%%", "z.ñ"])
def test_a_damaged_address_is_a_named_problem(value):
    found = from_address({"s": ["bm25"], "1.answer_prompt": [value]}, ("bm25", "bm25"))
    assert found.columns[0].strategy == build("bm25")
    (problem,) = found.problems
    assert "cannot be read" in problem


def test_the_offline_engine_warns_that_it_cannot_read_a_changed_system_message(lab):
    trace = lab.run("When is anti-D given?", ("bm25", {"answer_prompt": {"system": "Be terse."}}))
    assert any("cannot read your prompt 'answer'" in one for one in trace.warnings)
    assert trace.answer.text == lab.run("When is anti-D given?", "bm25").answer.text


def test_a_rewriting_templates_system_message_can_be_changed_too(asking, server):
    own = {"name": "mine", "text": "Q: {question}", "system": "You are terse."}
    trace = asking.run(QUESTION, ("rag_msr", {"original_templates": ["paraphrasing", own], "theta": 0}))
    assert trace.controls["original_templates"] == ["paraphrasing", own]
    assert [("system", "You are terse."), ("user", f"Q: {QUESTION}")] in sent(server)
    assert JUDGE_PASSAGE.name not in trace.controls["original_templates"]
