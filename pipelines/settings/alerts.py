"""Settings of the alerts about answers."""

from typing import Annotated, Literal

from pydantic import Field

from radarstream.connectors.webhook import WebhookOptions
from radarstream.schemas.section import Section

Occasion = Literal["changed", "falsified", "abstained"]


class AlertSettings(Section):
    """Which answers cause an alert, and who receives it."""

    webhook: WebhookOptions | None = None
    occasions: Annotated[
        tuple[Occasion, ...],
        Field(min_length=1, description="changed: another meaning; falsified: the memory was cut"),
    ] = ("changed",)
    queries: Annotated[tuple[str, ...], Field(description="only these; empty means all")] = ()
    tags: Annotated[tuple[str, ...], Field(description="only with one of these")] = ()
    group: Annotated[
        str,
        Field(
            min_length=1,
            description="consumer group that remembers what was delivered; default: kafka.group"
            " + -alerts",
        ),
    ] = "radarstream-alerts"
    start: Annotated[
        Literal["latest", "beginning"],
        Field(description="where a group begins that has delivered nothing yet"),
    ] = "latest"
