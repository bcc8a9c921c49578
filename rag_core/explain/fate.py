"""What became of every passage that a strategy retrieved: one fate each, read off its trace; why not another?"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ..catalog import RECIPES
from ..runtime.context import Context
from ..runtime.services import Services
from ..stages import Asked, Bm25, Dense, Mmr, ReciprocalRankFusion, Retrieve, Retriever, Threshold, Top
from ..values.errors import InputError
from ..values.message import Message
from ..values.trace import Step, Trace
from ..values.types import Hit, Passage, Ranking
from .flow import (
    FlowColumn,
    Lane,
    Place,
    fusion_of,
    lanes,
    last_hits,
    places,
    query_title,
    stage_title,
)
from .without_models import Replay

FateKind = Literal[
    "used",  # among the passages the answer is written from
    "cut",  # below the k best
    "similar",  # MMR: too like a passage picked before it
    "less_relevant",  # MMR: not relevant enough
    "tied",  # MMR: as good as the last pick, which comes first by id
    "below",  # below the threshold
    "unscored",  # a reranker or judge gave it no score
    "weightless",  # found only by searches of weight 0
    "merged",  # of equal text with another, which stands for it
    "dropped",  # by a stage that does not say why
]


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one passage.

    Args:
        position: of the step that decided, from 0; of the last step for a used passage.
        rank: for a used passage its final rank; otherwise its best rank in the lists that this stage received.
        score: what the stage compared, where it compared scores; None where it went by rank.
        limit: what the rank or the score had to reach: k, θ, or the value of MMR's last pick; None for none.
        control: the control that sets the limit; may be empty.
        near: id of the picked passage that it is most like, for MMR, or of the one of equal text; otherwise empty.
        similarity: the cosine to that passage, as MMR used it; None without one.
    """

    passage: Passage
    kind: FateKind
    position: int
    stage: str
    rank: int
    of: int
    text: Message
    places: tuple[Place, ...]
    score: float | None = None
    limit: float | None = None
    control: str = ""
    near: str = ""
    similarity: float | None = None

    @property
    def used(self) -> bool:
        return self.kind == "used"

    def ranks(self, columns: Sequence[FlowColumn]) -> tuple[int | None, ...]:
        """Its best rank in each column of the rank flow; None where it is absent."""
        by_lane = {place.lane: place.rank for place in self.places}
        return tuple(
            min((by_lane[lane] for lane in column.lanes if lane in by_lane), default=None) for column in columns
        )

    def as_json(self) -> dict[str, Any]:
        given = {name: value for name, value in asdict(self).items() if name not in ("passage", "places")}
        shown = [{"list": one.lane, "rank": one.rank, "score": one.score} for one in self.places]
        return {"id": self.passage.id, "title": self.passage.full_title, **given, "places": shown}


def fates_json(trace: Trace) -> dict[str, Any]:
    """The ranked lists of a trace, and every fate with its places in them, as plain JSON values."""
    return {
        "lists": [asdict(lane) for lane in lanes(trace)],
        "passages": [fate.as_json() for fate in fates(trace)],
    }


def summary_of_fates(found: Sequence[Fate]) -> str:
    """How many passages met which fate: "16 passages: 5 used, 5 cut by MMR, 6 cut by the pool of 10"."""
    if not found:
        return Message("no passage was found")
    kinds = Counter(Message("used") if fate.used else _ended(fate) for fate in found)
    counts = [Message("{count:,} {fate}", count=count, fate=kind) for kind, count in kinds.items()]
    return Message("{count:,} passages: {fates}", count=len(found), fates=Message.joined(counts))


def _ended(fate: Fate) -> str:
    """A fate without what is the passage's own."""
    match fate.kind:
        case "cut":
            limit = fate.text.fields["limit"]
            if fate.text.template.startswith("not reranked"):
                return Message("not reranked, cut by {limit}", limit=limit)
            return Message("cut by {limit}", limit=limit)
        case "below":
            return Message("below θ")
        case "similar" | "less_relevant" | "tied":
            return Message("cut by MMR")
        case "weightless":
            return Message("ignored by fusion")
        case "merged":
            return Message("of equal text with another")
        case "unscored":
            return Message("left out by {stage}", stage=stage_title(fate.stage))
        case _:
            return Message("dropped by {stage}", stage=stage_title(fate.stage))


