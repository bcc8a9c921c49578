from collections.abc import Callable
from dataclasses import replace

import pytest

from rag_core.prompts.prompt import ANSWER, JUDGE_PASSAGE, Template
from rag_core.prompts.templates import ANALYSIS, HYPOTHETICAL, STANDALONE, SYNONYMS, TRANSFORM
from rag_core.stages import AnalyseQueryByLlm, Generate, Hyde, LlmRerank, Rephrase, Rewrite, Stage
from rag_core.values.errors import ConfigError

TEMPLATED: list[tuple[Callable[[Template], Stage], Template]] = [
    (Generate, ANSWER),
    (LlmRerank, JUDGE_PASSAGE),
    (lambda template: Hyde(template=template), HYPOTHETICAL),
    (AnalyseQueryByLlm, ANALYSIS),
    (lambda template: Rewrite((STANDALONE, template)), SYNONYMS),
    (lambda template: Rephrase((template,)), TRANSFORM),
]
every_template = pytest.mark.parametrize(
    ("make", "ready"), TEMPLATED, ids=[ready.name for _, ready in TEMPLATED]
)


@every_template
def test_a_template_without_a_field_its_stage_fills_is_refused_when_the_stage_is_built(make, ready):
    name = make(ready).name
    with pytest.raises(ConfigError) as refused:
        make(replace(ready, name="mine", text=ready.text.replace("{question}", "it")))
    assert refused.value.message == f"{name}: template 'mine' is missing {{question}}."
    assert refused.value.next_step.startswith("The text needs {question}")


@every_template
def test_a_template_with_a_field_nothing_fills_is_refused_too(make, ready):
    name = make(ready).name
    with pytest.raises(ConfigError) as refused:
        make(replace(ready, name="mine", text=f"{ready.text} {{context}}"))
    assert refused.value.message == f"{name}: template 'mine' has {{context}}, which {name} does not fill."


def test_optional_fields_and_doubled_braces_are_accepted():
    LlmRerank(replace(JUDGE_PASSAGE, text="{question} {sources}"))
    Rewrite((replace(SYNONYMS, text='{question}{form} as {{"json"}} or {{json}}'),))
