import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import pytest
from helpers.fakes import Told
from helpers.looping import for_each
from helpers.small import python

from rag_core.catalog import RECIPES
from rag_core.pipeline.strategy import Strategy
from rag_core.prompts.prompt import ANSWER, Template
from rag_core.prompts.templates import custom_template
from rag_core.runtime.context import Context
from rag_core.stages import (
    AnalyseQuery,
    Blend,
    Bm25,
    Dense,
    Generate,
    Hyde,
    LlmRerank,
    MaxFusion,
    Mmr,
    ReciprocalRankFusion,
    Rephrase,
    Rerank,
    RerankStage,
    Retrieve,
    Rewrite,
    Stage,
    Threshold,
    Top,
    TransformStage,
    WeightedFusion,
)
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import ConfigError, ProviderError, StageError, Stopped
from rag_core.values.types import Hit, Query, Ranking

REWRITE = Template("test rewrite", "rewrite", "", "Reword: {text}")


@dataclass(frozen=True)
class Reword(TransformStage):
    """One query per text, as the model rewrites it, after the question itself."""

    texts: tuple[str, ...] = ("cats",)
    weight: float = 0.5

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        replies = ctx.complete_all([REWRITE.fill(text=text) for text in self.texts])
        return (question, *(Query(str(reply), self.name, self.weight) for reply in replies))


@dataclass(frozen=True)
class Replace(TransformStage):
    """One query instead of the question."""

    fans_out = False
    text: str = "dogs"

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        return (Query(self.text, self.name),)


