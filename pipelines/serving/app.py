"""Puts the service together: its context, its routes, its limits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from sqlalchemy import Engine

from radarstream.connectors.state_table.serving.accounts import StoredAccounts
from radarstream.connectors.state_table.serving.users import checked_name
from radarstream.pipelines.asking.building import build_answerer
from radarstream.pipelines.build import shared_engine, warm_up
from radarstream.pipelines.job.telemetry.metrics import ServingMetrics, build
from radarstream.pipelines.job.telemetry.readings import ModelMetrics
from radarstream.pipelines.serving import answers_api, mcp_server, openai_api, operations
from radarstream.pipelines.serving.access import check_serving
from radarstream.pipelines.serving.console import routes as console
from radarstream.pipelines.serving.console.showing import error_page
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import install_error_handlers
from radarstream.pipelines.serving.limits import RequestLimits
from radarstream.pipelines.serving.people import People, Role, User
from radarstream.pipelines.serving.question_queue import AnswerAll, Warming
from radarstream.pipelines.settings import Settings

ROUTERS = (operations.router, openai_api.router, answers_api.router, console.router)


def create_app(
    settings: Settings,
    answer_all: AnswerAll | None = None,
    engine: Engine | None = None,
    people: People | None = None,
) -> FastAPI:
    """The service as an ASGI app. Raises ConfigurationError where anybody might ask."""
    check_serving(settings)
    engine = engine or shared_engine(settings)
    metrics, warming = ServingMetrics(), Warming()
    if answer_all is None:
        answer_all, warming = built_answerer(settings, engine, metrics)
    people = people or People(engine, settings.serving.session_hours)
    context = Context(settings, engine, answer_all, people, metrics, warming)
    # The documents of FastAPI load scripts from other hosts; `operations` describes the routes.
    app = FastAPI(
        title="radarstream",
        version=build()["version"],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
    )
    app.state.context = context
    for router in ROUTERS:
        app.include_router(router(context))
    app.state.tools = mcp_server.mount(app, context)
    install_error_handlers(app, error_page)
    app.add_middleware(RequestLimits, context=context)
    return app


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Make what belongs to the event loop; tell streams to end when the app ends."""
    context: Context = app.state.context
    context.stopping = asyncio.Event()
    try:
        async with app.state.tools.running(), context.warming.running():
            yield
    finally:
        context.stopping.set()
        await context.close()


def built_answerer(
    settings: Settings, engine: Engine, metrics: ServingMetrics
) -> tuple[AnswerAll, Warming]:
    """What answers, with its figures exported, and what loads its models. Raises
    ConfigurationError.
    """
    accounts = StoredAccounts(engine, settings.orchestration.trust_gain_per_hour)
    answerer = build_answerer(settings, accounts, engine=engine)
    metrics.registry.register(ModelMetrics.of(answerer.pipeline.models))
    return answerer.answer_all, Warming(partial(warm_up, answerer.pipeline.models))


def run_stdio(settings: Settings, engine: Engine, name: str) -> None:
    """Serve the tools of one agent, as `name`, until input ends. Raises ConfigurationError."""
    user = User(checked_name(name), frozenset({Role.ASK, Role.REPORT}))
    metrics, people = ServingMetrics(), People(engine, settings.serving.session_hours)

    async def serve(context: Context) -> None:
        try:
            async with context.warming.running():
                await mcp_server.build_tools(context, user).run_stdio_async()
        finally:
            await context.close()

    answer_all, warming = built_answerer(settings, engine, metrics)
    asyncio.run(serve(Context(settings, engine, answer_all, people, metrics, warming)))
