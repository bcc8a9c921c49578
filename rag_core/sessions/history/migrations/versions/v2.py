"""Whose question it is, where visitors sign in."""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Add the owner; earlier questions have none."""
    op.add_column(
        "rag_questions", sa.Column("owner", sa.String(32), nullable=False, server_default=sa.text("''"))
    )
    op.create_index("rag_questions_by_owner", "rag_questions", ["owner", "asked"])
