"""A strategy: a tuple of stages, checked when it is built, run one after the other, with warnings."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from ..runtime.context import Context, Meter
from ..runtime.run import Run
from ..runtime.services import Services
from ..stages import Bm25, Flow, FusionStage, Generate, Retrieve, SelectStage, Stage, Top
from ..values.errors import ConfigError, StageError, Stopped
from ..values.message import Message
from ..values.model_choice import ModelChoice
from ..values.trace import Step, Trace
from ..values.types import ModelCall, State

# what each kind of stage accepts in the state
NEEDS = {
    "transform": ("the question",),
    "retrieve": ("the question", "queries"),
    "rerank": ("a ranking", "rankings"),
    "fuse": ("rankings",),
    "select": ("a ranking", "rankings"),
    "answer": ("a ranking",),
}

OnStart = Callable[[int, Stage], None]  # position of the stage, from 0
OnFinish = Callable[[int, Step], None]


@dataclass(frozen=True)
class Strategy:
    """Named stages in order, with the control values that they were built with.

    Raises ConfigError if a stage needs what the stages before it do not leave, or cannot use the scale of their scores.
    """

    name: str
    stages: tuple[Stage, ...]
    controls: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.stages:
            raise ConfigError(Message("{name}: a strategy needs at least one stage.", name=self.name))
        flow = Flow()
        for stage in self.stages:
            needed = NEEDS[stage.kind]
            if flow.content not in needed:
                raise ConfigError(
                    Message(
                        "{name}: {stage} needs {needed}, but the stages before it leave {content}.",
                        name=self.name,
                        stage=stage.name,
                        needed=" or ".join(needed),
                        content=flow.content,
                    )
                )
            try:
                after = stage.flow(flow)
            except ConfigError as error:
                raise ConfigError(
                    Message("{name}: {reason}", name=self.name, reason=error.message), error.next_step
                ) from None
            flow = replace(after, stages=(*flow.stages, stage.name))

    @functools.cached_property
    def fingerprint(self) -> str:
        """Id of the stages and their parameters, 12 hexadecimal digits: for caches and result files."""
        return hashlib.sha256(repr((self.name, self.stages)).encode()).hexdigest()[:12]

    def fingerprint_on(self, models: ModelChoice, where: str = "") -> str:
        """The same of the strategy on these models, with this filter; its own `fingerprint` without both."""
        if not (models or where):
            return self.fingerprint
        chosen = tuple(one for one in (models, models.reranker, where) if one)
        return hashlib.sha256(repr((self.fingerprint, *chosen)).encode()).hexdigest()[:12]

    @property
    def searches_words_only(self) -> bool:
        """Whether no stage reads a vector of the index, so that its vector store need not be opened."""
        retrievers = [one for stage in self.stages if isinstance(stage, Retrieve) for one in stage.retrievers]
        return all(isinstance(stage, Retrieve | Top | Generate) for stage in self.stages) and all(
            isinstance(one, Bm25) for one in retrievers
        )

    def without_answer(self) -> Strategy:
        """The same strategy without its answer stage: retrieval alone, without the cost of an answer."""
        return replace(self, stages=tuple(stage for stage in self.stages if stage.kind != "answer"))

    def run(
        self,
        question: str,
        services: Services,
        run: Run | None = None,
        *,
        on_start: OnStart = lambda position, stage: None,
        on_finish: OnFinish = lambda position, step: None,
    ) -> Trace:
        """Run every stage.

        Strategies given the same `run.shared` run equal prefixes once; those that did not run a stage themselves get
        its step marked `reused`. Each has the limits of `services` to itself. Raises StageError once the stages before
        the failed one were passed to `on_finish`, and Stopped; both carry the calls that were sent.
        """
        run = (run or Run()).with_new_budget()
        triage = Context(services, run).urgency(question)
        state = State.start(question, triage)
        steps: list[Step] = []
        for position, stage in enumerate(self.stages):
            try:
                run.check_stop()
                on_start(position, stage)
                run_this = functools.partial(run_stage, stage, state, services, run)
                step, first = run.shared.get(self.prefix(question, position, services), run_this)
            except Stopped:
                raise Stopped(_once(steps)) from None
            except _Failed as failed:
                calls = _once(steps, failed.calls)
                if isinstance(failed.cause, Stopped):
                    raise Stopped(calls) from None
                raise StageError(self.name, stage.name, failed.cause, calls, failed.exchanges) from failed.cause
            if not first:
                run.budget.add_reused(step.calls)
            steps.append(step if first else replace(step, reused=True))
            on_finish(position, steps[-1])
            state = step.after
        warnings = [warning for step in steps for warning in step.warnings]
        warnings += shortages(self.stages, [step.after for step in steps])
        once = tuple(dict.fromkeys(warnings))
        return Trace(
            question,
            self.name,
            self.controls,
            self.fingerprint_on(services.models, services.engine.get("where") or ""),
            tuple(steps),
            services.engine,
            once,
            triage,
            services.models,
        )

    def prefix(self, question: str, position: int, services: Services) -> Hashable:
        """Key of the work up to and including a stage, on these models and indexes."""
        return ("prefix", services.identity, question, self.stages[: position + 1])


def _once(steps: Sequence[Step], more: Sequence[ModelCall] = ()) -> tuple[ModelCall, ...]:
    """The calls of steps and those made since, each once, since one call may serve several stages."""
    return tuple(dict.fromkeys([*(call for step in steps for call in step.calls), *more]))


class _Failed(Exception):
    """A stage failed or was stopped, after it had made some calls."""

    def __init__(self, cause: Exception, meter: Meter) -> None:
        self.cause = cause
        self.calls = tuple(meter.calls)
        self.exchanges = meter.in_order


def run_stage(stage: Stage, state: State, services: Services, run: Run) -> Step:
    """Run one stage with a meter of its own."""
    ctx = Context(services, run)
    started = run.elapsed()
    try:
        after = stage(state, ctx)
        if not isinstance(after, State):  # one of a package, which nothing type-checks
            what = Message(
                "{stage} returned {kind} in place of a State", stage=type(stage).__name__, kind=type(after).__name__
            )
            raise ConfigError(what, Message("Its package has to return the State of what it leaves, as `Stage` says."))
    except Exception as error:
        raise _Failed(error, ctx.meter) from error
    seconds = run.elapsed() - started
    warnings = tuple(dict.fromkeys(ctx.meter.warnings))  # each once, however many calls gave it
    return Step(
        stage.name,
        stage.kind,
        stage.params,
        after,
        seconds,
        tuple(ctx.meter.calls),
        warnings,
        readings=ctx.meter.readings,
        control=stage.control if isinstance(stage, SelectStage) else "",
        outranked=tuple(ctx.meter.outranked),
        embeddings=ctx.meter.embeddings,
        exchanges=ctx.meter.in_order,
        started=started,
        shared=tuple(call for call in dict.fromkeys(ctx.meter.calls) if call not in ctx.meter.made),
    )


@dataclass(frozen=True, slots=True)
class Bound:
    """The most passages a ranking can have: the sum of `parts`, each set by one of `controls`."""

    parts: tuple[int, ...]
    controls: tuple[str, ...]

    @property
    def most(self) -> int:
        return sum(self.parts)

    def passed_on(self) -> str:
        """What it lets through, as a clause."""
        if len(self.parts) == 1:
            how = ""
        elif len(set(self.parts)) == 1:
            how = f" ({len(self.parts)} × {self.parts[0]})"
        else:
            how = f" ({' + '.join(map(str, self.parts))})"
        what = f"{self.most}{how}"
        if len(self.controls) == 1:
            return Message("{control} passes on only {what}", control=self.controls[0], what=what)
        listed = reduce(lambda some, one: Message("{some} and {one}", some=some, one=one), self.controls)
        return Message("{controls} pass on only {what}", controls=listed, what=what)


def shortages(stages: Sequence[Stage], states: Sequence[State]) -> Iterator[str]:
    """One sentence for each control that asks for more passages than another one lets through.

    That searches find the same passages, or all that there are, is no fault of a control.
    """
    bounds: list[Bound] = []  # one per ranking; empty once a retriever's depth is unknown
    for stage, state in zip(stages, states, strict=True):
        match stage:
            case Retrieve():
                made = dict(zip(stage.names, stage.retrievers, strict=True))
                searched = [made[ranking.retriever] for ranking in state.rankings]
                bounds = [Bound((one.most,), (one.control,)) for one in searched if one.most is not None]
                bounds = bounds if len(bounds) == len(searched) else []
            case FusionStage() if bounds:
                parts = tuple(part for bound in bounds for part in bound.parts)
                names = tuple(dict.fromkeys(name for bound in bounds for name in bound.controls))
                bounds = [Bound(parts, names)]
            case SelectStage(most=int(k), control=control):
                for bound in bounds:
                    if k > bound.most:
                        why = bound.passed_on()
                        yield Message("{control} is {wanted}, but {why}.", control=control, wanted=k, why=why)
                bounds = [Bound((k,), (control,)) if k <= bound.most else bound for bound in bounds]
            case _:
                pass
