"""Documents and benchmarks: the built-in ones and BEIR folders."""
