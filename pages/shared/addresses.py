"""The pages of the app: address, script and title, in the order of the navigation."""

from __future__ import annotations

from pages.shared.i18n import declared

PAGES = (
    ("", "pages/ask/compare.py", declared("Compare")),
    ("tune", "pages/ask/tune.py", declared("Tune")),
    ("questions", "pages/ask/questions.py", declared("Questions")),
    ("strategies", "pages/learn/guide.py", declared("Strategies")),
    ("documents", "pages/ask/documents.py", declared("Documents")),
    ("measure", "pages/measure/run.py", declared("Measure")),
    ("results", "pages/measure/results.py", declared("Results")),
    ("search-settings", "pages/measure/sweep.py", declared("Search settings")),
    ("history", "pages/measure/history.py", declared("History")),
)
PATHS = tuple(path for path, _, _ in PAGES)
