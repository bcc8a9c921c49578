"""Urgent signs in a question, found by rules: no model, no network."""
