"""The lab for programs on an event loop."""

import asyncio
import threading

import pytest

from rag_core.pipeline.stream import Done, awaited
from rag_core.values.errors import ConfigError

QUESTION = "When is anti-D given?"


def same(one, other):
    return [hit.id for hit in one.ranking] == [hit.id for hit in other.ranking] and one.answer == other.answer


def test_arun_gives_what_run_gives_and_raises_what_it_raises(lab):
    async def both():
        return await asyncio.gather(*(lab.arun(QUESTION, "bm25", k_final=k) for k in (2, 3)))

    for k, trace in zip((2, 3), asyncio.run(both()), strict=True):
        assert same(trace, lab.run(QUESTION, "bm25", k_final=k))
    with pytest.raises(ConfigError, match="bm52"):
        asyncio.run(lab.arun(QUESTION, "bm52"))


def test_astream_gives_the_events_of_stream(lab):
    async def streamed():
        return [event async for event in lab.astream(QUESTION, ["bm25", "simple_semantic"])]

    done = {event.column: event.trace for event in asyncio.run(streamed()) if isinstance(event, Done)}
    assert all(same(done[column], one) for column, one in enumerate(lab.compare(QUESTION, ["bm25", "simple_semantic"])))


def test_a_reader_that_leaves_stops_the_run():
    stop = threading.Event()

    def events():
        yield 1
        stop.wait()  # as a stage looks at it
        yield 2

    async def leave():
        reader = awaited(events(), stop)
        assert await anext(reader) == 1
        waiting = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert stop.is_set()

    asyncio.run(leave())
