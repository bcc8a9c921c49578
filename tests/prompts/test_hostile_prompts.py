"""Any question and any template give a prompt or a named refusal: never a traceback, never more than the limits."""

from helpers import fuzzing_text
from helpers.looping import fuzzed
from hypothesis import example, given

from rag_core.language.questions import MAX_QUESTION
from rag_core.prompts.templates import MAX_TEMPLATE


@fuzzed(300)
@given(fuzzing_text.questions)
@example("a" * (MAX_QUESTION + 1))
@example("\ud800?")
@example("&#" + "9" * 1000 + ";")
def test_any_question_is_asked_as_one_line_or_refused_with_a_reason(question):
    fuzzing_text.check_asked(question)


@fuzzed(300)
@given(fuzzing_text.templates)
@example(("mine", "a" * (MAX_TEMPLATE + 1)))
@example(("mine", "{question" + "}" * 1000))
def test_any_template_is_filled_or_refused_with_a_reason(template):
    fuzzing_text.check_template(*template)


@fuzzed(100)
@given(fuzzing_text.templates_controls)
def test_any_value_of_the_templates_control_builds_a_strategy_or_is_refused(value):
    fuzzing_text.check_templates_control(value)
