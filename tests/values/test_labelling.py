import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.fakes import Scores, Told, score
from helpers.openai_server import DEFAULT
from helpers.plane import Plane, cos, hit
from helpers.provider_lab import QUESTION, listed, obliging, provider_lab
from helpers.small import DOCUMENTS

from pages.compare.passages import Shown, ShownPassage
from pages.drawing.fragments import render
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.lab.doctor import _labels
from rag_core.lab.lab import Lab
from rag_core.models import load_embedder
from rag_core.models.minilm import MINILM_WEIGHTS
from rag_core.prompts.prompt import ANSWER, Sources
from rag_core.runtime.context import Context
from rag_core.runtime.services import Assessor, Services
from rag_core.stages import Blend, Generate, LlmRerank, Rerank
from rag_core.stages.answer import labelled
from rag_core.testing import ScriptedLlm
from rag_core.values.labels import LabelRules, Thresholds
from rag_core.values.settings import Settings
from rag_core.values.types import Hit, Query, Ranking, State, Vote

FITTED = Thresholds(0.6, 0.3)
COSINE = ("cosine", "plane-1", "en")
OFFLINE = ("offline_scorer", "measure", "en")
CROSS = ("cross_encoder", "scores", "en")
ASKED = "How do the cats sleep?"


@dataclass
class Measure:
    """The offline measure: the values it holds, by passage; keeps what it was asked."""

    values: dict[str, float]
    name: str = "measure"
    key: str = "measure-1"
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def chances(self, question: str, hits: Sequence[Hit], among: Sequence[Hit] = ()) -> list[float]:
        self.asked.append(tuple(hit.id for hit in hits))
        return [self.values[hit.id] for hit in hits]


def context(*fitted: tuple[str, ...], assessor: Assessor | None = None, **more: object) -> Context:
    """Passages a, b and c at 0, 60 and 90 degrees from the question."""
    plane = Plane(a=0, b=60, c=90, **{ASKED: 0})
    rules = LabelRules(dict.fromkeys(fitted, FITTED))
    values = {"index": plane, "embedder": plane, "llms": {}, "labels": rules, "assessor": assessor, **more}
    return Context(Services(**values))  # type: ignore[arg-type]


def state(*hits: Hit) -> State:
    start = State.start(ASKED)
    return replace(start, rankings=(Ranking(start.question, hits or (hit("a"), hit("b"), hit("c"))),))


def given(ctx: Context, *hits: Hit) -> list[tuple[str, str] | None]:
    """(label, scorer) of each passage."""
    found = labelled(state(*hits), "en", ctx)
    return [(one.relevance.label, one.relevance.scorer) if one.relevance else None for one in found]


def judged(name: str, value: float, query: str = ASKED) -> Hit:
    """A passage with the judge's vote for a query."""
    return replace(hit(name), votes=(Vote(LlmRerank.__name__, query, 1, value, "judge"),))


