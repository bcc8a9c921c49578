"""Checks of the built-in collection, and the making of what is shipped with it."""
