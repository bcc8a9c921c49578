from dataclasses import replace

import pytest
from helpers.controls import every_recipe
from helpers.fakes import QUESTION

from rag_core.explain import answer_without
from rag_core.values.errors import ConfigError


@every_recipe
def test_only_the_answer_runs_again_from_the_other_passages(full, recipe):
    trace = recipe.build().run(QUESTION, full)
    first, *others = trace.ranking.hits
    changed = answer_without(trace, [first.id], full)
    assert [hit.id for hit in changed.ranking] == [hit.id for hit in others]
    assert [step.stage for step in changed.steps] == [
        *(step.stage for step in trace.steps[:-1]), "LeaveOut", trace.steps[-1].stage,
    ]  # fmt: skip
    assert [step.reused for step in changed.steps] == [*(True for _ in trace.steps[:-1]), False, False]
    assert first.id not in {one.context_id for one in changed.answer.citations}


def test_an_answer_that_did_not_quote_it_stays_and_without_any_passage_there_is_none(lab):
    trace = lab.run("When is anti-D given?", "bm25")
    cited = {one.context_id for one in trace.answer.citations}
    quoted = [hit.id for hit in trace.ranking if hit.id in cited]
    unquoted = [hit.id for hit in trace.ranking if hit.id not in cited]
    assert lab.without(trace, "nothing of this name").answer.text == trace.answer.text
    assert lab.without(trace, *quoted).answer.text != trace.answer.text
    assert lab.without(trace, *quoted, *unquoted).answer.abstained


def test_a_trace_of_other_models_is_refused(full, lab):
    trace = lab.run("When is anti-D given?", "bm25")
    with pytest.raises(ConfigError, match="have changed since"):
        answer_without(trace, [], replace(full, index=full.index))
