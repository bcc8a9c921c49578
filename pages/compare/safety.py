"""Whether strategies said what to do at once, drawn as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pages.drawing.translate import t
from pages.drawing.untrusted import escape

if TYPE_CHECKING:
    from rag_core.offline.safety import SafetyCheck


def table(checks: Sequence[tuple[str, SafetyCheck]]) -> str:
    """Which strategies found the passage that says what to do now, and whether their answers begin with it.

    Args:
        checks: the name of each strategy and its check.
    """
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{_found(check)}'
        f"{_cell(check.leads, (t('yes, by our notice') if check.by_notice else t('yes')) if check.leads else t('no'))}</tr>"
        for name, check in checks
    )
    return (
        f'<table class="rl-safety"><thead><tr><th scope="col">{t("Strategy")}</th>'
        f'<th scope="col">{t("Passage that says what to do now")}</th>'
        f'<th scope="col">{t("Answer begins with what to do")}</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _found(check: SafetyCheck) -> str:
    if not check.signs:
        return f"<td>{t('unknown: no single sign was recognised')}</td>"
    return _cell(
        check.rank is not None, t("found, rank {rank}", rank=check.rank) if check.rank else t("not found")
    )


def _cell(right: bool, text: str) -> str:
    return f"<td>{escape(text)}</td>" if right else f'<td class="rl-missed">{escape(text)}</td>'
