"""The stages that write queries: what they ask for, what drops out, what is searched with."""

import math
import threading
from dataclasses import replace

import pytest
from helpers.fakes import Told, refused, talker
from helpers.looping import for_each
from helpers.plane import Plane, context, unit

from rag_core.catalog import build
from rag_core.pipeline.strategy import Strategy
from rag_core.prompts.prompt import Prompt
from rag_core.prompts.templates import (
    HYPOTHETICAL,
    MULTI_QUERY,
    ORIGINAL,
    SYNONYMS,
    TRANSFORM,
    Form,
    custom_template,
)
from rag_core.runtime.context import Context
from rag_core.stages import (
    AnalyseQuery,
    AnalyseQueryByLlm,
    Dense,
    Generate,
    Hyde,
    Rephrase,
    Retrieve,
    Rewrite,
    WeightedFusion,
)
from rag_core.stages.transform import cleaned
from rag_core.values.errors import ConfigError, ProviderError, StageError, Stopped
from rag_core.values.types import Query

QUESTION = Query("Do cats sleep?")
PLAIN = {"standalone": "When do cats sleep?", "synonyms": "Feline rest", "expanded": "Cats, sleep and food"}
SECONDS = 20  # to wait for what must come; nothing waits this long when it does


def with_llm(ctx: Context, llm: Told) -> Context:
    return Context(replace(ctx.services, llms={"rewrite": llm}))


def rewritten(ctx: Context, replies: dict, question: Query = QUESTION) -> tuple[tuple[Query, ...], list[str]]:
    """The queries and the warnings of the three templates of the seed."""
    asked = with_llm(ctx, Told(replies))
    return Rewrite(MULTI_QUERY).rewrite(question, asked), asked.meter.warnings


