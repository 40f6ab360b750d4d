"""Health, metrics and the description of the interface."""

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from radarstream.pipelines.job.telemetry.endpoint import Health
from radarstream.pipelines.serving.access import Operator, open_to_all
from radarstream.pipelines.serving.context import Context


class ServiceHealth(Health):
    """Lives while the event loop turns; looks whether the service takes questions when asked."""

    def __init__(self, context: Context) -> None:
        silence_s = context.settings.telemetry.silence_s
        super().__init__(silence_s, silence_s, checks=())
        self._context = context

    def checks(self) -> dict[str, bool]:
        """Return whether the database answers, the models are loaded, and nobody stops it."""
        context = self._context
        return {
            "database": answers(context.engine),
            "models": context.warming.ready,
            "running": not context.stopping.is_set(),
        }


def router(context: Context) -> APIRouter:
    """Routes for whoever runs the service, and the description of all routes."""
    routes = APIRouter(tags=["operations"])

    @routes.get("/healthz", dependencies=[Depends(open_to_all)], response_class=JSONResponse)
    async def healthz() -> dict[str, bool]:
        """Whether the process lives: it answers."""
        return {"alive": True}

    @routes.get("/readyz", dependencies=[Depends(open_to_all)], response_class=JSONResponse)
    async def readyz() -> JSONResponse:
        """Whether the database answers, the models are loaded, and nobody stops the service."""
        body = await run_in_threadpool(ServiceHealth(context).readiness)
        return JSONResponse(body, 200 if body["ready"] else 503)

    @routes.get("/metrics")
    async def metrics(_user: Operator) -> Response:
        """Figures for Prometheus."""
        body = await run_in_threadpool(generate_latest, context.metrics.registry)
        return PlainTextResponse(body, media_type=CONTENT_TYPE_LATEST)

    @routes.get("/openapi.json", dependencies=[Depends(open_to_all)], response_class=JSONResponse)
    async def openapi(request: Request) -> dict[str, Any]:
        """The description of the interface, by OpenAPI."""
        description: dict[str, Any] = request.app.openapi()
        return description

    return routes


def answers(engine: Engine) -> bool:
    """Whether the database answers."""
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return False
    return True
