"""Prompts as values, the rewriting templates, and reading what models reply."""