class TestRewrite:
    def test_one_query_and_bill_per_template_in_its_place_and_not_the_question(self, ctx):
        asked = with_llm(ctx, Told(PLAIN))
        queries = Rewrite(MULTI_QUERY).rewrite(QUESTION, asked)
        assert [(query.text, query.origin, query.template_index, query.weight) for query in queries] == [
            ("When do cats sleep?", "standalone", 0, 1.0),
            ("Feline rest", "synonyms", 1, 1.0),
            ("Cats, sleep and food", "expanded", 2, 1.0),
        ]
        assert asked.meter.warnings == []
        assert [(call.purpose, call.input_tokens) for call in asked.meter.calls] == [("rewrite", 100)] * 3

    def test_the_question_can_be_kept_and_comes_first(self, ctx):
        stage = Rewrite(MULTI_QUERY, keep_question=True)
        repeated = {**PLAIN, "synonyms": "do cats sleep?"}
        queries = stage.rewrite(QUESTION, with_llm(ctx, Told(repeated)))
        assert [query.origin for query in queries] == ["question", "standalone", "expanded"]

    def test_the_kept_question_remains_when_all_rewrites_fail(self, ctx):
        asked = with_llm(ctx, Told(dict.fromkeys(PLAIN, refused())))
        assert Rewrite(MULTI_QUERY, keep_question=True).rewrite(QUESTION, asked) == (QUESTION,)
        assert len(asked.meter.warnings) == 3

    def test_the_calls_are_made_at_the_same_time(self, ctx):
        meeting = threading.Barrier(3)

        def together(prompt: Prompt) -> str:
            meeting.wait(timeout=SECONDS)
            return PLAIN[prompt.template.name]

        queries, _ = rewritten(ctx, dict.fromkeys(PLAIN, together))
        assert [query.text for query in queries] == list(PLAIN.values())

    @pytest.mark.parametrize(
        ("template", "reply", "why"),
        [
            ("synonyms", "“WHEN do cats sleep?”", "is the same as 'standalone' and was left out."),
            ("standalone", refused("It is down."), "failed and was left out: It is down. Try again."),
            *(
                ("expanded", empty, "failed and was left out: the reply was empty. Try again.")
                for empty in ("", " \n ", '""', "New wording: ")
            ),
        ],
    )
    def test_a_repeated_failed_or_empty_one_drops_out_and_the_others_keep_their_places(self, ctx, template, reply, why):
        queries, warnings = rewritten(ctx, {**PLAIN, template: reply})
        left = [(name, place) for place, name in enumerate(PLAIN) if name != template]
        assert [(query.origin, query.template_index) for query in queries] == left
        assert warnings == [f"Rewrite {template!r} {why}"]

    def test_when_all_fail_the_run_fails_with_the_first_reason(self, ctx):
        failing = {"standalone": refused("No quota."), "synonyms": refused("No model."), "expanded": ""}
        strategy = Strategy("mine", (Rewrite(MULTI_QUERY), Retrieve((Dense(),)), WeightedFusion("equal"), Generate()))
        with pytest.raises(StageError) as failed:
            strategy.run("Do cats sleep?", with_llm(ctx, Told(failing)).services)
        assert isinstance(failed.value.__cause__, ProviderError)
        assert "all 3 rewrites failed: No quota." in failed.value.message
        # the empty reply was sent and is billed; a refused one has no bill
        assert [call.purpose for call in failed.value.calls] == ["rewrite"]

    def test_without_a_template_there_is_no_stage(self):
        with pytest.raises(ConfigError, match="Rewrite: there are no templates"):
            Rewrite(())

    def test_a_rewrite_that_loses_a_fact_is_used_and_warned_of(self, ctx):
        question = Query("Can I take ibuprofen at 34 weeks?")
        kept = "Is ibuprofen safe at 34 weeks?"
        queries, warnings = rewritten(
            ctx,
            {"standalone": kept, "synonyms": "Painkillers in pregnancy", "expanded": f"{kept} Risks"},
            question,
        )
        assert [query.note for query in queries] == [
            "", "lost from the question: ibuprofen, 34 weeks", "",
        ]  # fmt: skip
        assert warnings == ["Rewrite 'synonyms' lost from the question: ibuprofen, 34 weeks."]

    def test_a_medicine_under_another_of_its_names_is_not_lost(self, lab):
        """The lab's thesaurus knows that acetaminophen is paracetamol; ibuprofen is another medicine."""
        asked = with_llm(
            Context(lab.services()),
            Told({"standalone": "Is paracetamol safe?", "synonyms": "Is ibuprofen safe?"}),
        )
        queries = Rewrite(MULTI_QUERY[:2]).rewrite(Query("Can I take acetaminophen?"), asked)
        assert [query.note for query in queries] == ["", "lost from the question: acetaminophen"]
        assert asked.meter.warnings == ["Rewrite 'synonyms' lost from the question: acetaminophen."]

    def test_the_offline_engine_says_which_templates_it_cannot_read(self, ctx):
        mine = custom_template("mine", "Ask {question}")
        edited = custom_template("standalone", "Alone: {question}")
        llm = Told({"mine": "One", "standalone": "Two", "synonyms": "Three"}, offline=True)
        asked = with_llm(ctx, llm)
        Rewrite((mine, edited, SYNONYMS)).rewrite(QUESTION, asked)
        assert asked.meter.warnings == [
            "The offline engine cannot read your template 'mine' and used synonyms instead.",
            "The offline engine cannot read your template 'standalone' and used the built-in one of this name instead.",
        ]

    def test_a_language_model_reads_them(self, ctx):
        asked = with_llm(ctx, Told({"mine": "One"}))
        Rewrite((custom_template("mine", "Ask {question}"),)).rewrite(QUESTION, asked)
        assert asked.meter.warnings == []

    @for_each(
        ("reply", "text"),
        [
            ("  When do\n cats  sleep?\n", "When do cats sleep?"),
            ('"When do cats sleep?"', "When do cats sleep?"),
            ("«¿Cuándo duermen los gatos?»", "¿Cuándo duermen los gatos?"),
            ("Standalone question: When do cats sleep?", "When do cats sleep?"),
            ("**New wording:** When do cats sleep?", "When do cats sleep?"),
            ('Rephrased question: "When do cats sleep?"', "When do cats sleep?"),
            ("Here is the rephrased question: When do cats sleep?", "When do cats sleep?"),
            ("Complication-focused question: What can go wrong?", "What can go wrong?"),
            ("Pregunta reformulada: ¿Cuándo duermen?", "¿Cuándo duermen?"),
            ("Reformulación: ¿Cuándo duermen?", "¿Cuándo duermen?"),
            ("Cats: when do they sleep?", "Cats: when do they sleep?"),
            ("Is one question enough: yes or no?", "Is one question enough: yes or no?"),
            ("Open question: is it safe?", "Open question: is it safe?"),
            ("", ""),
        ],
    )
    def test_a_reply_is_cleaned_of_labels_and_quotation_marks(self, reply, text):
        assert cleaned(reply) == text


