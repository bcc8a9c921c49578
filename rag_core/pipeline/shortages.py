"""Warnings for controls that ask for more passages than the strategy can pass on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from ..stages.base import FusionStage, SelectStage, Stage
from ..stages.retrieve import Retrieve
from ..values.message import Message
from ..values.types import State


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
        return _passed_on(self.controls, f"{self.most}{how}")


def shortages(stages: Sequence[Stage], states: Sequence[State]) -> list[str]:
    """One sentence for each control that asks for more passages than arrive.

    A control capped by another is always reported. The last cut is also reported when too few distinct
    passages reach it, unless a search without a limit found no more. Passages dropped by a threshold or a judge do
    not count as a shortage.
    """
    capped = dict(_capped(stages, states))
    cuts = [
        place
        for place, stage in enumerate(stages)
        if isinstance(stage, Retrieve) or (isinstance(stage, SelectStage) and stage.most is not None)
    ]
    if cuts and (found := _too_few(stages, states, cuts[-1])):
        control, sentence = found
        capped.setdefault(control, sentence)
    return list(capped.values())


def _capped(stages: Sequence[Stage], states: Sequence[State]) -> Iterator[tuple[str, str]]:
    """(control, sentence) for each cut that can never be filled."""
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
                        yield control, _short(control, k, bound.passed_on())
                bounds = [Bound((k,), (control,)) if k <= bound.most else bound for bound in bounds]
            case _:
                pass


def _too_few(stages: Sequence[Stage], states: Sequence[State], last: int) -> tuple[str, str] | None:
    """(control, sentence) when the last cut got fewer distinct passages than it asks for."""
    cut = stages[last]
    if isinstance(cut, Retrieve):
        wanted, control = cut.retrievers[0].most, cut.retrievers[0].control
    else:
        assert isinstance(cut, SelectStage)
        wanted, control = cut.most, cut.control
    got = _different(states[last])
    if wanted is None or len(states[last].rankings) != 1 or not 0 < got < wanted:
        return None
    place = next(place for place, state in enumerate(states) if state.rankings and _different(state) < wanted)
    match stages[place]:
        case Retrieve() as search:
            found = states[place].rankings
            made = dict(zip(search.names, search.retrievers, strict=True))
            searched = ((made[one.retriever], len(one)) for one in found)
            if full := tuple(dict.fromkeys(one.control for one, size in searched if size == one.most)):
                left = _passed_on(full, _different_passages(got))
            elif any(hit.passage.copies for ranking in found for hit in ranking):
                left = Message("equal texts count as one, which leaves {got}", got=got)
            else:
                return None  # it found all that there is
        case SelectStage(most=int(), control=other):
            left = _passed_on((other,), _different_passages(got))
        case _:
            return None
    return control, _short(control, wanted, left)


def _different(state: State) -> int:
    return len({hit.id for ranking in state.rankings for hit in ranking})


def _short(control: str, wanted: int, why: str) -> str:
    return Message("{control} is {wanted}, but {why}.", control=control, wanted=wanted, why=why)


def _different_passages(got: int) -> str:
    return Message("one different passage") if got == 1 else Message("{got} different passages", got=got)


def _passed_on(controls: Sequence[str], what: str) -> str:
    if len(controls) == 1:
        return Message("{control} passes on only {what}", control=controls[0], what=what)
    listed = reduce(lambda some, one: Message("{some} and {one}", some=some, one=one), controls)
    return Message("{controls} pass on only {what}", controls=listed, what=what)
