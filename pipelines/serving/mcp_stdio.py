"""The tools of one agent over standard input and output."""

import asyncio
from contextlib import ExitStack

from sqlalchemy import Engine

from radarstream.connectors.state_table.serving.users import checked_name
from radarstream.pipelines.job.telemetry.metrics import ServingMetrics
from radarstream.pipelines.serving.app import built_answerer
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.mcp_server import build_tools
from radarstream.pipelines.serving.people import Role, User
from radarstream.pipelines.serving.stored_people import StoredPeople
from radarstream.pipelines.settings import Settings


def run_stdio(settings: Settings, engine: Engine, name: str) -> None:
    """Serve until standard input ends. Whoever starts the process may ask and report.

    Trust, spent epsilon and complaints are those of the user `name`. Raises ConfigurationError.
    """
    user = User(checked_name(name), frozenset({Role.ASK, Role.REPORT}))
    metrics = ServingMetrics()
    opened = ExitStack()
    answer_all, warming = built_answerer(settings, engine, metrics, opened)
    context = Context(
        settings=settings,
        engine=engine,
        answer_all=answer_all,
        people=StoredPeople(engine, settings.serving),
        metrics=metrics,
        warming=warming,
    )
    with opened:
        asyncio.run(_serve(context, user))


async def _serve(context: Context, user: User) -> None:
    try:
        async with context.warming.running():
            await build_tools(context, user).run_stdio_async()
    finally:
        await context.questions.close()
