"""Puts the service together: its context, its routes, its limits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from sqlalchemy import Engine

from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.job.telemetry.metrics import build
from radarstream.pipelines.serving import operations
from radarstream.pipelines.serving.access import check_serving
from radarstream.pipelines.serving.context import Asker, Context
from radarstream.pipelines.serving.errors import install_error_handlers
from radarstream.pipelines.serving.limits import RequestLimits
from radarstream.pipelines.serving.people import People
from radarstream.pipelines.settings import Settings

ROUTERS = (operations.router,)


def create_app(
    settings: Settings,
    asker: Asker | None = None,
    engine: Engine | None = None,
    people: People | None = None,
) -> FastAPI:
    """The service as an ASGI app; what is not given is built from the settings.

    Raises ConfigurationError where the settings let anybody ask who should not.
    """
    check_serving(settings)
    engine = engine or shared_engine(settings)
    context = Context(
        settings=settings,
        engine=engine,
        asker=asker or built_asker(settings),
        people=people or stored_people(engine, settings),
    )
    # The documents of FastAPI load scripts from other hosts: `operations` has a page of its own.
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
    install_error_handlers(app)
    app.add_middleware(RequestLimits, context=context)
    return app


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Make what belongs to the event loop; tell streams to end when the app ends."""
    context: Context = app.state.context
    context.stopping = asyncio.Event()
    try:
        yield
    finally:
        context.stopping.set()


def built_asker(settings: Settings) -> Asker:
    """The asker of the settings. Raises ConfigurationError."""
    from radarstream.pipelines.asking.building import (  # type: ignore[import-untyped]
        build_asker,
    )

    return build_asker(settings)  # type: ignore[no-any-return]


def stored_people(engine: Engine, settings: Settings) -> People:
    """The users in the database."""
    from radarstream.pipelines.serving.stored_people import (  # type: ignore[import-untyped]
        StoredPeople,
    )

    return StoredPeople(engine, settings.serving)  # type: ignore[no-any-return]
