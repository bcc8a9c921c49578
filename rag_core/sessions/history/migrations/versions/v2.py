"""Exams: their questions, who has which in front of them, and what people say of the passages."""

from alembic import op

from rag_core.sessions.history.schema import EXAM_TABLES, METADATA

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Create the tables as they are; a version that changes them writes these out here."""
    METADATA.create_all(op.get_bind(), EXAM_TABLES, checkfirst=False)
