"""What Alembic runs for each command: the migrations, in the transaction that `schema` has begun."""

from alembic import context

from rag_core.sessions.history.schema import VERSIONS

context.configure(connection=context.config.attributes["connection"], version_table=VERSIONS)
context.run_migrations()
