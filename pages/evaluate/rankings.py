"""A recorded ranking drawn as HTML: each stage with its documents and their grades."""

from __future__ import annotations

from collections.abc import Mapping

from pages.drawing.translate import t, translated
from pages.drawing.untrusted import escape
from rag_core import evaluation as ev
from rag_core.explain import query_title, stage_title

SHOWN = 10  # documents per stage; the rest are counted


def stages(record: ev.Record, grades: Mapping[str, int], titles: Mapping[str, str]) -> str:
    """Every stage of a run on one question, in order, with each document's grade."""
    missed = record.missed(grades)
    parts = [
        f'<div class="rl-stage"><b>{escape(translated(stage_title(stage.stage)))}</b> '
        f"<small>{1000 * stage.seconds:.1f} ms</small>{_lanes(stage, grades, titles)}</div>"
        for stage in record.stages
        if stage.lanes
    ]
    if missed:
        rows = "".join(f"<li>{_document(name, grades, titles)}</li>" for name in missed[:SHOWN])
        more = f"<li>{t('and {count} more', count=len(missed) - SHOWN)}</li>" if len(missed) > SHOWN else ""
        parts.append(
            f'<div class="rl-stage"><b>{t("Relevant but not returned")}</b><ul>{rows}{more}</ul></div>'
        )
    return "".join(parts)


def _lanes(stage: ev.StageRecord, grades: Mapping[str, int], titles: Mapping[str, str]) -> str:
    parts = []
    for lane in stage.lanes:
        searched = translated(stage_title(lane.retriever))
        written = "" if lane.origin == "question" else translated(query_title(lane.origin))
        name = " · ".join(part for part in (searched, written) if part)
        head = f'<p class="rl-note">{escape(name)}</p>' if len(stage.lanes) > 1 else ""
        rows = "".join(f"<li>{_document(one, grades, titles)}</li>" for one in lane.documents[:SHOWN])
        left = len(lane.documents) - SHOWN
        more = f'<p class="rl-note">{t("and {count} more", count=left)}</p>' if left > 0 else ""
        parts.append(f"{head}<ol>{rows}</ol>{more}")
    return "".join(parts)


def _document(name: str, grades: Mapping[str, int], titles: Mapping[str, str]) -> str:
    grade = grades.get(name)
    if grade is None:
        mark = f'<span class="rl-label rl-low">{t("not judged")}</span>'
    else:
        css = "rl-high" if grade > 1 else "rl-medium" if grade == 1 else "rl-low"
        mark = f'<span class="rl-label {css}">{t("grade {grade:d}", grade=grade)}</span>'
    return f"{mark} {escape(titles.get(name) or name)}"
