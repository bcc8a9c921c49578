"""What an exam's figures could still become: passages found that nobody judged count as no answer."""

from dataclasses import asdict, dataclass

import numpy as np

from ..values.message import Message
from .metrics import Metric
from .run_folder import RunFolder

BEST = 2  # the highest grade of an exam


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Of one strategy: how many of all its `first` passages nobody judged, and its mean as it is, and if all of those answered."""

    first: int
    passages: int
    mean: float
    at_most: float

    def sentence(self, name: str, metric: str) -> Message:
        """What to say of it beside the figure."""
        said = {"name": name, "metric": metric, **asdict(self)}
        if f"{self.mean:.3f}" == f"{self.at_most:.3f}":
            return Message("{name}: {passages} of its {first} first passages are not judged.", **said)
        return Message(
            "{name}: {passages} of its {first} first passages are not judged; {metric} {mean:.3f} could become {at_most:.3f}.",
            **said,
        )


def unjudged(run: RunFolder, metric: Metric) -> dict[str, Unjudged]:
    """What is left to judge of an exam, by label, if anything is; empty for other data, whose unjudged documents were left out for good."""
    if not run.judged.exam_of:
        return {}
    found = {}
    for label, records in run.records.items():
        first = missing = 0
        now, then = [], []
        for question, record in records.items():
            if record.error:
                continue
            grades = run.judged.qrels[question]
            shown = record.ranked[: metric.cutoff]
            lacking = {one: BEST for one in shown if one not in grades}
            first, missing = first + len(shown), missing + len(lacking)
            now.append(metric(record.ranked, grades))
            then.append(max(now[-1], metric(record.ranked, {**grades, **lacking})))
        if missing:
            found[label] = Unjudged(first, missing, float(np.mean(now)), float(np.mean(then)))
    return found
