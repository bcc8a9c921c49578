"""Ask one question by two strategies, and watch the answers come."""

import rag_core

lab = rag_core.open_lab()
print(lab.run("When is anti-D given?", "hybrid_rrf", mmr_lambda=0.5).answer)
for event in lab.stream("When is anti-D given?", ["bm25", "hyde"]):
    if isinstance(event, rag_core.Token):
        print(event.column, event.text)
