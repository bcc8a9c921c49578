"""`python -m rag_core` is `rag`."""

from .cli import main

main()
