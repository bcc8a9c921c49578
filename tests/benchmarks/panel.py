"""How often a panel's ranking is right, on simulated panels of known strength: `python tests/benchmarks/panel.py [REPEATS]`.

To expect: intervals cover in 93 to 97 %, and strategies are wrongly told apart in at most 5 %.
"""

import sys

from helpers.panel import APART, EQUAL, Panel, rates

SEED = 1_000_000
PANELS = {
    "12 people, 5 questions": Panel(APART, 5, 12, each=2),
    "30 people, 10 questions": Panel(APART, 10, 30),
    "60 people, 5 questions": Panel(APART, 5, 60),
    "20 people, 20 questions": Panel(APART, 20, 20),
    "votes are independent": Panel(APART, 10, 20, 0, 0, 0),
    "questions differ much": Panel(APART, 8, 20, 1, 0),
    "people differ much": Panel(APART, 20, 8, 0, 0.8),
    "two strategies": Panel((0.4, -0.4), 10, 20, each=1),
    "all equal": Panel(EQUAL, 8, 20),
    "all equal, votes independent": Panel(EQUAL, 8, 20, 0, 0),
}


def main() -> None:
    """Print the rates of every panel, or of those named: 500 of each, or as many as the first argument says."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for name in sys.argv[2:] or PANELS:
        print(name, rates(PANELS[name], repeats, SEED), flush=True)


if __name__ == "__main__":
    main()
