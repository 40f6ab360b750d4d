"""What alembic runs: the migrations as SQL text."""

from alembic import context

from radarstream.connectors.state_table.database.tables import METADATA

context.configure(
    dialect_name=context.config.attributes["dialect"],
    target_metadata=METADATA,
    literal_binds=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
