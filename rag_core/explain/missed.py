"""Why not this one? Where a strategy lost a passage, also one that no search returned."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..runtime.context import Context
from ..runtime.services import Services
from ..stages import Asked, Bm25, Dense, Retrieve, Retriever
from ..values.errors import InputError
from ..values.message import Message
from ..values.trace import Trace
from ..values.types import Hit, Passage, Ranking
from .fate import Fate, at_least_apart, fates
from .flow import query_title, stage_title
from .without_models import Replay

MOST_RANKED = 20_000  # passages of a corpus whose vectors are all read to tell a dense rank; a second or so


@dataclass(frozen=True, slots=True)
class Missed:
    """One search that did not return the passage.

    Args:
        rank: its rank among all passages for this search; None if it does not match, or cannot be ranked.
        score: its score there; None if it does not match, or the search cannot tell.
        last: the score of the last one of them; None if there are none.
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
    """Where one strategy lost a passage, or that it used it, also as a sentence.

    Without a fate, no search returned it, and `searches` tells of each.
    """

    passage: Passage
    strategy: str
    fate: Fate | None
    searches: tuple[Missed, ...]
    text: str


def why_not(trace: Trace, passage: str, services: Services, passages: Mapping[str, Passage]) -> WhyNot:
    """The fate of a passage in a trace; for one that was never retrieved, how far each search was from it.

    Nothing calls a model: queries are not embedded again.

    Raises:
        InputError: the corpus has no such passage.
        ConfigError: the strategy is not in the catalogue, or the models or the index have changed.
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
    replay = Replay(trace, services)
    ctx, searches = replay.context(), list[Missed]()
    for stage, step in zip(replay.strategy({}).stages, trace.steps, strict=False):
        if isinstance(stage, Retrieve):
            made = dict(zip(stage.names, stage.retrievers, strict=True))
            searches += [
                _missed(made[one.retriever], one, passage, passages, ctx) for one in step.after.rankings
            ]
    told = Message.joined((one.text for one in searches), "; ")
    lost = Message("Never retrieved: {searches}.", searches=told) if searches else Message("Never retrieved.")
    return WhyNot(passages[passage], trace.strategy, None, tuple(searches), lost)


def _missed(
    retriever: Retriever, ranking: Ranking, passage: str, passages: Collection[str], ctx: Context
) -> Missed:
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


def _clause(
    name: str, by_words: bool, rank: int | None, score: float | None, admitted: int, last: float | None
) -> str:
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
