"""The pages of the app: address, script and title, in the order of the navigation."""

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