class TestTheOrderOfScorers:
    def test_the_cosine_labels_where_thresholds_were_fitted_for_exactly_this_model(self):
        assert cos(60) == pytest.approx(0.5)
        expected = [("High", "cosine"), ("Medium", "cosine"), ("Low", "cosine")]
        assert given(context(COSINE)) == expected

    @pytest.mark.parametrize("fitted", [(), (("cosine", "plane-2", "en"),), (("cosine", "plane", "en"),)])
    def test_the_cosine_of_a_model_that_was_never_measured_gives_no_label_and_a_warning(self, fitted):
        ctx = context(*fitted)
        assert given(ctx) == [None, None, None]
        assert ctx.meter.warnings == ["3 of 3 passages have no relevance label: plane has no fitted thresholds."]

    def test_the_offline_measure_comes_before_the_cosine(self):
        measure = Measure({"a": 0.1, "b": 0.7, "c": 0.4})
        expected = [("Low", "offline_scorer"), ("High", "offline_scorer"), ("Medium", "offline_scorer")]
        assert given(context(COSINE, OFFLINE, assessor=measure)) == expected

    def test_a_cross_encoder_that_was_measured_comes_before_the_offline_measure(self):
        measure = Measure({"a": 0.1, "b": 0.7, "c": 0.4})
        ctx = context(COSINE, OFFLINE, CROSS, assessor=measure, reranker=Scores((0.5, 0.9, 0.2)))
        reranked = Rerank()(state(), ctx)
        assert [one.id for one in reranked.ranking] == ["b", "a", "c"]
        expected = [("High", "cross_encoder"), ("Medium", "cross_encoder"), ("Low", "cross_encoder")]
        assert given(ctx, *reranked.ranking) == expected
        assert measure.asked == []

    def test_a_cross_encoders_logits_mean_nothing_by_themselves(self):
        ctx = context(COSINE, reranker=Scores((9.0, 8.0, 7.0)))
        assert given(ctx, *Rerank()(state(), ctx).ranking) == [
            ("High", "cosine"),
            ("Medium", "cosine"),
            ("Low", "cosine"),
        ]

    @pytest.mark.parametrize("alpha", [0.4, 0.0])
    def test_a_hit_ordered_by_s_final_whose_judge_says_100_is_high(self, alpha):
        llm = Told({"judge_passage": score(100)})
        measure = Measure(dict.fromkeys("abc", 0.0))
        ctx = context(COSINE, OFFLINE, assessor=measure, llms={"judge": llm})
        final = Blend(alpha)(LlmRerank()(state(), ctx), ctx)
        third = final.ranking.hits[2]
        assert (third.id, third.scale) == ("c", "s_final")
        assert third.score == pytest.approx(alpha * cos(90) + (1 - alpha) * 100 / 100, abs=1e-6)
        assert given(ctx, *final.ranking) == [("High", "judge")] * 3

    def test_each_passage_has_the_best_scorer_that_rated_it_and_says_which(self):
        measure = Measure({"a": 0.1, "b": 0.4, "c": 0.2})
        ctx = context(COSINE, OFFLINE, assessor=measure, llms={"judge": Told({})})
        found = labelled(state(judged("a", 0.8), hit("b"), hit("c")), "en", ctx)
        assert [one.relevance.rule.partition(",")[0] for one in found if one.relevance] == [
            "High: judge score 0.80",
            "Medium: estimated chance of answering 0.40",
            "Low: estimated chance of answering 0.20",
        ]
        assert measure.asked == [("a", "b", "c")], "a chance is one among all passages shown"

    def test_a_judgement_of_a_rewrite_is_none_of_the_question(self):
        ctx = context(COSINE, llms={"judge": Told({})})
        assert given(ctx, judged("a", 0.0, "feline rest"), judged("c", 0.9)) == [
            ("High", "cosine"),
            ("High", "judge"),
        ]

    def test_the_offline_engines_judge_does_not_label_its_measure_does(self):
        measure = Measure({"a": 0.1})
        ctx = context(OFFLINE, assessor=measure, llms={"judge": Told({}, offline=True)})
        assert given(ctx, judged("a", 0.9)) == [("Low", "offline_scorer")]

    def test_by_rank_no_score_counts_and_none_is_computed(self):
        measure = Measure({})
        ctx = context(assessor=measure, labels=LabelRules({}, "rank"), llms={"judge": Told({})})
        assert given(ctx, judged("c", 0.0), judged("b", 1.0), hit("a")) == [
            ("High", "rank"),
            ("Medium", "rank"),
            ("Low", "rank"),
        ]
        assert (measure.asked, ctx.meter.calls, ctx.meter.warnings) == ([], [], [])

    def test_a_passage_without_a_label_is_shown_without_one_everywhere(self):
        llm = ScriptedLlm("Cats sleep [1].")
        ctx = context(llms={"answer": llm})
        after = Generate()(state(), ctx)
        assert [one.relevance for one in after.ranking] == [None] * 3
        assert llm.prompts[0].render().count('relevance="unknown"') == 3


def measured(lab: Lab, measure: Measure) -> Lab:
    return lab.with_engines(replace(lab.engines, scorer=measure))  # type: ignore[arg-type]


class TestWithAProvider:
    """Language models, and the embedding model too, on a real server."""

    @pytest.fixture
    def rules(self) -> LabelRules:
        return LabelRules({("cosine", "words-1", "en"): FITTED, OFFLINE: FITTED})

    def test_the_offline_measure_labels_before_a_providers_answer(self, server, read_only_store, embedder, rules):
        class Everything(Measure):
            def chances(self, question: str, hits: Sequence[Hit], among: Sequence[Hit] = ()) -> list[float]:
                self.asked.append(tuple(hit.id for hit in hits))
                assert not any(request.role == "answer" for request in server.requests)
                return [0.9] * len(hits)

        measure = Everything({})
        lab = measured(provider_lab(server, read_only_store, embedder, rules), measure)
        trace = lab.run(QUESTION, "simple_semantic")
        assert {(one.relevance.label, one.relevance.scorer) for one in trace.ranking if one.relevance} == {
            ("High", "offline_scorer")
        }
        assert {context["label"] for context in trace.as_json()["contexts"]} == {"High"}
        (sent,) = [request.body["messages"][1]["content"] for request in server.requests]
        assert sent.count('relevance="High"') == len(trace.ranking) == 5
        assert measure.asked == [tuple(one.id for one in trace.ranking)]

    def test_the_bundled_models_thresholds_do_not_label_a_providers_embeddings(self, server, tmp_path):
        settings = Settings(openai_base_url=server.url, embedding="openai:text-embedding-3-small", timeout=20)
        shipped = LabelRules.read(settings.data / "labels.toml")
        server.choose = lambda body: DEFAULT if "input" in body else obliging(body)
        embedder = load_embedder(settings, listed())
        store = CorpusStore(tmp_path, "animals", embedder)
        store.update(SourceFiles("test", list(DOCUMENTS)))
        lab = provider_lab(server, store, embedder, shipped)
        trace = lab.run(QUESTION, "simple_semantic")
        assert [context["label"] for context in trace.as_json()["contexts"]] == [None] * 5
        assert trace.warnings == (
            "5 of 5 passages have no relevance label: text-embedding-3-small has no fitted thresholds.",
        )
        sent = server.requests[-1].body["messages"][1]["content"]
        assert sent.count('relevance="unknown"') == 5