def fates(trace: Trace) -> tuple[Fate, ...]:
    """One fate for each passage that any stage returned: the used ones in order, then those that came furthest.

    Works for stages of any package; those whose reasons are unknown here get the fate "dropped".
    """
    listed, where, hits = lanes(trace), places(trace), last_hits(trace)
    final = {hit.id: rank for rank, hit in enumerate(trace.ranking, start=1)}
    judge = _Judge(trace, listed, final, hits)
    found = [judge.fate(identity, where[identity]) for identity in where]
    found += [judge.merged(hit, copy, where[hit.id]) for hit in hits.values() for copy in hit.passage.copies]
    return tuple(sorted(found, key=lambda fate: (not fate.used, -fate.position, fate.rank, fate.passage.id)))


def at_least_apart(low: float, high: float) -> tuple[str, str]:
    """Two numbers with two decimals, or as many as it takes to tell them apart."""
    decimals = next((one for one in range(2, 10) if f"{low:.{one}f}" != f"{high:.{one}f}"), 2)
    return f"{low:.{decimals}f}", f"{high:.{decimals}f}"


@dataclass(frozen=True, slots=True)
class _Judge:
    trace: Trace
    lanes: Sequence[Lane]
    final: Mapping[str, int]
    hits: Mapping[str, Hit]

    def fate(self, identity: str, where: tuple[Place, ...]) -> Fate:
        hit, last = self.hits[identity], len(self.trace.steps) - 1
        seen = self.lanes[where[-1].lane].position
        if identity in self.final:
            rank, size = self.final[identity], len(self.final)
            stage = self.trace.steps[last].stage
            text = Message("used at {rank}", rank=rank)
            return Fate(hit.passage, "used", last, stage, rank, size, text, where)
        step = self.trace.steps[seen + 1]
        best = min((one for one in where if self.lanes[one.lane].position == seen), key=lambda one: one.rank)
        lane = self.lanes[best.lane]
        told = self._told(step, seen, hit, best, lane)
        return Fate(hit.passage, position=seen + 1, stage=step.stage, rank=best.rank, of=lane.size, places=where, **told)  # fmt: skip

    def merged(self, hit: Hit, copy: Passage, where: tuple[Place, ...]) -> Fate:
        """The fate of a copy that `hit` stands for: it left with the search, at the other's places."""
        first = self.lanes[where[0].lane].position
        places = tuple(one for one in where if self.lanes[one.lane].position == first)
        best = min(places, key=lambda one: one.rank)
        text = Message("same text as {other}, and named there", other=self._called(hit.id))
        stage, size = self.trace.steps[first].stage, self.lanes[best.lane].size
        return Fate(copy, "merged", first, stage, best.rank, size, text, places, near=hit.id)

    def _told(self, step: Step, seen: int, hit: Hit, best: Place, lane: Lane) -> dict[str, Any]:
        rank = Message("rank {rank}", rank=best.rank)
        if lane.apart and lane.origin != "question":
            rank = Message("rank {rank} for {query}", rank=best.rank, query=query_title(lane.origin))
        match step.stage:
            case Top.__name__:
                k = step.params["k"]
                limit = _limit(self.trace, step.control, k)
                text = Message("cut by {limit} ({place})", limit=limit, place=rank)
                if any(step.kind == "rerank" for step in self.trace.steps[seen + 2 : seen + 3]):
                    text = Message("not reranked: cut by {limit} ({place})", limit=limit, place=rank)
                return {"kind": "cut", "text": text, "limit": k, "control": step.control}
            case Threshold.__name__:
                theta = step.params["theta"]
                low, high = at_least_apart(best.score, theta)
                text = Message("below θ: {low} < {high}", low=low, high=high)
                return {"kind": "below", "text": text, "score": best.score, "limit": theta}
            case Mmr.__name__:
                return self._lost_to_mmr(step, seen, hit, best)
            case ReciprocalRankFusion.__name__:
                fusion = fusion_of(step)
                assert isinstance(fusion, ReciprocalRankFusion)
                before = self.trace.steps[seen].after.rankings
                found = (one for one in before if hit.id in {each.id for each in one})
                if not any(map(fusion.weight, found)):
                    text = Message("ignored by fusion: only searches of weight 0 found it")
                    return {"kind": "weightless", "text": text}
        if step.kind == "rerank":
            text = Message("left out by {stage}: it got no score ({place})", stage=step.stage, place=rank)
            return {"kind": "unscored", "text": text}
        text = Message("dropped by {stage} ({place} of {size})", stage=step.stage, place=rank, size=lane.size)
        return {"kind": "dropped", "text": text}

    def _lost_to_mmr(self, step: Step, seen: int, hit: Hit, best: Place) -> dict[str, Any]:
        """Lost to the last pick by relevance or by likeness: by what took more off its MMR value."""
        mine = best.lane - next(lane for lane, one in enumerate(self.lanes) if one.position == seen)
        lost, last = step.outranked[mine], step.after.rankings[mine].hits[-1]
        row = lost.ids.index(hit.id)
        value, relevance, near = lost.values[row], lost.relevance[row], lost.near[row]
        told = {"score": value, "limit": last.score, "control": step.control}
        if near:
            told |= {"near": near, "similarity": lost.similarity[row]}
        wanted, *liked = last.terms
        # a first pick is by relevance alone
        less = (wanted.value - relevance) * (wanted.weight if near else 1.0)
        liker = sum((term.value - lost.similarity[row]) * term.weight for term in liked)
        if less <= 0 and liker <= 0:
            return {"kind": "tied", "text": Message("cut by MMR: level with the last passage picked"), **told}
        if liker > less:
            low, high = at_least_apart(liked[0].value, lost.similarity[row])
            text = Message(
                "cut by MMR: too similar to {other} ({high} > {low})",
                other=self._called(near),
                high=high,
                low=low,
            )
            return {"kind": "similar", "text": text, **told}
        low, high = at_least_apart(relevance, wanted.value)
        text = Message("cut by MMR: less relevant ({low} < {high})", low=low, high=high)
        return {"kind": "less_relevant", "text": text, **told}

    def _called(self, identity: str) -> str:
        """A passage by its final rank, or by its title if a later stage cut it."""
        if identity in self.final:
            return Message("passage {rank}", rank=self.final[identity])
        return Message("“{title}”", title=self.hits[identity].passage.full_title)


