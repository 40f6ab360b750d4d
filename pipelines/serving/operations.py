"""Health, metrics and the description of the interface."""

from html import escape
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from radarstream.pipelines.job.telemetry.health import Health
from radarstream.pipelines.serving.access import Operator, open_to_all
from radarstream.pipelines.serving.context import Context

TITLE = "radarstream: operations of the service"


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
        """Whether the service takes questions: the database answers, the models are loaded, and
        nobody stops it.
        """
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

    @routes.get("/docs", dependencies=[Depends(open_to_all)], response_class=HTMLResponse)
    async def docs(request: Request) -> str:
        """A page that lists the operations; it asks nothing of other hosts."""
        return page_of(request.app.openapi())

    return routes


def answers(engine: Engine) -> bool:
    """Whether the database answers."""
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return False
    return True


def page_of(description: dict[str, Any]) -> str:
    """The operations of an OpenAPI description as plain HTML."""
    rows = "".join(
        f"<dt><code>{escape(method.upper())} {escape(path)}</code></dt>"
        f"<dd>{escape(operation.get('description', ''))}</dd>"
        for path, methods in sorted(description["paths"].items())
        for method, operation in methods.items()
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        '<meta name="viewport" content="width=device-width"></head>'
        f"<body><h1>{TITLE}</h1><p>Programs read <a href='/openapi.json'>/openapi.json</a>;"
        " docs/serving.md explains the routes.</p>"
        f"<dl>{rows}</dl></body></html>"
    )