def test_sentences_are_compared_by_the_model_their_constants_were_fitted_on(lab, embedder):
    """Another embedding model finds passages; the offline answer reads them as it always does."""
    bundled = lab.engines.offline(lab.index, None)
    other = replace(lab.engines, embedder=embedder).offline(lab.index, None)
    trace = lab.run("When is anti-D given?", "bm25", k_final=3)
    prompt = ANSWER.fill(question=trace.question, sources=Sources(trace.ranking.hits))
    answers = [
        "".join(part for part in llm.stream(prompt, lambda: False) if isinstance(part, str)) for llm in (bundled, other)
    ]
    assert answers[0] == answers[1] != ""
    assert embedder.asked == []


def test_no_passage_no_label_and_no_warning():
    ctx = context()
    empty = replace(State.start(ASKED), rankings=(Ranking(Query(ASKED), ()),))
    assert (labelled(empty, "en", ctx), ctx.meter.warnings) == ((), [])


@pytest.mark.parametrize(
    ("fitted", "said"),
    [
        (("cosine", "words-1", "en"), r"from the offline-scorer \(all-MiniLM-L6-v2\)$"),
        (("cosine", "other", "en"), "never from the cosine of words, which has no fitted thresholds$"),
    ],
)
def test_the_doctor_says_what_labels_passages(lab, embedder, fitted, said):
    engines = replace(lab.engines, embedder=embedder, labels=LabelRules({fitted: FITTED}))
    assert re.search(said, _labels(engines))
    assert "RAG_LABELS=rank" in _labels(replace(engines, labels=LabelRules({}, "rank")))


def test_the_page_shows_a_missing_label_as_missing_once_the_strategy_is_done():
    for done in (True, False):
        column = SimpleNamespace(settled=done, trace=None)
        shown = Shown(column, 0, "", blind=False, hits=[hit("a")])
        drawn = render("passages.label", one=ShownPassage(hit("a"), shown))
        assert ("No label" in drawn) is done
        assert not any(label in drawn for label in ("High", "Medium", "Low"))


DATA = Path(__file__).resolve().parents[2] / "data"


class TestLabelsOfAScorersModel:
    ROW = "high = 0.8\nmedium = 0.4\nanswered = { High = 1, Medium = 0.5, Low = 0 }\nrelated = { High = 0, Medium = 0.5, Low = 0 }\nshown = { High = 1, Medium = 2, Low = 3 }"

    @pytest.fixture
    def rules(self, tmp_path: Path) -> LabelRules:
        path = tmp_path / "labels.toml"
        path.write_text(f'[cosine."minilm-1".en]\n{self.ROW}\n[judge."strict".en]\n{self.ROW}\n')
        return LabelRules.read(path)

    @pytest.mark.parametrize(
        ("scorer", "model", "known"),
        [
            ("cosine", "minilm-1", True),
            ("cosine", "minilm-2", False),
            ("cosine", "", False),
            ("judge", "strict", True),
            ("offline_scorer", "offline-scorer", False),
            ("cross_encoder", "some/model", False),
        ],
    )
    def test_thresholds_hold_for_the_model_they_were_fitted_on(self, rules, scorer, model, known):
        assert rules.has(scorer, model) is known
        if known:
            found = rules.relevance(scorer, [0.9, 0.5, 0.1], "en", model)
            assert [row.label for row in found] == ["High", "Medium", "Low"]
            assert rules.relevance(scorer, [0.9], "fr", model)[0].label == "High"
        else:
            with pytest.raises(ValueError, match="no thresholds"):
                rules.relevance(scorer, [0.9], "en", model)

    def test_the_repository_labels_the_offline_measure_and_the_bundled_models_cosine_alone(self):
        rules = LabelRules.read(DATA / "labels.toml")
        assert rules.has("offline_scorer", "offline-scorer")
        assert rules.has("offline_scorer", "offline-scorer+questions")
        assert rules.has("cosine", f"{MINILM_WEIGHTS}+gloss")
        for other in ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2-00000000", "text-embedding-3-small"):
            assert not rules.has("cosine", other)
        assert not rules.has("cross_encoder", "mixedbread-ai/mxbai-rerank-large-v1")
        (relevance,) = rules.relevance("offline_scorer", [0.99], "es", "offline-scorer")
        assert relevance.rule.startswith(
            "High: estimated chance of answering 0.99, at least 0.57. Of 120 passages with this label"
        )
