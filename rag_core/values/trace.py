"""A trace: the immutable states a strategy went through, what models were sent, and what its rankings share."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from html import escape
from textwrap import shorten
from typing import Any

from .answers import Answer, Remark
from .message import NOTICE
from .model_choice import AS_SET, ModelChoice
from .sources import OLD_YEARS, age_years, is_old
from .translation import translate
from .triage import ROUTINE, Triage
from .types import Cost, Hit, ModelCall, Outranked, Passage, Ranking, State, token_counts
from .visible import visible


@dataclass(frozen=True, slots=True)
class QueryResults:
    """How many passages a query found, and how many of them no other query found."""

    found: int
    unique: int


@dataclass(frozen=True, slots=True)
class SharedPassage:
    """A passage and its rank (from 1) in each list that contains it, by the list's position."""

    passage: Passage
    ranks: Mapping[int, int]


def results_by_query(rankings: Iterable[Ranking]) -> dict[str, QueryResults]:
    """Query text -> what its searches found, each passage counted once."""
    found: dict[str, set[str]] = {}
    for ranking in rankings:
        found.setdefault(ranking.query.text, set()).update(hit.id for hit in ranking)
    results = {}
    for text, ids in found.items():
        others = {one for other, theirs in found.items() if other != text for one in theirs}
        results[text] = QueryResults(len(ids), len(ids - others))
    return results


