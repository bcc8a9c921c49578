"""Retrieval strategies side by side, on one question, with the evidence, the cost and the reasons.

    import rag_core
    lab = rag_core.open_lab()
    trace = lab.run("When is anti-D given?", "hybrid_rrf", mmr_lambda=0.5)
    print(trace.answer.text)

Importing this package loads no model and reads no file; `open_lab` does.
"""

import os

import lazy_loader

# Read when numpy is imported. The matrices here are small; threads that share one out wait for each other on a busy
# machine, which doubles the time of MMR over 2,000 passages.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# LlamaIndex and Chroma take seconds, in which Ctrl-C must end a command: a name is loaded when first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
