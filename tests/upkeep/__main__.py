"""`make check-collection` and `make vectors`: the built-in collection checked, and its shipped vectors updated.

python -m upkeep check [--json]: counts and problems; the exit code is 1 if there are any.
python -m upkeep vectors: embed the texts that have no vector yet.
"""

import argparse
import sys

from rag_core.cli import show
from rag_core.cli.layout import say, say_json
from rag_core.indexing import OfflineEnricher
from rag_core.lab.engines import load_engines
from rag_core.values.settings import read_settings

from .builtin import check, write_vectors


def main() -> int:
    """Run the action of the command line."""
    parser = argparse.ArgumentParser(prog="python -m upkeep", description=__doc__)
    parser.add_argument("action", choices=["check", "vectors"])
    parser.add_argument("--json", action="store_true", help="counts and problems as JSON")
    arguments = parser.parse_args()
    settings = read_settings()
    engines = load_engines(settings)
    collection = (settings.data, engines.embedder, OfflineEnricher(engines.thesaurus))
    if arguments.action == "vectors":
        say(f"{write_vectors(*collection)} vectors written.")
        return 0
    counts, problems = check(*collection)
    if arguments.json:
        say_json({"counts": counts, "problems": problems})
    else:
        show.collection(counts, problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
