"""What was sent to a model, and what came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .types import ModelCall


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt as a model got it, and the reply.

    Args:
        prompt: the template's name.
        purpose: the role it was sent to: "answer", "rewrite", "judge", ...
        system: the system message as sent; empty for the offline engine, which is sent no text.
        text: the user message as sent; empty for the offline engine.
        fields: field -> what filled it in; passages by number and title.
        reply: as received, also where it was cut off or could not be used.
        offline: whether the offline engine replied: it reads `prompt` and the fields instead of a text.
        calls: what it was billed, by the model's own count or ours; empty when the provider refused it.
        error: why there is no complete reply; empty when there is one.
        sample: which of several replies to the same prompt this is, from 0.
    """

    prompt: str
    purpose: str
    model: str
    system: str
    text: str
    fields: Mapping[str, str]
    reply: str
    offline: bool = False
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)
    error: str = ""
    sample: int = 0

    @property
    def place(self) -> tuple[object, ...]:
        """Where it stands among the others of its stage, whose calls end in any order."""
        return self.prompt, tuple(self.fields.values()), self.text, self.sample

    def as_json(self) -> dict[str, Any]:
        """The shape `rag query --json --show-prompts` prints; texts that were not sent are null."""
        return {
            "prompt": self.prompt,
            "sample": self.sample,
            "purpose": self.purpose,
            "model": self.model,
            "offline": self.offline,
            "system": None if self.offline else self.system,
            "text": None if self.offline else self.text,
            "fields": dict(self.fields),
            "reply": self.reply,
            "input_tokens": sum(call.input_tokens for call in self.calls),
            "output_tokens": sum(call.output_tokens for call in self.calls),
            "counted_by": "+".join(sorted({call.counted_by for call in self.calls})) or None,
            "error": self.error or None,
        }