def shared_passages(rankings: Sequence[Ranking | None]) -> list[SharedPassage]:
    """Every passage of the rankings: first those in most of them, then by best rank, then by id."""
    ranks: dict[str, dict[int, int]] = {}
    passages: dict[str, Passage] = {}
    for position, ranking in enumerate(rankings):
        for rank, hit in enumerate(ranking or (), start=1):
            ranks.setdefault(hit.id, {})[position] = rank
            passages[hit.id] = hit.passage
    order = sorted(ranks, key=lambda name: (-len(ranks[name]), min(ranks[name].values()), name))
    return [SharedPassage(passages[name], ranks[name]) for name in order]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt as a model got it, and the reply.

    Args:
        system, text: the messages as sent; empty for the offline engine, which is sent no text.
        fields: field -> what filled it in; passages by number and title.
        reply: as received, also where it was cut off or could not be used.
        offline: whether the offline engine replied: it reads `prompt` and the fields instead of a text.
        calls: what it was billed, by the model's own count or ours; empty when the provider refused it.
        sample: which of several replies to the same prompt this is, from 0.
    """

    prompt: str
    purpose: str
    model: str
    system: str
    text: str
    fields: Mapping[str, str]
    reply: str
    offline: bool = False
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)
    error: str = ""
    sample: int = 0

    @property
    def place(self) -> tuple[object, ...]:
        """Where it stands among the others of its stage, whose calls end in any order."""
        return self.prompt, tuple(self.fields.values()), self.text, self.sample

    def as_json(self) -> dict[str, Any]:
        """The shape `rag query --json --show-prompts` prints; texts that were not sent are null."""
        return {
            "prompt": self.prompt,
            "sample": self.sample,
            "purpose": self.purpose,
            "model": self.model,
            "offline": self.offline,
            "system": None if self.offline else self.system,
            "text": None if self.offline else self.text,
            "fields": dict(self.fields),
            "reply": self.reply,
            "input_tokens": sum(call.input_tokens for call in self.calls),
            "output_tokens": sum(call.output_tokens for call in self.calls),
            "counted_by": "+".join(sorted({call.counted_by for call in self.calls})) or None,
            "error": self.error or None,
        }


@dataclass(frozen=True, slots=True)
class Step:
    """One stage that ran, and the state after it.

    Args:
        seconds: wall time of this stage.
        reused: taken from an earlier run or a parallel strategy, at no extra cost.
        control: what sets the limit of a selection, as users call it; empty for other stages.
        exchanges: the prompts it sent and their replies, refused ones included.
        outranked: the hits it left out of each list, in the order of the lists; only stages that compare hits tell.
        embeddings: the vectors it used, with their calls, by key; a what-if embeds none of them again.
        started: seconds after the run began; None when unknown, or when an earlier run did it.
        shared: those of `calls` that another stage, strategy or run made; they were paid for there.
    """

    stage: str
    kind: str
    params: Mapping[str, Any]
    after: State
    seconds: float
    calls: tuple[ModelCall, ...] = ()
    warnings: tuple[str, ...] = ()
    reused: bool = False
    readings: Mapping[str, str] = field(default_factory=dict)
    control: str = ""
    outranked: tuple[Outranked, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    embeddings: Mapping[Hashable, Any] = field(
        default_factory=dict, repr=False, compare=False, metadata={"packed": False}
    )
    started: float | None = None
    shared: tuple[ModelCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """One question run through one strategy; `fingerprint` identifies stages, parameters and the chosen `models`."""

    question: str
    strategy: str
    controls: Mapping[str, Any]
    fingerprint: str
    steps: tuple[Step, ...]
    engine: Mapping[str, str | None] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    triage: Triage = ROUTINE
    models: ModelChoice = AS_SET

    def __repr__(self) -> str:
        about = f"{self.strategy}: {shorten(self.question, 80, placeholder='…')!r}"
        found = f"{self.final.passage_count} passages, {self.seconds:.2f} s" if self.steps else "no steps"
        answer = repr(self.answer) if self.steps and self.answer else "no answer"
        return f"<Trace {about}, {found}, {answer}>"

    def _repr_html_(self) -> str:
        titles = "".join(f"<li>{escape(visible(hit.passage.full_title))}</li>" for hit in self.ranking)
        return f"{(self.answer or Answer(''))._repr_html_()}<ol>{titles}</ol>"

    @property
    def final(self) -> State:
        return self.steps[-1].after

    @property
    def ranking(self) -> Ranking:
        return self.final.ranking

    @property
    def answer(self) -> Answer | None:
        """The answer; None when the strategy was run without its answer stage."""
        return self.final.answer

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Every model call behind this result, without repeats, including those of reused stages."""
        return tuple(dict.fromkeys(call for step in self.steps for call in step.calls))

    @property
    def readings(self) -> Mapping[str, str]:
        """The queries that the embedding model did not read as they are, and what it read instead."""
        return {text: read for step in self.steps for text, read in step.readings.items()}

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    @property
    def country(self) -> str:
        """ISO 3166 code of the country whose guidance led; empty for none."""
        return self.engine.get("country") or ""

    @property
    def where(self) -> str:
        """The filter that the passages fit (`values.where`); empty for none."""
        return self.engine.get("where") or ""

    @property
    def corpus(self) -> str:
        return (self.engine.get("index") or "").partition(",")[0]

    def remarks(self, year: int | None = None) -> tuple[Remark, ...]:
        """The answer's remarks and, if every passage it cites is old by now, or in a given year, one on that."""
        if not self.answer:
            return ()
        passages = {hit.id: hit.passage for hit in self.ranking}
        numbers = {
            one.n: passages[one.context_id].sources for one in self.answer.citations if one.context_id in passages
        }
        if not numbers or not all(is_old(sources, year) for sources in numbers.values()):
            return self.answer.remarks
        newest = max(source.year for sources in numbers.values() for source in sources)
        text = translate(
            self.triage.language,
            "Every source cited here is more than {years} years old (the newest is from {newest}): check for newer "
            "guidance.",
            years=OLD_YEARS,
            newest=newest,
        )
        return (*self.answer.remarks, Remark("old", text, tuple(sorted(numbers))))

    @property
    def cost(self) -> Cost:
        """What this result would cost if nothing were reused."""
        return Cost.of(self.calls)

    @property
    def cost_usd(self) -> float | None:
        """`cost` in US dollars; None when any price is unknown."""
        return self.cost.usd

    def as_json(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "strategy": self.strategy,
            "controls": dict(self.controls),
            "fingerprint": self.fingerprint,
            "queries": [
                {
                    "text": query.text,
                    "origin": query.origin,
                    "weight": query.weight,
                    "read_as": self.readings.get(query.text),
                }
                for query in self.final.queries
            ],
            "contexts": [_context_json(rank, hit) for rank, hit in enumerate(self.ranking, start=1)],
            "answer": _answer_json(self.answer, self.remarks()) if self.answer else None,
            "steps": [_step_json(step) for step in self.steps],
            "metrics": metrics(self.calls),
            "seconds": self.seconds,
            "warnings": list(self.warnings),
            "engine": dict(self.engine),
            "models": dict(self.models.named),
            "triage": self.triage.as_json(),
            "country": self.country or None,
            "notice": NOTICE,
        }


