"""Reading text: words and stems, languages, the thesaurus, facts that a rewrite must keep, the form of a question."""
