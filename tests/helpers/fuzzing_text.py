"""Replies, scores, settings, questions and templates made at random, and what must be true of every one of them."""

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from rag_core.catalog import build
from rag_core.language.questions import MAX_QUESTION, check_question
from rag_core.models.llm import load_openai
from rag_core.models.reply import MAX_REPLY, MAX_TOKENS, Reply, token_count
from rag_core.prompts.prompt import ANSWER, JUDGE_PASSAGE, Prompt, Sources, Urgency, contexts_in
from rag_core.prompts.templates import MAX_TEMPLATE, custom_template
from rag_core.safety.urgency.triage import triage
from rag_core.stages import LlmRerank, Rewrite
from rag_core.testing import ranking_of, sample_context, sample_services
from rag_core.values.errors import ConfigError, InputError, ProviderError, RagError
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings, read_settings
from rag_core.values.types import ModelCall, Query

from . import behaviours
from .fakes import Told, talker
from .openai_server import OpenAIServer
from .provider_calls import PROMPT, never

CUT = ("length", "content_filter", "MAX_TOKENS", "odd error {reason}\x1b[2J")
NAMES = tuple("abcdefgh")

_any = st.characters(exclude_categories=())  # lone surrogates too
_text = st.text(_any | st.sampled_from("{}[]<>&#%$\\\"'\x1b\u202e 0?aá"), max_size=60)
_template = st.lists(
    st.sampled_from(["{question}", "{form}", "{{", "}}", "{", "}", "{0}", "{question!r}", "{question.x}", "%s", "\n"])
    | _text,
    max_size=6,
).map("".join)
_scalars = st.none() | st.booleans() | st.integers() | st.floats()
_keys = st.sampled_from(sorted(Settings.model_fields)) | st.text(string.ascii_letters + "_.", min_size=1, max_size=12)

questions = _text
templates = st.tuples(_text, _template)
templates_controls = st.recursive(
    _text | _template | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "text", "x"]), inner),
    max_leaves=5,
)
usages = st.recursive(
    _scalars | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens"]) | st.text(max_size=5),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
pieces = st.lists(st.text(_any), max_size=6)
replies = st.tuples(
    st.text(_any | st.sampled_from("[]0123456789&#;{}\\ .")),
    st.sampled_from(["stop", *CUT]),
    usages.map(json.dumps),
)
scores = st.lists(_scalars | st.text(max_size=5), min_size=1, max_size=8)
toml_rows = st.dictionaries(_keys, _scalars | st.text(max_size=30), max_size=4)
toml_bytes = st.binary(max_size=80) | st.text("[]{}=\"'.,\n#abc01-", max_size=80).map(str.encode)


def check_asked(question: str) -> None:
    """A question is asked as one line that adds no source, or refused with a reason."""
    try:
        asked = check_question(question)
    except InputError:  # named
        return
    assert len(asked) <= MAX_QUESTION
    prompt = ANSWER.fill(question=asked, sources=Sources(()), urgency=Urgency(triage(asked))).render()
    assert prompt.encode()
    assert contexts_in(prompt) == [], "no question adds a source"


def check_template(name: str, text: str) -> None:
    """A template is filled with any question, or refused with a reason."""
    try:
        template = custom_template(name, text)
        rewrite = Rewrite((template,))
    except ConfigError:  # named
        return
    assert len(template.text) <= MAX_TEMPLATE
    ctx = sample_context(sample_services(llm=talker(**{template.name: "cats sleep"})))
    (query,) = rewrite.rewrite(Query("Do cats {sleep} at %s night?"), ctx)
    assert query.text == "cats sleep"


def check_templates_control(value: object) -> None:
    """A value of the templates control builds a strategy, or is refused."""
    try:
        built = build(("multi_query", {"templates": value}))
    except ConfigError:  # named
        return
    assert built.stages


def check_count(value: object) -> None:
    """A count of tokens is a sane number or none."""
    count = token_count(value, 0)
    assert count is None or (type(count) is int and 0 <= count <= MAX_TOKENS)


def check_pieces(given: Sequence[str]) -> None:
    """The pieces of a reply are taken as valid text up to the limit, and none is lost."""
    reply = Reply(says_end=True)
    taken = "".join(reply.take(piece) for piece in given) + reply.take("", last=True)
    assert taken == reply.text
    assert len(taken) <= MAX_REPLY
    assert taken.encode() is not None
    joined = "".join(given).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert taken == joined[:MAX_REPLY]


def check_reply(server: OpenAIServer, prices: PriceList, text: str, finish: str, usage: str) -> None:
    """A server's reply is valid text or a failure, and billed once, at no less than nothing."""
    server.choose = lambda body: behaviours.Reply(text, usage=usage, finish=finish)
    bills = []
    try:
        for item in load_openai(Settings(openai_base_url=server.url, timeout=20), "gpt-4o", prices).stream(
            PROMPT, never
        ):
            if isinstance(item, ModelCall):
                bills.append(item)
            else:
                assert item.encode() is not None
    except ProviderError:
        pass
    assert [bill.input_tokens >= 0 and bill.cost_usd >= 0 for bill in bills] == [True]


def judged(given: Sequence[Any], template: Any = JUDGE_PASSAGE) -> tuple[list[float], list[str]]:
    """The scores of a pool as they are read, and the warnings."""
    by_text = dict(zip(NAMES, given, strict=False))

    def said(prompt: Prompt) -> str:
        (source,) = prompt.fields["sources"]
        return json.dumps({"reason": "Because.", "score": by_text[source.passage.text]})

    ctx = sample_context(sample_services(llm=Told({template.name: said})))
    found = ranking_of(dict.fromkeys(by_text, 0.5), query="Do cats purr?")
    hits = {hit.id: hit.score for hit in LlmRerank(template).rerank(found, ctx)}
    return [hits[name] for name in by_text], ctx.meter.warnings


def check_scores(given: Sequence[Any]) -> None:
    """A judge's scores give values from 0 to 1 in the same order, or a failure."""
    usable = all(type(score) in (int, float) and 0 <= score <= 100 for score in given)
    if not usable:
        try:
            found, _ = judged(given)
        except (RagError, KeyError):  # KeyError: a passage without a score was left out
            return
    else:
        found, _ = judged(given)
        assert sorted(range(len(found)), key=found.__getitem__) == sorted(range(len(given)), key=given.__getitem__)
    assert all(0 <= score <= 1 for score in found)


def _toml(value: object) -> str:
    if value is None:
        return "[]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(char):08x}" for char in value if not 0xD800 <= ord(char) < 0xE000) + '"'
    return repr(value)


def check_toml(folder: Path, content: bytes | dict[str, object]) -> None:
    """rag.toml in the working directory, `folder`, is read, or refused in one line."""
    if isinstance(content, dict):
        content = "".join(f"{name} = {_toml(value)}\n" for name, value in content.items()).encode()
    (folder / "rag.toml").write_bytes(content)
    said = ""
    try:
        assert isinstance(read_settings(), Settings)
    except ConfigError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 1000
    said.encode()
