"""One question and what each strategy made of it, as it is kept."""

import dataclasses
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...documents.documents import BUILTIN
from ...values.errors import DataError
from ...values.message import Message
from ...values.model_choice import AS_SET, ModelChoice
from ...values.packed import pack, unpack
from ...values.trace import Step, Trace
from ...values.types import ModelCall


@dataclass(frozen=True, slots=True)
class AskedColumn:
    """One strategy's result, finished or not; texts are empty for what did not happen.

    Args:
        text: the answer so far; the trace has the whole one.
        failed_calls: the model calls of a failed strategy.
        models, corpus, where: what it chose in place of the settings' models, the question's corpus and all its passages.
    """

    strategy: str
    controls: Mapping[str, Any]
    steps: tuple[Step, ...] = ()
    text: str = ""
    trace: Trace | None = None
    error: str = ""
    next_step: str = ""
    stopped: str = ""
    failed_calls: tuple[ModelCall, ...] = ()
    models: ModelChoice = AS_SET
    corpus: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was asked.

    Args:
        id: cannot be guessed; the address of a comparison has it too.
        asked: when, in UTC.
        country: whose guidance led; empty for none.
        calls: the model calls it paid for; those of reused stages are not among them.
        best: the columns, from 0, voted best while their names were hidden: several for a tie, empty if none was good
            enough; None without a vote.
    """

    id: str
    asked: datetime
    question: str
    columns: tuple[AskedColumn, ...]
    country: str = ""
    corpus: str = BUILTIN
    calls: tuple[ModelCall, ...] = ()
    best: tuple[int, ...] | None = None

    @property
    def finished(self) -> int:
        return sum(column.trace is not None for column in self.columns)


def to_bytes(asked: Asked) -> bytes:
    """Everything about a question but its id, compressed."""
    fields = {**_fields(asked), "columns": [_fields(column) for column in asked.columns]}
    del fields["id"], fields["asked"]
    return zlib.compress(pack(fields).encode())


def from_bytes(identity: str, asked: datetime, stored: bytes) -> Asked:
    """The question that `to_bytes` wrote; raises DataError if it is damaged, or of another version."""
    try:
        fields = unpack(zlib.decompress(stored))
        columns = tuple(AskedColumn(**column) for column in fields.pop("columns"))
        return Asked(id=identity, asked=asked.astimezone(UTC), columns=columns, **fields)
    except (zlib.error, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            Message("This question cannot be opened: {kind}: {reason}.", kind=type(error).__name__, reason=error),
            Message("It is damaged, or another version wrote it; ask it again."),
        ) from error


def _fields(value: Asked | AskedColumn) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