class TestForm:
    @pytest.mark.parametrize(
        ("question", "form", "reason"),
        [
            ("Do cats sleep?", "sentence", "full sentence: contains “do”"),
            (
                "cats night sleep",
                "keywords",
                "keywords: 3 words, with no question word, pronoun or verb form",
            ),
            ("¿Dónde duermen los gatos?", "sentence", "full sentence: contains “dónde”"),
            ("gatos noche", "keywords", "keywords: 2 words"),
        ],
    )
    def test_the_decision_and_its_reason_are_in_the_query(self, ctx, question, form, reason):
        (query,) = AnalyseQuery().rewrite(Query(question), ctx)
        assert query == Query(question, form=form, note=reason)

    @pytest.mark.parametrize("question", ["Do cats sleep?", "cats sleep", "¿Duermen?"])
    def test_the_decision_reaches_the_model_and_the_rewrites(self, ctx, question):
        llm = talker()
        (analysed,) = AnalyseQuery().rewrite(Query(question), ctx)
        queries = Rewrite(ORIGINAL).rewrite(analysed, with_llm(ctx, llm))
        assert {prompt.fields["form"] for prompt in llm.prompts} == {Form(analysed.form)}
        assert all(f"Form of the question: {analysed.form}." in prompt.render() for prompt in llm.prompts)
        assert {query.form for query in queries} == {analysed.form}

    def test_without_an_analysis_the_prompt_says_nothing_about_the_form(self, ctx):
        llm = talker()
        queries = Rewrite(ORIGINAL).rewrite(Query("cats sleep"), with_llm(ctx, llm))
        wanted = [template.text.format(question="cats sleep", form="") for template in ORIGINAL]
        assert sorted(prompt.render() for prompt in llm.prompts) == sorted(wanted)  # sent side by side
        assert {query.form for query in queries} == {""}


def analysed(ctx: Context, question: str, reply: object) -> tuple[Query, list[str], Told]:
    """What the analysis by the model makes of a question, its warnings, and the model that was asked."""
    llm = Told({"analysis": reply})
    asked = with_llm(ctx, llm)
    (query,) = AnalyseQueryByLlm().rewrite(Query(question), asked)
    return query, asked.meter.warnings, llm


