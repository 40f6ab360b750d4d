"""What alembic runs: the migrations on the caller's connection, or as SQL text.

The caller (`radarstream.connectors.state_table.database.migration`) holds the lock and commits.
"""

from alembic import context

from radarstream.connectors.state_table.database.tables import METADATA

options = context.config.attributes
if context.is_offline_mode():
    context.configure(
        dialect_name=options["dialect"],
        target_metadata=METADATA,
        literal_binds=True,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()
else:
    context.configure(connection=options["connection"], target_metadata=METADATA)
    context.run_migrations()
