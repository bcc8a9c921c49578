"""Calls that can be made at the same time are, and no call is without an end. Run by `make bench`.

A server of the OpenAI protocol, in a process of its own, takes 300 ms for a call. A strategy's wall time is
compared with its critical path: each of its stages once, where a stage of several calls counts as one call
made alone. Both are measured in the same run, on the built-in documents with the bundled model.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from helpers.behaviours import Behaviour, Drip, Endless, Hang, Reply, Status
from helpers.openai_server import role_of, serve, template_of
from helpers.provider_lab import obliging

from rag_core.data.benchmark import read_builtin
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.models.llm import MAX_REPLY_TIMEOUTS, load_openai
from rag_core.prompts.prompt import ANSWER, JUDGE_PASSAGE, Prompt, Sources
from rag_core.prompts.templates import STANDALONE
from rag_core.runtime.context import Context
from rag_core.values.errors import ProviderError
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
from rag_core.values.trace import Trace

DATA = Path(__file__).resolve().parents[2] / "data"
SECONDS = 0.3  # of one call
QUESTIONS = 8
MOST = 1.15  # wall time to critical path
WIDER = {  # what a rewrite adds to the question, so that each finds passages of its own
    "standalone": "in pregnancy",
    "synonyms": "gestation, obstetric care",
    "expanded": "complications, labour, newborn",
    "paraphrasing": "during pregnancy",
    "aspect_specific": "treatment and dose",
    "entity_aware": "screening, ultrasound, blood test",
}


def _slow(body: dict[str, Any]) -> Reply:
    reply = obliging(body)
    if role_of(body) == "rewrite":
        asked = body["messages"][1]["content"].partition("\n")[0].removeprefix("Question: ")
        reply = replace(reply, text=f"{asked} {WIDER[template_of(body)]}")
    return replace(reply, seconds=SECONDS)


def _serve(line: Connection) -> None:
    with serve() as server:
        server.choose = _slow
        line.send(server.url)
        line.recv()


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """The real lab with a slow provider."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    process.start()
    yield open_lab(settings=Settings(llm="openai", openai_base_url=here.recv()))
    here.send(None)
    process.join()


@pytest.fixture(scope="module")
def questions() -> Sequence[str]:
    """Questions of the built-in set, one more than is measured: the first has the cold start."""
    return [question.text for question in read_builtin(DATA, "test").measured[: QUESTIONS + 1]]


def alone(lab: Lab, prompt: Prompt) -> float:
    """Seconds of one call by itself."""
    ctx = Context(lab.services())
    started = time.perf_counter()
    ctx.complete(prompt)
    return time.perf_counter() - started


def path(lab: Lab, trace: Trace) -> dict[str, float]:
    """Seconds of each stage: of the calls of one stage, a single one counts, made alone."""
    hits = trace.ranking.hits
    calls = {
        "Rewrite": STANDALONE.fill(question=trace.question),
        "LlmRerank": JUDGE_PASSAGE.fill(question=trace.question, sources=Sources(hits[:1]), refused=""),
        "Generate": ANSWER.fill(question=trace.question, sources=Sources(hits)),
    }
    return {
        step.stage: alone(lab, calls[step.stage]) if step.stage in calls else step.seconds
        for step in trace.steps
    }


@pytest.mark.parametrize("strategy", ["multi_query", "rag_msr"])
def test_a_strategy_takes_little_longer_than_its_critical_path(lab, questions, strategy) -> None:
    """What the answer stage does before its call (labels) is no part of the path, and is printed by itself."""
    ratios, judging = [], []
    print()
    for question in questions:
        started = time.perf_counter()
        trace = lab.run(question, strategy)
        wall = time.perf_counter() - started
        single = path(lab, trace)
        took = {step.stage: step.seconds for step in trace.steps}
        ratios.append(wall / sum(single.values()))
        print(f"{strategy}: {wall:.3f} s, critical path {sum(single.values()):.3f} s, ratio {ratios[-1]:.3f}")
        print("  alone:  " + ", ".join(f"{stage} {seconds:.3f}" for stage, seconds in single.items()))
        print("  in run: " + ", ".join(f"{stage} {seconds:.3f}" for stage, seconds in took.items()))
        if "LlmRerank" in took:
            judging.append(took["LlmRerank"] / single["LlmRerank"])
            judged = sum(call.purpose == "judge" for call in trace.calls)
            print(f"  {judged} passages judged in the time of {judging[-1]:.3f} calls")
    cold, *warm = ratios
    print(f"{strategy}: median {statistics.median(warm):.3f}, most {max(warm):.3f}, first {cold:.3f}")
    if judging:
        print(f"judging: median {statistics.median(judging):.3f}, most {max(judging):.3f}")
        assert statistics.median(judging) <= MOST
    assert statistics.median(warm) <= MOST


# behaviours, timeout in seconds, most timeouts that may pass
ENDS = {
    "silent": ([Hang(), Hang()], 2.0, 3),  # of which the wait before the retry, 0.5 s, is a part
    "asks to wait, then silent": ([Status(429, headers={"Retry-After": "2"}), Hang()], 2.0, 3),
    "asks to wait for long": ([Status(429, headers={"Retry-After": "60"})], 2.0, 1),
    "silent within the answer": ([Hang(after=2)], 2.0, 2),
    "answers without end": ([Endless()], 0.5, MAX_REPLY_TIMEOUTS + 1),
    "keeps the connection alive": ([Drip()], 0.5, MAX_REPLY_TIMEOUTS + 1),
}


@pytest.mark.parametrize(("behaviours", "timeout", "most"), ENDS.values(), ids=ENDS)
def test_a_call_ends_within_the_stated_number_of_timeouts(
    behaviours: list[Behaviour], timeout: float, most: float
) -> None:
    prompt = STANDALONE.fill(question="Do cats purr?")
    with serve() as server:
        llm = load_openai(
            Settings(openai_base_url=server.url, timeout=timeout), "my-local-model", PriceList({})
        )
        list(llm.stream(prompt, lambda: False))
        server.script += behaviours
        started = time.perf_counter()
        with pytest.raises(ProviderError):
            list(llm.stream(prompt, lambda: False))
        took = (time.perf_counter() - started) / timeout
    print(f"\n{took:.2f} timeouts; at most {most}")
    assert took <= most
