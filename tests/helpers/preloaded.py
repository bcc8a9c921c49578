"""Imported by the process that others are forked from, so that none of them loads the language detector anew."""

from rag_core.language.analysis import languages_of

languages_of([("Cats purr.", "en")])
