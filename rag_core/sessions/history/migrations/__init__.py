"""The versions of the history's database, for Alembic."""