class TestAnalysisByTheModel:
    """As RAG-MSR does it: the model says whether the question is keywords, and makes a full question of them."""

    def test_keywords_become_the_full_question_the_model_wrote(self, ctx):
        full = "What should cats eat at 12 weeks?"
        query, warnings, llm = analysed(ctx, "cats food 12 weeks", f'{{"form": "keywords", "question": "{full}"}}')
        assert (query.text, query.origin, query.form) == (full, "analysis", "sentence")
        assert query.note == f"keywords, according to told; expanded to: {full}"
        assert warnings == []
        assert [prompt.purpose for prompt in llm.prompts] == ["rewrite"]

    def test_a_sentence_stands_as_it_was_asked(self, ctx):
        query, warnings, _ = analysed(ctx, "Do cats sleep?", '{"form": "sentence", "question": "Cats?"}')
        assert query == Query("Do cats sleep?", form="sentence", note="full sentence, according to told")
        assert warnings == []

    def test_the_rules_are_applied_to_the_full_question(self, ctx):
        full = "Where do cats sleep at night?"
        query, _, _ = analysed(ctx, "cats sleep", f'{{"form": "keywords", "question": "{full}"}}')
        llm = talker()
        Rewrite(ORIGINAL).rewrite(query, with_llm(ctx, llm))
        assert all(f"Question: {full}\n" in prompt.render() for prompt in llm.prompts)
        assert all("Form of the question: sentence." in prompt.render() for prompt in llm.prompts)

    def test_a_number_it_lost_is_warned_of(self, ctx):
        reply = '{"form": "keywords", "question": "What should young cats eat?"}'
        query, warnings, _ = analysed(ctx, "cats food 12 weeks", reply)
        assert "lost from the question: 12 weeks" in query.note
        assert warnings == ["Rewrite 'analysis' lost from the question: 12 weeks."]

    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            ("It is keywords.", "the reply was malformed: it holds no JSON object"),
            ('{"form": "keyword", "question": "Q?"}', "the reply was malformed: form: Input should be"),
            ('{"form": "sentence"}', "the reply was malformed: question: Field required; it was “{"),
            (
                '{"form": "sentence", "question": "", "why": "x"}',
                "the reply was malformed: why: Extra inputs are not permitted",
            ),
            ('{"form": "keywords", "question": " "}', "the reply was malformed: it has no question for the"),
            (refused("The provider refused."), "The provider refused)."),
        ],
    )
    def test_when_it_fails_the_rules_decide_and_the_warning_says_why(self, ctx, reply, why):
        query, (warning,), llm = analysed(ctx, "cats sleep", reply)
        assert query == AnalyseQuery().rewrite(Query("cats sleep"), ctx)[0]
        assert warning.startswith(f"Query analysis by the model failed, so rules were used instead ({why}")
        assert len(llm.prompts) == 1

    @pytest.mark.parametrize("stage", [AnalyseQueryByLlm(), Rephrase()])
    def test_a_stopped_run_is_no_failure_to_go_on_from(self, ctx, stage):
        with pytest.raises(Stopped):
            stage.rewrite(QUESTION, with_llm(ctx, Told({"analysis": Stopped(), "transform": Stopped()})))


class TestRephrase:
    def test_the_rewrite_stands_in_place_of_the_question(self, ctx):
        asked = with_llm(ctx, Told({"transform": "Feline sleep"}))
        assert Rephrase().rewrite(QUESTION, asked) == (Query("Feline sleep", TRANSFORM.name),)
        assert asked.meter.warnings == []

    @pytest.mark.parametrize("failing", [refused("The provider is down."), ""])
    def test_when_it_fails_the_question_is_searched_as_it_stands_with_a_warning(self, ctx, failing):
        asked = with_llm(ctx, Told({"transform": failing}))
        assert Rephrase().rewrite(QUESTION, asked) == (QUESTION,)
        (warning,) = asked.meter.warnings
        assert warning.startswith("Rewrite 'transform' failed and was left out: ")


