"""Two strategies on the judged questions, compared, and as other tools take them."""

import rag_core

results = rag_core.evaluate(rag_core.open_lab(), ["bm25", "simple_semantic"], baseline="bm25")
print(results.to_frame(), results.comparisons[0].verdict, sep="\n")
qrels, runs = results.qrels(), results.runs()  # for pytrec_eval and ranx
