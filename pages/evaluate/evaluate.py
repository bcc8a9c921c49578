"""How good the strategies are on judged questions: measure, see the results, search settings, compare runs."""

import streamlit as st

from pages.drawing import untrusted
from pages.drawing.translate import declared, t
from pages.evaluate import results, run, runs, sweep
from pages.shared import question_header

VIEWS = {
    "measure": (declared("Measure"), run.draw),
    "results": (declared("Results"), results.draw),
    "search-settings": (declared("Find settings"), sweep.draw),
    "runs": (declared("Runs"), runs.draw),
}
OWN = {"run": "results", "sweep": "search-settings"}  # a parameter of the address -> the view it is for


def main() -> None:
    """Draw the page."""
    st.header(t("Measure strategies on judged questions"), anchor=False)
    view = question_header.choose_view({name: title for name, (title, _) in VIEWS.items()}, "evaluate.view")
    for parameter, owner in OWN.items():
        if view != owner:
            st.query_params.pop(parameter, None)
    _, draw = VIEWS[view]
    with untrusted.errors():  # such as a setting that is not valid
        draw()


main()
