"""Calls that can be made at the same time are, equal calls are made once, and no call is without an end: goals 6, 7.

Run by `make bench`.

A server of the OpenAI protocol, in a process of its own, takes 300 ms for a call. A strategy's wall time is
compared with its critical path: each of its stages once, where a stage of several calls counts as one call
made alone. Both are measured in the same run, on the built-in documents with the bundled model.
"""

import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from helpers.behaviours import Reply
from helpers.openai_server import role_of, serve, template_of
from helpers.provider_lab import obliging
from helpers.results import ratios

from rag_core.catalog import RECIPES
from rag_core.documents.benchmark import read_builtin
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.prompts.prompt import ANSWER, JUDGE_PASSAGE, Prompt, Sources
from rag_core.prompts.templates import STANDALONE
from rag_core.runtime.context import Context
from rag_core.values.settings import Settings
from rag_core.values.trace import Trace

DATA = Path(__file__).resolve().parents[2] / "data"
SECONDS = 0.3  # of one call
QUESTIONS = 8
MOST = 1.15  # wall time to critical path
FASTER = {
    "multi_query": 2.5,
    "rag_msr": 5,
}  # retrieval than with one call after another, as the seeds make them
TOGETHER = ("hybrid_rrf", "multi_query", "contextual", "rag_msr")
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
        while line.recv() == "requests":
            line.send([json.dumps(one.body, sort_keys=True) for one in server.requests])
            server.requests.clear()


@pytest.fixture(scope="module")
def provider() -> Iterator[tuple[str, Connection]]:
    """The server's address, and a line to it: "requests" gives those since the last time."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    process.start()
    yield here.recv(), here
    here.send(None)
    process.join()


@pytest.fixture(scope="module")
def lab(provider: tuple[str, Connection], real_home: Path) -> Lab:
    """The real lab with a slow provider."""
    return open_lab(settings=Settings(home=real_home, llm="openai", openai_base_url=provider[0]))


@pytest.fixture(scope="module")
def questions() -> Sequence[str]:
    """Questions of the built-in set, one more than is measured: the first has the cold start."""
    return [question.text for question in read_builtin(DATA, "dev").measured[: QUESTIONS + 1]]


def alone(lab: Lab, prompt: Prompt) -> float:
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
    return {step.stage: alone(lab, calls[step.stage]) if step.stage in calls else step.seconds for step in trace.steps}


@pytest.mark.parametrize("strategy", FASTER)
def test_a_strategy_takes_little_longer_than_its_critical_path(lab, questions, strategy, results):
    """What the answer stage does before its call (labels) is no part of the path."""
    shares, judging = [], []
    for question in questions:
        started = time.perf_counter()
        trace = lab.run(question, strategy)
        wall = time.perf_counter() - started
        single = path(lab, trace)
        took = {step.stage: step.seconds for step in trace.steps}
        shares.append(wall / sum(single.values()))
        if "LlmRerank" in took:
            judging.append(took["LlmRerank"] / single["LlmRerank"])
    results.note(f"{strategy}, to its critical path, first question", "×", shares[:1])
    results.goal(7, f"`{strategy}`", "its critical path", shares[1:], MOST)
    if judging:
        results.note("judging all passages, to one call", "×", judging)


@pytest.mark.parametrize("strategy", FASTER)
def test_calls_at_the_same_time_against_one_after_the_other(lab, questions, strategy, results):
    """Of retrieval; the answer is one call on both sides."""
    services = lab.services()
    built = RECIPES[strategy].build()
    for part, strategies in (("retrieval of ", built.without_answer()), ("", built)):
        sides: dict[int, list[float]] = {services.workers: [], 1: []}
        for question in questions[:4]:
            for workers, took in sides.items():
                started = time.perf_counter()
                strategies.run(question, replace(services, workers=workers))
                took.append(time.perf_counter() - started)
        faster = ratios(sides[1][1:], sides[services.workers][1:])
        what, against = f"{part}`{strategy}`", "one call after another: times faster"
        if part:
            results.goal(7, what, against, faster, FASTER[strategy], at_least=True)
        else:
            results.note(f"{what} with its answer, {against}", "×", faster)


def test_four_strategies_side_by_side_take_as_long_as_the_slowest(lab, questions, provider, results):
    _, line = provider

    def requests() -> Counter[str]:
        line.send("requests")
        return Counter(line.recv())

    requests()  # of the tests before
    shares = []
    for question in questions:
        alone = []
        for strategy in TOGETHER:
            started = time.perf_counter()
            lab.run(question, strategy)
            alone.append(time.perf_counter() - started)
        apart = requests()
        started = time.perf_counter()
        lab.compare(question, TOGETHER)
        shares.append((time.perf_counter() - started) / max(alone))
        asked = requests()
        assert asked.keys() == apart.keys()
        assert set(asked.values()) == {1}, "an equal call was made twice"
    results.note("model calls of four strategies: side by side", "calls", [asked.total()])
    results.note("model calls of four strategies: one by one", "calls", [apart.total()])
    results.note("four strategies side by side, first question", "×", shares[:1])
    results.goal(6, "four strategies side by side", "the slowest alone", shares[1:], MOST)
