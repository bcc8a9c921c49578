"""Two results compared, as HTML, drawn by changes.html: which passages entered, left and moved, and what changed in the answer."""

from collections import Counter
from collections.abc import Mapping, Sequence

from markupsafe import Markup

import rag_core
from pages.drawing.fragments import note, render
from pages.drawing.translate import plural, t, translated
from rag_core.explain import Fate, RankChange, answer_changes, summary_of_fates


def in_short(changes: Sequence[RankChange]) -> str:
    """How many passages changed: "1 entered, 1 left, 2 moved"."""
    count = Counter("moved" if one.kind in ("up", "down") else one.kind for one in changes)
    told = {
        "entered": plural("{count} passage entered", "{count} passages entered", count["entered"]),
        "left": plural("{count} left", "{count} left", count["left"]),
        "moved": plural("{count} moved", "{count} moved", count["moved"]),
    }
    return ", ".join(told[kind] for kind in told if count[kind]) or t("same passages, same order")


def ranks(changes: Sequence[RankChange], setting: str, labels: Mapping[str, str]) -> Markup:
    """The passages used, with moves and labels by id, then those no longer used; `setting` is its fingerprint."""
    return render("changes.ranks", changes=changes, labels=labels, setting=setting)


def answers(before: rag_core.Answer, after: rag_core.Answer) -> Markup:
    """What changed in the answer, sentence by sentence."""
    found = sentences(before, after)
    if not (found["new"] or found["gone"]):
        return note(t("The answer says the same as the baseline’s."))
    return render("changes.answers", new=found["new"], gone=found["gone"])


def sentences(before: rag_core.Answer, after: rag_core.Answer) -> Mapping[str, Sequence[str]]:
    """The sentences of two answers: those that are "new", "gone" and the "same"."""
    found: dict[str, list[str]] = {"new": [], "gone": [], "same": []}
    for one in answer_changes(before, after):
        found[one.kind].append(one.text)
    return found


def fates(found: Sequence[Fate]) -> Markup:
    """Every passage that any stage returned, and what became of it."""
    return render("changes.fates", summary=translated(summary_of_fates(found)), found=found)
