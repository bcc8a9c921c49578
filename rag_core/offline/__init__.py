"""The offline engine: classical information retrieval in the place of a language model."""
