"""The best values of two controls on dev, reported on test."""

import rag_core

swept = rag_core.sweep(rag_core.open_lab(), "bm25", {"k1": [0.9, 1.5], "b": [0.4, 0.75]})
print(swept, swept.to_frame(), swept.comparison.verdict, sep="\n")
