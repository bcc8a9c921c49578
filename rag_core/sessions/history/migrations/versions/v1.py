"""The questions, and when each was asked."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "rag_questions",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("asked", sa.String(32), nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("folded", sa.Text, nullable=False),
        sa.Column("strategies", sa.Text, nullable=False),
        sa.Column("finished", sa.Integer, nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
    )
    op.create_index("rag_questions_by_time", "rag_questions", ["asked"])
