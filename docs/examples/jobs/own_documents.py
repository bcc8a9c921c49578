"""Documents of a program's own: indexed, asked by their metadata, removed."""

from llama_index.core import Document

import rag_core

notes = [Document(text=f"Lamps are in bay {n}.", doc_id=f"lamps{n}", metadata={"ward": n}) for n in (1, 2)]
print(rag_core.index(notes, "wards").added)
trace = rag_core.open_lab("wards").run("Where are lamps?", "bm25", where={"ward": 2})
print([hit.passage.doc_id for hit in trace.ranking])
print(rag_core.remove(notes, "wards"))
