"""Two results compared, drawn as HTML: which passages entered, left and moved, and what changed in the answer."""

from collections import Counter
from collections.abc import Mapping, Sequence

import rag_core
from pages.drawing.pieces import note
from pages.drawing.translate import plural, t, translated
from pages.drawing.untrusted import escape
from rag_core.explain import Fate, RankChange, SentenceChange, answer_changes, summary_of_fates


def in_short(changes: Sequence[RankChange]) -> str:
    """How many passages changed: "1 entered, 1 left, 2 moved"."""
    count = Counter("moved" if one.kind in ("up", "down") else one.kind for one in changes)
    told = {
        "entered": plural("{count} passage entered", "{count} passages entered", count["entered"]),
        "left": plural("{count} left", "{count} left", count["left"]),
        "moved": plural("{count} moved", "{count} moved", count["moved"]),
    }
    return ", ".join(told[kind] for kind in told if count[kind]) or t("same passages, same order")


def ranks(changes: Sequence[RankChange], setting: str, labels: Mapping[str, str]) -> str:
    """The passages used, with moves and labels by id, then those no longer used; `setting` is its fingerprint."""
    used, left = "", ""
    for one in changes:
        title = f'<span class="rl-cut-title">{escape(one.passage.full_title)}</span>'
        if one.after:
            label = _label(one, labels) if one.kind == "entered" else ""
            used += (
                f'<li class="rl-{escape(one.kind)}"><span class="rl-n">{one.after:d}</span>'
                f"{_badge(one)}{title}{label}</li>"
            )
        else:
            was = f'<span class="rl-label rl-low">{escape(t("was {rank}", rank=one.before))}</span>'
            fate = f"<small>{escape(translated(one.fate))}</small>"
            left += f'<li class="rl-left"><span class="rl-n">–</span>{was}{title}{_label(one, labels)}{fate}</li>'
    gone = f"{note(t('No longer used'))}<ul>{left}</ul>" if left else ""
    return f'<div class="rl-changes" data-setting="{escape(setting)}" role="region" aria-label="{escape(t("Passages used"))}"><ol>{used}</ol>{gone}</div>'


def _label(change: RankChange, labels: Mapping[str, str]) -> str:
    """How relevant it is; empty where no result has labelled it."""
    name = labels.get(change.passage.id, "")
    css = f"rl-label rl-{escape(name.lower())}"
    return f'<span class="{css}">{escape(translated(name))}</span>' if name else ""


def _badge(change: RankChange) -> str:
    """How a passage moved: in words for a screen reader, and never by colour alone."""
    by = abs((change.before or 0) - (change.after or 0))
    shown, spoken, css = {
        "entered": (t("new"), t("entered"), "rl-high"),
        "up": (f"▲ {by}", t("up {by}", by=by), "rl-high"),
        "down": (f"▼ {by}", t("down {by}", by=by), "rl-medium"),
    }.get(change.kind, ("=", t("unchanged"), "rl-low"))
    return f'<span class="rl-label {escape(css)}" aria-label="{escape(spoken)}">{escape(shown)}</span>'


def answers(before: rag_core.Answer, after: rag_core.Answer) -> str:
    """What changed in the answer, sentence by sentence."""
    changes = answer_changes(before, after)
    if all(one.kind == "same" for one in changes):
        return note(t("The answer says the same as the baseline’s."))
    title = t("The answer differs from the baseline’s")
    return (
        f'<details class="rl-differs"><summary>{escape(title)}</summary>'
        f"{_sentences(changes, 'new', t('New in this answer'))}"
        f"{_sentences(changes, 'gone', t('Only in the baseline’s answer'))}</details>"
    )


def without(before: rag_core.Answer, after: rag_core.Answer) -> str:
    """What changed in an answer since a passage was left out."""
    found = answer_changes(before, after)
    if all(one.kind == "same" for one in found):
        return f"<p>{escape(t('The answer stays the same.'))}</p>"
    return "".join(
        _sentences(found, kind, title) for kind, title in (("gone", t("Gone")), ("new", t("New")), ("same", t("Stays")))
    )


def _sentences(changes: Sequence[SentenceChange], kind: str, title: str) -> str:
    rows = "".join(f"<li>{escape(one.text)}</li>" for one in changes if one.kind == kind)
    return f"<p><b>{escape(title)}</b></p><ul>{rows}</ul>" if rows else ""


def fates(found: Sequence[Fate]) -> str:
    """Every passage that any stage returned, and what became of it."""
    rows = "".join(
        f'<tr class="rl-{"used" if fate.used else "lost"}"><td>{escape(translated(fate.text))}</td>'
        f"<td>{escape(fate.passage.full_title)}</td></tr>"
        for fate in found
    )
    return (
        f'<p class="rl-note">{escape(translated(summary_of_fates(found)))}.</p><div class="rl-scroll rl-fates" tabindex="0" '
        f'role="region" aria-label="{escape(t("What became of each passage"))}"><table class="rl-table"><thead><tr><th scope="col">{escape(t("Fate"))}</th>'
        f'<th scope="col">{escape(t("Passage"))}</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )
