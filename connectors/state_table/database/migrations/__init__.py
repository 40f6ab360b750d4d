"""Alembic's environment and the schema's versions, oldest first."""
