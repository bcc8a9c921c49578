"""A panel: a room of people who judge answers without names, and what their votes say."""
