"""What a run measures and with what: the manifest in its folder, read back and checked, and the strategies' titles."""

import hashlib
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from ..catalog import RECIPES, Number, describe
from ..documents.benchmark import Benchmark
from ..pipeline.strategy import Strategy
from ..values.errors import DataError, unreadable
from ..values.message import NOTICE, Message


class Stored(BaseModel):
    """An immutable value with one JSON shape: its fields, in their order, under their aliases.

    Unknown keys, such as our notice, are ignored. A field with a default that is missing is not written.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    def as_json(self) -> dict[str, Any]:
        """Plain values, as `json.dumps` takes them, after our notice."""
        return {"notice": NOTICE, **self.model_dump(mode="json", by_alias=True, exclude_unset=True)}

    @classmethod
    def read(cls, path: Path, next_step: str = "Run the evaluation again.") -> Self:
        """The value a JSON file holds; raises DataError if it is missing or has another shape."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            problem = f"{where}: {first['msg']}" if where else first["msg"]
            raise DataError(
                Message("{path} cannot be read: {problem}.", path=path, problem=problem), next_step
            ) from error
        except (OSError, UnicodeError) as error:
            raise unreadable(path, error, next_step) from error


# What two runs must share to be the same run; the rest of a manifest only says where it ran.
IDENTITY = ("data", "split", "checksum", "strategies", "depth", "engine")
PACKAGES = (
    "obstetrics-rag-lab", "chromadb", "llama-index-core", "numpy", "onnxruntime", "sentence-transformers", "torch",
)  # fmt: skip

BUILTIN_DATA = "builtin"  # names the built-in questions where a folder is expected

Engine = Mapping[str, str | None]


class MeasuredStrategy(Stored):
    """A strategy that the run puts the questions to."""

    strategy: str
    controls: dict[str, Any]
    fingerprint: str


class RunFile(Stored):
    """A TREC run file of another system; its fingerprint is its checksum."""

    run_file: str
    fingerprint: str


class Manifest(Stored):
    """What a run measures.

    Args:
        source: "builtin" or the BEIR folder.
        depth: what every count of passages was raised to; None for strategies as configured.
        pairs: labels to compare, overall and by kind of question; empty for every pair, overall only.
        started: local time with its offset.
    """

    data: str
    source: str
    split: str
    checksum: str
    questions: int
    judged_by: str
    depth: int | None
    strategies: dict[str, MeasuredStrategy | RunFile]
    engine: dict[str, str | None]
    pairs: tuple[tuple[str, str], ...] = ()
    versions: dict[str, str]
    machine: str
    started: str

    @property
    def identity(self) -> str:
        """Eight hexadecimal digits of what the run measures."""
        rows = self.as_json()
        what = json.dumps([rows[key] for key in IDENTITY], sort_keys=True)
        return hashlib.sha256(what.encode()).hexdigest()[:8]

    @property
    def minute(self) -> str:
        """When the run started, such as "2026-05-01 09:30"."""
        return self.started[:16].replace("T", " ")

    def conflicts(self, other: Self) -> list[str]:
        ours, theirs = self.as_json(), other.as_json()
        changed = [key for key in IDENTITY if key != "engine" and ours[key] != theirs[key]]
        return changed + engine_changes(self.engine, other.engine)


def describe_run(
    judged: Benchmark,
    strategies: Mapping[str, Strategy],
    *,
    depth: int | None,
    engine: Engine,
    source: str,
    run_files: Mapping[str, Path] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
) -> Manifest:
    """The manifest of a run that starts now; raises DataError if a run file cannot be read."""
    measured: dict[str, MeasuredStrategy | RunFile] = {
        label: MeasuredStrategy(strategy=one.name, controls=dict(one.controls), fingerprint=one.fingerprint)
        for label, one in strategies.items()
    }
    for label, path in (run_files or {}).items():
        measured[label] = RunFile(run_file=path.name, fingerprint=_checksum(path))
    manifest = Manifest(
        data=judged.name,
        source=source,
        split=judged.split,
        checksum=judged.checksum,
        questions=len(judged.measured),
        judged_by=judged.judged_by,
        depth=depth,
        strategies=measured,
        engine=dict(engine),
        versions={"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in PACKAGES},
        machine=f"{platform.machine()}, {os.cpu_count()} cores",
        started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    )
    return manifest.model_copy(update={"pairs": tuple(pairs)}) if pairs else manifest


def engine_changes(one: Engine, other: Engine) -> list[str]:
    """The names of what differs between two engines."""
    return [key for key in {**one, **other} if one.get(key, "") != other.get(key, "")]


def _checksum(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise unreadable(path, error, Message("Check the path.")) from error


def titles(manifest: Manifest) -> dict[str, str]:
    """Label -> title and settings, such as "Hybrid RRF + MMR · λ 0.3"; duplicates also show their label."""
    plain = {label: strategy_title(label, manifest) for label in manifest.strategies}
    all_titles = list(plain.values())
    return {
        label: Message("{title} ({label})", title=title, label=label) if all_titles.count(title) > 1 else title
        for label, title in plain.items()
    }


def strategy_title(label: str, manifest: Manifest) -> str:
    """Title and settings of one strategy of a run, without the counts of passages that its depth raised."""
    entry = manifest.strategies[label]
    if isinstance(entry, RunFile):
        return Message(
            "{label} (rankings of another system, {fingerprint})", label=label, fingerprint=entry.fingerprint
        )
    counts, depth = passage_counts(entry.strategy), manifest.depth
    controls = entry.controls.items()
    own = {name: value for name, value in controls if depth is None or name not in counts or value != depth}
    return describe((entry.strategy, own))


def passage_counts(strategy: str) -> list[str]:
    """The controls of a strategy that count passages; none for one that the catalogue does not have."""
    controls = RECIPES[strategy].controls if strategy in RECIPES else ()
    return [one.name for one in controls if isinstance(one, Number) and one.unit == "passages"]


def data_title(data: str) -> str:
    """What a set of questions is called: the built-in ones by name, a BEIR folder as it is."""
    return Message("Built-in questions") if data == BUILTIN_DATA else data
