"""The pages of the app: address, script and title, in the order of the navigation; and where older addresses lead."""

from __future__ import annotations

from pages.drawing.translate import declared

PAGES = (
    ("", "pages/compare/compare.py", declared("Compare")),
    ("tune", "pages/compare/tune.py", declared("Tune")),
    ("strategies", "pages/strategies/strategies.py", declared("Strategies")),
    ("documents", "pages/documents/documents.py", declared("Documents")),
    ("evaluate", "pages/evaluate/evaluate.py", declared("Evaluate")),
    ("history", "pages/history/history.py", declared("History")),
    ("vote", "pages/panel/vote.py", declared("Vote")),
)
PATHS = tuple(path for path, _, _ in PAGES)
UNLISTED = ("tune", "vote")  # opened from a column of Compare, and by the code of a room
MOVED = {  # an address of earlier versions -> where its page is now
    "compare": "",
    "measure": "evaluate",
    "results": "evaluate?view=results",
    "search-settings": "evaluate?view=search-settings",
    "questions": "history",
}


def moved(path: str, query: str) -> str:
    """Where an address of earlier versions leads, relative to it: what it asked for, in the place where that is now."""
    page, _, view = MOVED[path].partition("?")
    parameters = "&".join(filter(None, (view, query)))
    return f"./{page}?{parameters}".removesuffix("?")