def _limit(trace: Trace, control: str, k: object) -> str:
    """A cut in people's words; by its code name if the strategy is not in the catalogue."""
    recipe = RECIPES.get(trace.strategy)
    declared = {one.name: one for one in recipe.controls} if recipe else {}
    return declared[control].as_limit(k) if control in declared else f"{control} {k}"


def no_longer_found(passage: str, before: Trace, after: Trace) -> str:
    """Why no search of `after` returned a passage that one of `before` did, in the words of a fate."""
    earlier = {(one.query.text, one.retriever): one for _, one in _searches(before)}
    for search, found in _searches(after):
        was = earlier.get((found.query.text, found.retriever), ())
        size = sum(1 + len(hit.passage.copies) for hit in found)
        if search.most in (size, None) and any(hit.id == passage for hit in was):  # it returns no more
            limit = after.controls.get(search.control, size)
            return Message("cut by {limit}", limit=_limit(after, search.control, limit))
    return Message("no search found it")


def _searches(trace: Trace) -> Iterator[tuple[Retriever, Ranking]]:
    recipe = RECIPES.get(trace.strategy)
    stages = recipe.build(**trace.controls).stages if recipe else ()
    for stage, step in zip(stages, trace.steps, strict=False):
        if isinstance(stage, Retrieve):
            made = dict(zip(stage.names, stage.retrievers, strict=True))
            yield from ((made[one.retriever], one) for one in step.after.rankings)


MOST_RANKED = 20_000  # passages of a corpus whose vectors are all read to tell a dense rank; a second or so


