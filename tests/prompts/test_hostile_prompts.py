"""Any question and any template give a prompt or a named refusal: never a traceback, never more than the limits."""

from __future__ import annotations

import functools

from helpers.fakes import talker
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag_core.catalog import build
from rag_core.language.questions import MAX_QUESTION, check_question
from rag_core.prompts.prompt import ANSWER, Sources, contexts_in
from rag_core.prompts.templates import MAX_TEMPLATE, custom_template
from rag_core.stages import Rewrite
from rag_core.testing import sample_context, sample_services
from rag_core.values.errors import ConfigError, InputError
from rag_core.values.types import Query

ANY = st.characters(exclude_categories=())  # lone surrogates too
TEXT = st.text(ANY | st.sampled_from("{}[]<>&#%$\\\"'\x1b\u202e 0?aá"), max_size=60)
TEMPLATE = st.lists(
    st.sampled_from(
        ["{question}", "{form}", "{{", "}}", "{", "}", "{0}", "{question!r}", "{question.x}", "%s", "\n"]
    )
    | TEXT,
    max_size=6,
).map("".join)
any_text = functools.partial(settings, derandomize=True, deadline=None)


@any_text(max_examples=300)
@given(TEXT)
@example("a" * (MAX_QUESTION + 1))
@example("\ud800?")
@example("&#" + "9" * 1000 + ";")
def test_any_question_is_asked_as_one_line_or_refused_with_a_reason(question):
    try:
        asked = check_question(question)
    except InputError:  # named
        return
    assert len(asked) <= MAX_QUESTION
    prompt = ANSWER.fill(question=asked, sources=Sources(())).render()
    assert prompt.encode()
    assert contexts_in(prompt) == [], "no question adds a source"


@any_text(max_examples=300)
@given(TEXT, TEMPLATE)
@example("mine", "a" * (MAX_TEMPLATE + 1))
@example("mine", "{question" + "}" * 1000)
def test_any_template_is_filled_or_refused_with_a_reason(name, text):
    try:
        template = custom_template(name, text)
        rewrite = Rewrite((template,))
    except ConfigError:  # named
        return
    assert len(template.text) <= MAX_TEMPLATE
    ctx = sample_context(sample_services(llm=talker(**{template.name: "cats sleep"})))
    (query,) = rewrite.rewrite(Query("Do cats {sleep} at %s night?"), ctx)
    assert query.text == "cats sleep"


@any_text(max_examples=100)
@given(
    st.recursive(
        TEXT | TEMPLATE | st.none() | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "text", "x"]), inner)
        ),
        max_leaves=5,
    )
)
def test_any_value_of_the_templates_control_builds_a_strategy_or_is_refused(value):
    try:
        built = build(("multi_query", {"templates": value}))
    except ConfigError:  # named
        return
    assert built.stages
