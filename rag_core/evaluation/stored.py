"""The files an evaluation writes: values with one JSON shape, read back and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from ..values.errors import DataError, unreadable
from ..values.message import Message
from ..values.notice import NOTICE


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
        """The value a JSON file holds.

        Args:
            next_step: what to do when it cannot be read.

        Raises:
            DataError: the file is missing, not JSON, or has another shape.
        """
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
