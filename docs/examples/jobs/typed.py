"""What a function of one's own may say of the lab: every public name is typed, for `mypy --strict`."""

import rag_core


def titles(traces: list[rag_core.Trace]) -> dict[str, list[str]]:
    """Strategy -> the titles of the passages it used."""
    return {trace.strategy: [hit.passage.title for hit in trace.ranking] for trace in traces}


print(titles(rag_core.open_lab().compare("When is anti-D given?", ["bm25", ("hyde", {"k_final": 3})])))
