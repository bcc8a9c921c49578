"""The prompts behind a result as HTML: what each model was sent, and what it replied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import rag_core
from pages.compare.bills import of_purpose
from pages.drawing.translate import t, translated
from pages.drawing.untrusted import escape
from pages.shared import setups
from rag_core.explain import query_title, stage_title
from rag_core.values.types import token_counts

if TYPE_CHECKING:
    from rag_core.values.trace import Exchange


def prompts(trace: rag_core.Trace) -> str:
    """Every prompt of a result, stage by stage, each folded; what is sent to no model says so."""
    stages = "".join(_stage(step) for step in trace.steps if step.exchanges)
    if not stages:
        return f'<p class="rl-note">{escape(t("No prompt was needed: this result called no model that reads one."))}</p>'
    return f'<div class="rl-prompts">{_note([one for step in trace.steps for one in step.exchanges])}{stages}</div>'


def before_failure(steps: Sequence[rag_core.Step], error: rag_core.RagError) -> str:
    """Every prompt of a strategy that failed, the failed stage's last; empty without any."""
    failed = error.exchanges if isinstance(error, rag_core.StageError) else ()
    exchanges = [*(one for step in steps for one in step.exchanges), *failed]
    if not exchanges:
        return ""
    stages = "".join(_stage(step) for step in steps if step.exchanges)
    last = _failed(error) if isinstance(error, rag_core.StageError) and failed else ""
    return f'<div class="rl-prompts"><b>{t("Prompts")}</b>{_note(exchanges)}{stages}{last}</div>'


def _failed(error: rag_core.StageError) -> str:
    title = t("{stage}: failed", stage=translated(stage_title(error.stage)))
    return f"<section><h4>{escape(title)}</h4>{''.join(_exchange(one) for one in error.exchanges)}</section>"


def _note(exchanges: Sequence[Exchange]) -> str:
    notes = []
    if any(one.offline for one in exchanges):
        notes.append(
            t(
                "The offline engine was sent no text: it has no language model. It reads the name of a prompt and "
                "its fields, which are listed instead."
            )
        )
    if not all(one.offline for one in exchanges):
        notes.append(
            t(
                "Each text stands as it was sent. The history, when it is on, keeps it with the question; the JSON export leaves it out."
            )
        )
    return "".join(f'<p class="rl-note">{escape(note)}</p>' for note in notes)


def _stage(step: rag_core.Step) -> str:
    reused = (
        f" <small>{escape(t('reused from an earlier run; nothing was sent again'))}</small>"
        if step.reused
        else ""
    )
    return f"<section><h4>{escape(translated(stage_title(step.stage)))}{reused}</h4>{''.join(_exchange(one) for one in step.exchanges)}</section>"


def _exchange(one: Exchange) -> str:
    """One prompt, folded: its name, model and tokens; then the texts."""
    failed = (
        f' <small class="rl-lost">{escape(t("failed: {reason}", reason=one.error))}</small>'
        if one.error
        else ""
    )
    summary = (
        f"<b>{escape(of_purpose(one.purpose))}</b>{escape(_called(one))} "
        f"<small>{escape(setups.called(one.model))} · {escape(_tokens(one))}</small>{failed}"
    )
    sent = (
        []
        if one.offline
        else [_text(t("System message, as sent"), one.system), _text(t("User message, as sent"), one.text)]
    )
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value) or '–'}</dd>" for name, value in one.fields.items()
    )
    fields = f'<h5>{escape(t("Fields filled in"))}</h5><dl class="rl-fields">{rows}</dl>'
    body = "".join([*sent, _text(t("Reply"), one.reply), fields])
    return f'<details class="rl-prompt"><summary>{summary}</summary>{body}</details>'


def _called(one: Exchange) -> str:
    """Which of several prompts for one purpose it is, and of several tries which; empty for the only one."""
    name = translated(query_title(one.prompt)) if one.purpose == "rewrite" else ""
    again = t("again ({n})", n=one.sample + 1) if one.sample else ""
    which = ", ".join(part for part in (name, again) if part)
    return f": {which}" if which else ""


def _tokens(one: Exchange) -> str:
    """Tokens in and out, and who counted them."""
    if not one.calls:
        return t("no tokens: the provider refused it")
    sent, received = token_counts(_of_language_models(one.calls))
    if one.offline:
        return t(
            "{sent} tokens in, {received} out if it were sent", sent=f"{sent:,}", received=f"{received:,}"
        )
    if all(call.counted_by == "provider" for call in _of_language_models(one.calls)):
        return t(
            "{sent} tokens in, {received} out, counted by the provider",
            sent=f"{sent:,}",
            received=f"{received:,}",
        )
    return t("{sent} tokens in, {received} out, counted here", sent=f"{sent:,}", received=f"{received:,}")


def _of_language_models(calls: Sequence[rag_core.ModelCall]) -> list[rag_core.ModelCall]:
    return [call for call in calls if call.of_language_model]


def _text(title: str, text: str) -> str:
    body = escape(text) if text else f"<i>{escape(t('empty'))}</i>"
    return (
        f'<h5>{escape(title)}</h5><pre tabindex="0" role="region" aria-label="{escape(title)}">{body}</pre>'
    )
