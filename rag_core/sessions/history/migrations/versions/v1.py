"""The questions, and the panel: rooms, their questions, the people in them and their votes."""

from alembic import op

from rag_core.sessions.history.schema import METADATA, PEOPLE, QUESTIONS, ROOMS, ROUNDS, VOTES

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the tables as they are; a version that changes them writes these out here."""
    METADATA.create_all(op.get_bind(), [QUESTIONS, ROOMS, ROUNDS, PEOPLE, VOTES], checkfirst=False)