@dataclass(frozen=True)
class Overlap(RerankStage):
    """Scores a passage by how many of its query's words it holds."""

    def rerank(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        wanted = ranking.query.text.lower().split()
        return [
            replace(
                hit,
                score=float(sum(word in hit.passage.text.lower() for word in wanted)),
                scale="cross_encoder",
            )
            for hit in ranking
        ]


@dataclass(frozen=True)
class Wrong(RerankStage):
    """Fails at the first hit."""

    def rerank(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        raise ValueError(f"no score for {ranking.hits[0].id[0]}")


@dataclass(frozen=True)
class Broken(TransformStage):
    error: Exception

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        raise self.error


# a model that says the prompt's text in capitals
UPPER = {REWRITE.name: lambda prompt: str(prompt.fields["text"]).upper()}

ONE = Retrieve((Dense(),))
TWO = Retrieve((Bm25(), Dense()))
WEIGHTS = (("bm25", 1.0), ("dense", 0.5))
BASE = (
    Retrieve((Bm25(k=4), Dense(k=4))),
    ReciprocalRankFusion(weights=WEIGHTS),
    Top(k=3),
    Mmr(k=2),
    Generate(),
)


@for_each(
    ("stages", "needs", "given"),
    [
        ((Generate(),), "Generate needs a ranking", "the question"),
        ((ReciprocalRankFusion(),), "ReciprocalRankFusion needs rankings", "the question"),
        ((Top(),), "Top needs a ranking or rankings", "the question"),
        ((Overlap(),), "Overlap needs a ranking or rankings", "the question"),
        ((TWO, Generate()), "Generate needs a ranking", "rankings"),
        ((Reword(), ONE, Generate()), "Generate needs a ranking", "rankings"),
        ((TWO, Top(), Overlap(), Generate()), "Generate needs a ranking", "rankings"),
        ((ONE, ReciprocalRankFusion()), "ReciprocalRankFusion needs rankings", "a ranking"),
        ((TWO, *[ReciprocalRankFusion()] * 2), "ReciprocalRankFusion needs rankings", "a ranking"),
        ((ONE, ONE), "Dense needs the question or queries", "a ranking"),
        ((TWO, TWO), "Bm25 ∥ Dense needs the question or queries", "rankings"),
        ((ONE, Reword()), "Reword needs the question", "a ranking"),
        ((Reword(), Reword()), "Reword needs the question", "queries"),
        ((Reword(), ReciprocalRankFusion()), "ReciprocalRankFusion needs rankings", "queries"),
        ((ONE, Generate(), Generate()), "Generate needs a ranking", "an answer"),
        ((ONE, Generate(), Top()), "Top needs a ranking or rankings", "an answer"),
    ],
)
def test_a_wrong_order_fails_when_built_and_names_both_sides(stages, needs, given):
    with pytest.raises(ConfigError) as refused:
        Strategy("mine", stages)
    assert refused.value.message == f"mine: {needs}, but the stages before it leave {given}."


@for_each(
    ("stages", "message"),
    [
        (
            (TWO, WeightedFusion()),
            "WeightedFusion needs cosine scores, but bm25 gives bm25 scores and dense gives cosine scores.",
        ),
        (
            (Reword(), Retrieve((Bm25(),)), WeightedFusion()),
            "WeightedFusion needs cosine scores, but bm25 gives bm25 scores.",
        ),
        (
            (Reword(), ONE, Rerank(), WeightedFusion()),
            "WeightedFusion needs cosine scores, but dense gives reranker scores.",
        ),
        (
            (TWO, MaxFusion()),
            "MaxFusion needs scores on one scale, but bm25 gives bm25 scores and dense gives cosine scores.",
        ),
        ((ONE, Blend(0.4)), "Blend weighs the judge's scores by 0.6, but no LlmRerank comes before it."),
        (
            (ONE, Blend(0.4), LlmRerank()),
            "Blend weighs the judge's scores by 0.6, but no LlmRerank comes before it.",
        ),
        (
            (TWO, ReciprocalRankFusion(), Threshold()),
            "Threshold needs cosine, judge, s_final scores, but ReciprocalRankFusion gives rrf scores.",
        ),
        (
            (Retrieve((Bm25(),)), Threshold()),
            "Threshold needs cosine, judge, s_final scores, but bm25 gives bm25 scores.",
        ),
        (
            (ONE, Rerank(), Threshold()),
            "Threshold needs cosine, judge, s_final scores, but dense gives reranker scores.",
        ),
        (
            (ONE, Mmr(), Threshold()),
            "Threshold needs cosine, judge, s_final scores, but dense gives mmr scores.",
        ),
        (
            (TWO, ReciprocalRankFusion(weights=(("bm52", 1.0),))),
            "ReciprocalRankFusion has a weight for bm52, but the retrievers before it are bm25, dense.",
        ),
        (
            (TWO, ReciprocalRankFusion(weights=(("bm25", 0.0), ("dense", 0.0)))),
            "ReciprocalRankFusion: the weights of bm25, dense are all 0.",
        ),
        (
            (Retrieve((Dense(), Dense(k=9))), ReciprocalRankFusion()),
            "Dense ∥ Dense: two retrievers have the same name: dense plain, dense plain.",
        ),
    ],
    ids=lambda value: " > ".join(stage.name for stage in value) if isinstance(value, tuple) else "",
)
def test_stages_that_do_not_go_together_are_refused_when_built_and_both_are_named(stages, message):
    with pytest.raises(ConfigError) as refused:
        Strategy("mine", stages)
    assert refused.value.message == f"mine: {message}"
    assert refused.value.next_step


@for_each(
    "stages",
    [
        (ONE,),
        (Reword(), ONE, WeightedFusion()),
        (TWO, LlmRerank(), MaxFusion(), Threshold()),
        (TWO, ReciprocalRankFusion(), LlmRerank(), Blend(), Threshold()),
        (ONE, Blend(1.0), Threshold()),
        (TWO, ReciprocalRankFusion(weights=(("dense", 0.5), ("bm25", 0.0)))),
        (Retrieve((Dense(), Dense(enriched=True))), ReciprocalRankFusion(weights=(("dense enriched", 0.5),))),
        (ONE, Generate()),
        (Replace(), ONE, Generate()),
        (Reword(), ONE, Overlap(), Top(), ReciprocalRankFusion(), Top(), Mmr(), Overlap(), Generate()),
        (Replace(), TWO, ReciprocalRankFusion(), Generate()),
        BASE,
    ],
    ids=lambda stages: " > ".join(stage.name for stage in stages),
)
def test_a_right_order_is_accepted(stages):
    assert Strategy("mine", stages).stages == stages


def changed(value: object) -> list[object]:
    """The value with each of its parameters changed, one at a time, however deep it stands."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, float):
        return [value / 2]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, str):
        return []  # the name of another part
    if isinstance(value, Template):
        return [replace(value, text=f"{value.text}?")]
    if isinstance(value, tuple):
        return [(*value[:i], new, *value[i + 1 :]) for i in range(len(value)) for new in changed(value[i])]
    parts = fields(value)  # type: ignore[arg-type]
    return [replace(value, **{f.name: new}) for f in parts for new in changed(getattr(value, f.name))]  # type: ignore[type-var]


def test_every_parameter_of_every_stage_is_in_the_fingerprint():
    variants = [BASE, *changed(BASE)]
    bm25, dense = ("k", "k1", "b", "enriched"), ("k", "enriched")
    others = (
        "Retrieve.deduplicate", "ReciprocalRankFusion.k", "ReciprocalRankFusion.weights",
        "ReciprocalRankFusion.weights", "ReciprocalRankFusion.rewrites", "Top.k", "Mmr.k", "Mmr.relevance",
        "Generate.template",
    )  # fmt: skip
    parameters = len((*bm25, *dense, *others))
    assert len(variants) == 1 + parameters
    assert len({Strategy("mine", stages).fingerprint for stages in variants}) == 1 + parameters


def test_every_parameter_of_the_stages_that_ask_a_model_is_in_the_fingerprint():
    one, two = custom_template("one", "{question}?"), custom_template("two", "{question}!")
    same = replace(one, text="{question}!")
    sourced = replace(one, text="{question} {sources}")
    parts: list[Stage] = [
        Rewrite((one, two)), Rewrite((two, one)), Rewrite((one,)), Rewrite((same, two)),
        Rewrite((replace(one, temperature=0.5), two)), Rephrase(), Rephrase((one,)), Hyde(),
        Hyde(include_question=False), Hyde(template=one), AnalyseQuery(), WeightedFusion(),
        *(WeightedFusion(weighting) for weighting in ("exponential", "equal", "custom")),
        WeightedFusion(step=0.1), WeightedFusion(weights=(1.0,)),
        *(WeightedFusion(combine=combine) for combine in ("first", "sum")), MaxFusion(), LlmRerank(),
        LlmRerank(template=sourced), Rerank(), Blend(), Blend(alpha=0.5), Threshold(), Threshold(0.6),
    ]  # fmt: skip
    assert len({repr(stage) for stage in parts}) == len(parts)  # what fingerprints are made of
    assert len(set(parts)) == len(parts)  # what shared prefixes go by
    assert len({(stage.name, json.dumps(stage.params)) for stage in parts}) == len(parts)


@pytest.mark.parametrize(
    "other",
    [
        Strategy("yours", BASE),
        Strategy("mine", BASE[:-1]),
        Strategy("mine", (Retrieve((Dense(k=4), Bm25(k=4))), *BASE[1:])),
        Strategy("mine", (*BASE[:2], BASE[3], BASE[2], BASE[4])),
    ],
    ids=["name", "stages left out", "order of retrievers", "order of stages"],
)
def test_name_and_order_are_in_the_fingerprint(other):
    assert other.fingerprint != Strategy("mine", BASE).fingerprint


def test_nothing_else_is_in_the_fingerprint():
    same = (
        Retrieve((Bm25(4, 1.5, 0.75, False), Dense(4))),
        ReciprocalRankFusion(60, WEIGHTS),
        Top(3),
        Mmr(2, 0.7),
        Generate(),
    )
    assert (
        Strategy("mine", BASE).fingerprint
        == Strategy("mine", same).fingerprint
        == Strategy("mine", same, {"note": "controls are for the reader"}).fingerprint
    )


def test_a_fingerprint_is_the_same_in_another_process():
    code = "import rag_core; print(rag_core.build('hybrid_rrf').fingerprint)"
    fingerprint = RECIPES["hybrid_rrf"].build().fingerprint
    assert python("-c", code, PYTHONHASHSEED="7").out.strip() == fingerprint
    assert len(fingerprint) == 12
    assert set(fingerprint) <= set("0123456789abcdef")


def test_a_stage_that_fails_is_named_with_its_strategy_and_its_cause(services):
    fault = ValueError("no such thing")
    with pytest.raises(StageError) as failed:
        Strategy("mine", (Broken(fault), ONE, ReciprocalRankFusion(), Generate())).run("q", services)
    assert failed.value.message == "mine: stage Broken failed: ValueError: no such thing"
    assert (failed.value.strategy, failed.value.stage) == ("mine", "Broken")
    assert failed.value.__cause__ is fault
    assert failed.value.next_step.startswith(f"The fault is in {__name__} ({__name__}.py, line ")


def test_a_known_error_keeps_its_next_step(services):
    fault = ProviderError("The provider refused.", "Check the key.")
    with pytest.raises(StageError) as failed:
        Strategy("mine", (Broken(fault), ONE, ReciprocalRankFusion(), Generate())).run("q", services)
    assert failed.value.message == "mine: stage Broken failed: The provider refused."
    assert failed.value.next_step == "Check the key."


def test_a_stage_that_returns_something_else_is_named_and_is_no_bug_of_ours(services, monkeypatch):
    monkeypatch.setattr(Broken, "__call__", lambda stage, state, ctx: list(state.ranking.hits))
    with pytest.raises(StageError) as failed:
        Strategy("mine", (Broken(ValueError()), ONE, ReciprocalRankFusion(), Generate())).run("q", services)
    assert failed.value.message == "mine: stage Broken failed: Broken returned list in place of a State"
    assert failed.value.next_step.startswith("Its package has to return the State")


def test_stopping_is_not_a_failure_of_a_stage(services):
    with pytest.raises(Stopped):
        Strategy("mine", (Broken(Stopped()), ONE, ReciprocalRankFusion(), Generate())).run("q", services)


def test_what_finished_before_a_failure_was_told(services):
    told: list[tuple[str, int, str]] = []
    with pytest.raises(StageError, match="stage Wrong failed: ValueError: no score for"):
        Strategy("mine", (ONE, Wrong(), Generate())).run(
            "cats",
            services,
            on_start=lambda position, stage: told.append(("started", position, stage.name)),
            on_finish=lambda position, step: told.append(("finished", position, step.stage)),
        )
    assert told == [("started", 0, "Dense"), ("finished", 0, "Dense"), ("started", 1, "Wrong")]


def test_a_run_leaves_one_step_per_stage_with_its_parameters(services):
    trace = Strategy("mine", BASE, {"k": 2}).run("cats", replace(services, engine={"llm": "scripted"}))
    assert [(step.stage, step.kind, step.params) for step in trace.steps] == [
        (
            "Bm25 ∥ Dense",
            "retrieve",
            {
                "retrievers": [
                    {"retriever": "Bm25", "k": 4, "k1": 1.5, "b": 0.75, "enriched": False},
                    {"retriever": "Dense", "k": 4, "enriched": False},
                ],
                "deduplicate": True,
            },
        ),
        ("ReciprocalRankFusion", "fuse", {"k": 60, "weights": [["bm25", 1.0], ["dense", 0.5]], "rewrites": 1.0}),
        ("Top", "select", {"k": 3}),
        ("Mmr", "select", {"k": 2, "lambda_": 0.7}),
        ("Generate", "answer", {"template": {"name": "answer", "text": ANSWER.text, "temperature": 0.0}}),
    ]  # fmt: skip
    assert (trace.controls, trace.engine) == ({"k": 2}, {"llm": "scripted"})
    assert trace.fingerprint == Strategy("mine", BASE).fingerprint
    assert not any(step.reused for step in trace.steps)


def test_without_its_answer_stage_a_strategy_retrieves_the_same_and_asks_no_model(services, llm):
    whole = Strategy("mine", BASE).run("cats", replace(services, llms={"answer": ScriptedLlm("Yes [1].")}))
    short = Strategy("mine", BASE).without_answer().run("cats", services)
    assert [hit.id for hit in short.ranking] == [hit.id for hit in whole.ranking]
    assert short.answer is None
    assert llm.prompts == []


def test_rewrites_are_in_the_trace_with_origin_and_weight(services):
    strategy = Strategy("mine", (Reword(("cats", "dogs")), ONE, ReciprocalRankFusion(), Generate()))
    trace = strategy.run(
        "who lives here?", replace(services, llms={"rewrite": Told(UPPER), "answer": ScriptedLlm("Yes [1].")})
    )
    assert trace.steps[0].after.queries == (
        Query("who lives here?", "question", 1.0),
        Query("CATS", "Reword", 0.5),
        Query("DOGS", "Reword", 0.5),
    )
    assert [query["text"] for query in trace.as_json()["queries"]] == ["who lives here?", "CATS", "DOGS"]
    assert [call.purpose for call in trace.steps[0].calls] == ["rewrite", "rewrite"]
    assert trace.question == "who lives here?"
