"""The offline engine: classical information retrieval in place of a language model."""
