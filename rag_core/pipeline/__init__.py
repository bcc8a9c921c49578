"""Strategies, and the stream of events of several on one question."""
