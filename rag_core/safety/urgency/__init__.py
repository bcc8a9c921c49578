"""How urgent a question is, by rules and by its wording, and what passages say of urgent signs: no network or model to load."""
