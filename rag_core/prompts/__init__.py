"""Prompts as values, rewriting templates, and parsing of replies."""
