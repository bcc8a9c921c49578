"""data/RESULTS.md shows the stored result, and a few of its questions give now what they gave then."""

import json

from helpers.small import ROOT
from helpers.stored_results import ROWS, SAMPLE, STORED, STRATEGIES, measured_again, rows

from rag_core import evaluation as ev
from rag_core.evaluation.tables import BEGIN, END
from rag_core.values.settings import read_settings


def test_the_page_shows_the_stored_figures():
    page = (ROOT / "data" / "RESULTS.md").read_text(encoding="utf-8")
    table = page.partition(BEGIN)[2].partition(END)[0]
    assert table.strip() == ev.markdown(STORED).strip(), "run `make results`"


def test_the_stored_result_is_of_these_questions_and_strategies():
    manifest = STORED.manifest
    judged = ev.read_judged("builtin", STORED.split, read_settings())
    assert manifest.checksum == judged.checksum, "run `make results`"
    built = ev.build_strategies(
        {label: (row.strategy, row.controls) for label, row in manifest.strategies.items()}, manifest.depth
    )
    assert {label: row.fingerprint for label, row in manifest.strategies.items()} == {
        label: one.fingerprint for label, one in built.items()
    }, "run `make results`"


def test_a_few_questions_find_what_they_found(lab, tmp_path):
    """Every strategy finds the same documents in the same order.

    One question of a strategy may differ: another build of the linear algebra rounds the last bit of a cosine
    otherwise, and two passages that tie to that bit change places. `make bench` measures all questions.
    """
    stored = json.loads(ROWS.read_text(encoding="utf-8"))
    with measured_again(lab, tmp_path / "run", SAMPLE) as run:
        found = rows(run)
    assert {label: list(row) for label, row in found.items()} == {
        label: list(row) for label, row in stored.items()
    }, "run `make results`"
    assert (len(found), {len(row) for row in found.values()}) == (len(STRATEGIES), {SAMPLE})
    changed = {
        label: [question for question in row if row[question] != stored[label][question]]
        for label, row in found.items()
    }
    assert {label: row for label, row in changed.items() if len(row) > 1} == {}
