"""`radarstream mcp`: tools for an agent on this machine."""

import sys
from typing import Annotated

from typer import Option

from radarstream.pipelines.build import check_settings, probe_service, shared_engine
from radarstream.pipelines.cli.options import DryModelOptions
from radarstream.pipelines.cli.terminal import system_user
from radarstream.pipelines.job.telemetry.logs import configure_logging


def mcp(
    *,
    chosen: DryModelOptions,
    user: Annotated[
        str | None,
        Option(help="In whose name it asks and complains; default: the system's user name."),
    ] = None,
) -> None:
    """Offer tools to an agent that starts this command: ask, answer_history, and others.

    Speaks the Model Context Protocol on standard input and output until the agent closes them; logs
    go to standard error. Agents elsewhere use the address /mcp of `radarstream serve`.
    """
    settings = chosen.settings()
    check_settings(settings)
    configure_logging(settings.telemetry, sys.stderr)
    from radarstream.pipelines.serving.app import run_stdio

    probe_service(settings)  # a refused key or an unknown model ends it here
    run_stdio(settings, shared_engine(settings), system_user("--user") if user is None else user)
