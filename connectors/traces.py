"""Traces: spans of rounds, of their stages and of calls of models.

The environment switches them on: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
OTEL_TRACES_EXPORTER=otlp, with the extra `traces` installed. Without these nothing is imported.
"""
# ruff: noqa: ARG002 the defaults do nothing

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Final, TypeVar

from radarstream.connectors.models.wrapping import Replies
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.plugins import naming_extra
from radarstream.schemas.snapshot import SearchSnapshot

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
HEADER: Final = "traceparent"  # of a request, see www.w3.org/TR/trace-context
Located = SearchSnapshot | Evidence
Begun = Any  # the span of a round as a value that can be pickled; None where nothing is traced
Answered = Callable[[Sequence[Any], Replies], None]  # requests of calls that end, with replies
OutT = TypeVar("OutT")
logger = logging.getLogger(__name__)


class Traces:
    """Hears of rounds, stages and calls of models; by default does nothing."""

    def here(self) -> str:
        """The traceparent of the caller's current span, "" without one."""
        return ""

    def begin(self, parent: str | None) -> Begun:
        """Begin a round below a traceparent; None stands for the caller's current span."""
        return None

    def step(
        self, rounds: Sequence[tuple[Located, Begun]], work: Callable[[], list[OutT]]
    ) -> list[OutT]:
        """Take a step of rounds; an outcome that is an error, or has an event, ends its round."""
        return work()

    def stage(self, name: str, items: Sequence[Located]) -> AbstractContextManager[None]:
        """A context that lasts as long as a stage works on items of the step's rounds."""
        return nullcontext()

    def calls(self, model: Any, method: str) -> Answered:
        """Begin calls of a method of a model."""
        return lambda _requests, _replies: None

    def flush(self) -> None:
        """Send what waits to be sent, for a short time at most."""


@cache
def traces() -> Traces:
    """The traces of this process, as the environment asks for when they are first asked for."""
    exporter = os.environ.get("OTEL_TRACES_EXPORTER") or "otlp" * any(
        map(os.environ.get, ENDPOINTS)
    )
    if exporter != "otlp" or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return Traces()
    try:
        with naming_extra():
            from radarstream.connectors.otlp import OtlpTraces
    except ConfigurationError as error:
        logger.warning("no traces: %s", error)
        return Traces()
    return OtlpTraces()