@dataclass(frozen=True, slots=True)
class Missed:
    """One search that did not return the passage: how many it returned, and the score of the last of them.

    The passage's rank among all, and its score, are None if it does not match, or the search cannot tell.
    """

    retriever: str
    origin: str
    query: str
    rank: int | None
    score: float | None
    admitted: int
    last: float | None
    text: str


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Where one strategy lost a passage, or that it used it; without a fate, `searches` tells why none returned it."""

    passage: Passage
    strategy: str
    fate: Fate | None
    searches: tuple[Missed, ...]
    text: str


def why_not(trace: Trace, passage: str, services: Services, passages: Mapping[str, Passage]) -> WhyNot:
    """The fate of a passage in a trace; for one that was never retrieved, how far each search was from it.

    Nothing calls a model: queries are not embedded again. Raises InputError for an unknown passage, and
    ConfigError if the strategy is not in the catalogue, or the models or the index have changed.
    """
    if passage not in passages:
        raise InputError(
            Message("This corpus has no passage {passage!r}.", passage=passage),
            Message("Choose one of `lab.passages`."),
        )
    for fate in fates(trace):
        if fate.passage.id == passage:
            sentence = f"{fate.text[0].upper()}{fate.text[1:]}."
            return WhyNot(passages[passage], trace.strategy, fate, (), sentence)
    ctx = Replay(trace, services).context()
    searches = [_missed(made, one, passage, passages, ctx) for made, one in _searches(trace)]
    told = Message.joined((one.text for one in searches), "; ")
    lost = Message("Never retrieved: {searches}.", searches=told) if searches else Message("Never retrieved.")
    return WhyNot(passages[passage], trace.strategy, None, tuple(searches), lost)


def _missed(retriever: Retriever, ranking: Ranking, passage: str, passages: Collection[str], ctx: Context) -> Missed:
    rank: int | None = None
    score: float | None = None
    match retriever:
        case Dense():
            rank, score = _dense_rank(retriever, ranking, passage, passages, ctx)
        case Bm25():
            index, size = ctx.index_for(enriched=retriever.enriched), len(passages)
            rank, score = _place(passage, index.lexical(ranking.query.text, size, retriever.k1, retriever.b))
        case Asked():
            rank, score = _place(passage, replace(retriever, k=len(passages)).search(ranking.query, ctx))
    last = ranking.hits[-1].score if ranking.hits else None
    origin = ranking.query.origin
    name = stage_title(ranking.retriever)
    if origin != "question":
        name = Message("{search} of {origin}", search=name, origin=query_title(origin))
    text = _clause(name, isinstance(retriever, Bm25), rank, score, len(ranking), last)
    return Missed(ranking.retriever, origin, ranking.query.text, rank, score, len(ranking), last, text)


def _clause(name: str, by_words: bool, rank: int | None, score: float | None, admitted: int, last: float | None) -> str:
    if score is None:
        if by_words:
            return Message("{search}: it has none of the query's words", search=name)
        return Message("{search}: not among its {admitted}", search=name, admitted=admitted)
    shown, needed = at_least_apart(score, score if last is None else last)
    parts = [Message("rank {rank:,}", rank=rank)] if rank is not None else []
    parts.append(Message("score {score}", score=shown))
    if last is not None:
        parts.append(Message("the last of {admitted} returned has {score}", admitted=admitted, score=needed))
    return Message("{search}: {found}", search=name, found=Message.joined(parts))


def _dense_rank(
    retriever: Dense, ranking: Ranking, passage: str, passages: Collection[str], ctx: Context
) -> tuple[int | None, float]:
    """Exact cosine, and rank by cosine and id among all passages of a corpus that is not too large."""
    index, query = ctx.index_for(enriched=retriever.enriched), retriever.vector(ranking.query, ctx)
    if len(passages) > MOST_RANKED:
        return None, float((index.vectors([passage]) @ query)[0])
    ids = sorted(passages)
    cosines = index.vectors(ids) @ query
    place = ids.index(passage)
    ahead = np.count_nonzero(cosines > cosines[place]) + np.count_nonzero(cosines[:place] == cosines[place])
    return int(ahead) + 1, float(cosines[place])


def _place(passage: str, hits: Sequence[Hit]) -> tuple[int | None, float | None]:
    found = ((rank, hit.score) for rank, hit in enumerate(hits, start=1) if hit.id == passage)
    return next(found, (None, None))
