"""The questions, and the panel: rooms, their questions, the people in them and their votes."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "rag_questions",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("asked", sa.String(32), nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("folded", sa.Text, nullable=False),
        sa.Column("strategies", sa.Text, nullable=False),
        sa.Column("finished", sa.Integer, nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sa.Column("owner", sa.String(32), nullable=False, server_default=sa.text("''")),
    )
    op.create_index("rag_questions_by_time", "rag_questions", ["asked"])
    op.create_index("rag_questions_by_owner", "rag_questions", ["owner", "asked"])
    op.create_table(
        "rag_rooms",
        sa.Column("code", sa.String(8), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("opened", sa.String(32), nullable=False),
        sa.Column("presenter", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(32), nullable=False),
    )
    op.create_table(
        "rag_rounds",
        sa.Column("room", sa.String(8), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("asked", sa.String(32), nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        sa.Column("revealed", sa.Boolean, nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "rag_people",
        sa.Column("room", sa.String(8), primary_key=True),
        sa.Column("person", sa.String(32), primary_key=True),
        sa.Column("joined", sa.String(32), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("left", sa.Integer, nullable=False),
        sa.Column("right", sa.Integer, nullable=False),
    )
    op.create_table(
        "rag_votes",
        sa.Column("room", sa.String(8), primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("person", sa.String(32), primary_key=True),
        sa.Column("pair", sa.String(8), primary_key=True),
        sa.Column("left", sa.Integer, nullable=False),
        sa.Column("right", sa.Integer, nullable=False),
        sa.Column("choice", sa.String(16), nullable=False),
        sa.Column("reasons", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("voted", sa.String(32), nullable=False),
    )
    op.create_index("rag_rooms_by_time", "rag_rooms", ["opened"])