def _context_json(rank: int, hit: Hit) -> dict[str, Any]:
    """A passage of the final ranking, its score, and its votes from stage to stage; ranks count from 1."""
    passage = hit.passage
    return {
        "id": hit.id,
        "doc_id": passage.doc_id,
        "title": passage.full_title,
        "text": passage.text,
        "source": passage.source,
        "sources": [asdict(source) for source in passage.sources],
        "difference": passage.difference,
        "gives_orders": passage.gives_orders,
        "differs_from": [asdict(source) for source in passage.differs_from],
        "age_years": age_years(passage.sources),
        "old": is_old(passage.sources),
        "rank": rank,
        "score": hit.score,
        "score_scale": hit.scale,
        "label": hit.relevance.label if hit.relevance else None,
        "votes": [asdict(vote) | {"terms": [asdict(term) for term in vote.terms]} for vote in hit.votes],
    }


def _answer_json(answer: Answer, remarks: Iterable[Remark]) -> dict[str, Any]:
    return {
        "text": answer.text,
        "citations": [
            {"n": cited.n, "context_id": cited.context_id, "quote": cited.quote, "supported": cited.supported}
            for cited in answer.citations
        ],
        "invalid_citations": answer.invalid_citations,
        "sentences": [sentence.as_json() for sentence in answer.sentences],
        "abstained": answer.abstained,
        "reason": answer.reason,
        "notice": answer.notice,
        "remarks": [remark.as_json() for remark in remarks],
        "suggestions": [asdict(near) for near in answer.suggestions],
    }


_OF_CALLS = [one.name for one in fields(ModelCall) if one.name not in ("note", "finish")]


def _step_json(step: Step) -> dict[str, Any]:
    """A stage that ran, with its searches and model calls; times are seconds since the run began."""
    return {
        "stage": step.stage,
        "kind": step.kind,
        "params": dict(step.params),
        "seconds": step.seconds,
        "searches": [
            {
                "retriever": ranking.retriever,
                "query": ranking.query.text,
                "passages": len(ranking),
                "seconds": ranking.seconds,
                "started": ranking.started,
            }
            for ranking in (step.after.rankings if step.kind == "retrieve" else ())
        ],
        "calls": [
            {name: getattr(call, name) for name in _OF_CALLS} | {"shared": step.reused or call in step.shared}
            for call in step.calls
        ],
        "started": step.started,
        "reused": step.reused,
    }


def metrics(calls: tuple[ModelCall, ...]) -> dict[str, Any]:
    """The metric keys of the Multi-Query Rewriter RAG module (process_rewriter_query); `total_cost` has embeddings too."""
    language = tuple(call for call in calls if call.of_language_model)
    rewrite = tuple(call for call in language if call.purpose == "rewrite")
    answer = tuple(call for call in language if call.purpose == "answer")
    counted = sorted({call.counted_by for call in language})
    found: dict[str, Any] = {}
    for part, told, billed in (
        ("rewrite", rewrite, rewrite),
        ("answer", answer, answer),
        ("total", language, calls),
    ):
        found[f"{part}_input_tokens"], found[f"{part}_output_tokens"] = token_counts(told)
        found[f"{part}_cost"] = Cost.of(billed).usd
    found["usage_source"] = "+".join(counted) or "none"
    found["cost_source"] = "unknown" if found["total_cost"] is None else "data/prices.toml"
    return found
