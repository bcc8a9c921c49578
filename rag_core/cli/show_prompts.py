"""The prompts behind a result, as text or as JSON."""

from __future__ import annotations

from typing import Any

from ..values.exchanges import Exchange
from ..values.trace import Trace
from .layout import paragraph, say, several_lines


def show_prompts(trace: Trace) -> None:
    """What each model was sent and replied; for the offline engine the fields, since it is sent no text."""
    found = [(step.stage, one) for step in trace.steps for one in step.exchanges]
    if any(one.offline for _, one in found):
        paragraph("The offline engine was sent no text; it reads each prompt's name and fields.")
    for stage, one in found:
        tokens = f", {_tokens(one)}" if not one.offline else ""
        say(f"  {stage}: prompt {one.prompt} to {one.model}{tokens}", hang=4, bold=True)
        if one.offline:
            for name, value in one.fields.items():
                several_lines(f"{name}: {value}")
        else:
            several_lines(f"system: {one.system}")
            several_lines(f"user: {one.text}")
        several_lines(f"reply: {one.reply}")
        if one.error:
            say(f"  failed: {one.error}", fg="yellow")
    if not found:
        paragraph("No model that reads a prompt was called.")
    say()


def _tokens(one: Exchange) -> str:
    sent = sum(call.input_tokens for call in one.calls)
    received = sum(call.output_tokens for call in one.calls)
    who = "+".join(sorted({call.counted_by for call in one.calls})) or "nobody: it was refused"
    return f"{sent:,} tokens in, {received:,} out, counted by {who}"


def prompts_json(trace: Trace) -> dict[str, Any]:
    """`{"prompts": [{"stage", ...}]}`; see `Exchange.as_json`."""
    return {
        "prompts": [{"stage": step.stage, **one.as_json()} for step in trace.steps for one in step.exchanges]
    }