class TestHypothesise:
    @pytest.mark.parametrize(
        ("include", "degrees"),
        [(False, 90.0), (True, 45.0)],
        ids=["the passage alone", "the mean of passage and question"],
    )
    def test_it_is_searched_with_the_passage_or_the_normalised_mean(self, include, degrees):
        plane = Plane(question=0, answer=90)
        ctx = with_llm(context(plane), Told({"hypothetical": "answer"}))
        strategy = Strategy("mine", (Hyde(include), Retrieve((Dense(k=1),))))
        trace = strategy.run("question", ctx.services)
        (query,) = trace.final.queries
        assert (query.text, query.origin, query.passages) == ("answer", "hypothetical", ("answer",))
        assert query.question_text == ("question" if include else "")
        ((searched, _),) = plane.searched
        # the mean of (0, 1) and (1, 0) is (1/2, 1/2), of length 1/√2: normalised (1/√2, 1/√2), at 45°
        assert searched == pytest.approx(unit(degrees), abs=1e-6)
        if include:
            assert searched == pytest.approx((1 / math.sqrt(2),) * 2, abs=1e-6)
        assert plane.kinds == [("passage", ("answer",)), *([("query", ("question",))] if include else [])]

    @pytest.mark.parametrize(
        ("reply", "says"),
        [*(dict.fromkeys(("", "\n  "), "wrote no hypothetical passage").items()), (refused("No quota."), "No quota")],
    )  # fmt: skip
    def test_an_empty_passage_or_a_failure_is_an_error_and_no_search(self, ctx, reply, says):
        with pytest.raises(ProviderError, match=says):
            Hyde().rewrite(QUESTION, with_llm(ctx, Told({"hypothetical": reply})))

    def test_several_are_averaged_with_the_question(self):
        """(f(d1) + f(d2) + f(d3) + f(q)) / 4, with N = 3 passages (Gao et al. 2023, section 3.2)."""
        plane = Plane(question=0, one=90, two=90, three=180)
        llm = Told({"hypothetical": ("one", "two", "three")})
        ctx = with_llm(context(plane), llm)
        ctx = replace(ctx, services=replace(ctx.services, workers=1))  # the replies in their order
        trace = Strategy("mine", (Hyde(samples=3), Retrieve((Dense(k=1),)))).run("question", ctx.services)
        (query,) = trace.final.queries
        assert (query.text, query.passages) == ("one two three", ("one", "two", "three"))
        ((searched, _),) = plane.searched
        # ((0, 1) + (0, 1) + (-1, 0) + (1, 0)) / 4 = (0, 1/2), normalised (0, 1)
        assert searched == pytest.approx((0.0, 1.0), abs=1e-6)
        assert plane.kinds == [("passage", ("one", "two", "three")), ("query", ("question",))]

    def test_failed_ones_drop_out_of_the_mean_with_a_warning(self):
        plane = Plane(question=0, one=90, three=180)
        llm = Told({"hypothetical": ("one", refused("No quota."), "three")})
        ctx = with_llm(context(plane), llm)
        ctx = replace(ctx, services=replace(ctx.services, workers=1))
        strategy = Strategy("mine", (Hyde(include_question=False, samples=3), Retrieve((Dense(k=1),))))
        trace = strategy.run("question", ctx.services)
        assert trace.final.queries[0].passages == ("one", "three")
        # ((0, 1) + (-1, 0)) / 2 = (-1/2, 1/2), of length 1/√2: normalised (-1/√2, 1/√2), at 135°
        assert plane.searched[0][0] == pytest.approx((-1 / math.sqrt(2), 1 / math.sqrt(2)), abs=1e-6)
        (warning,) = (one for one in trace.warnings if "hypotheses" in one)
        assert warning.startswith("2 of 3 hypotheses: the others failed and were left out: No quota.")

    def test_they_are_written_at_the_same_time(self, ctx):
        together = threading.Barrier(3, timeout=20)
        llm = Told({"hypothetical": lambda prompt: f"passage {together.wait() * 0 + prompt.sample}"})
        (query,) = Hyde(samples=3).rewrite(QUESTION, with_llm(ctx, llm))
        assert query.passages == ("passage 0", "passage 1", "passage 2")

    def test_one_is_the_strategy_it_was_before_there_could_be_several(self):
        assert repr(Hyde()) == f"Hyde(include_question=True, template={HYPOTHETICAL!r})"
        assert repr(Hyde(samples=2)) != repr(Hyde())

    def test_the_passage_is_searched_in_one_line(self, ctx):
        asked = with_llm(ctx, Told({"hypothetical": " Cats sleep.\n\nThey dream. "}))
        (query,) = Hyde().rewrite(QUESTION, asked)
        assert query.passages == ("Cats sleep. They dream.",)


def test_the_answer_is_about_the_users_question_and_not_a_rewrite(full):
    llm = talker()
    for strategy in ("hyde", "multi_query", "rag_msr"):
        build(strategy).run("Do cats sleep?", replace(full, llms=dict.fromkeys(full.llms, llm)))
    asked = [prompt for prompt in llm.prompts if prompt.purpose != "rewrite"]
    assert {prompt.fields["question"] for prompt in asked} == {"Do cats sleep?"}
