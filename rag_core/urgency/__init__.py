"""How urgent a question is, by rules and by its wording: no network, and no model to load."""
