"""The offline engine: classical information retrieval in place of a language model."""

NAME = "offline-extractive"  # where a language model has its own
