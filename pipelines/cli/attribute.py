"""`radarstream attribute`: the process that finds out which texts taught wrong answers."""

from typing import Annotated

from typer import Option

from radarstream.connectors.kafka.clients import check_security
from radarstream.connectors.state_table.database.engine import insist_on_database
from radarstream.pipelines.build import check_settings
from radarstream.pipelines.cli.options import ModelOptions, Once, StartOver


def attribute(
    *,
    chosen: ModelOptions,
    kafka: Annotated[
        bool,
        Option(help="Read complaints from Kafka and publish events; or use the database only."),
    ] = True,
    once: Once = False,
    start_over: StartOver = False,
) -> None:
    """Find out, until it is stopped, which texts taught the answers that somebody complained about.

    Takes the most urgent complaint of the state database, asks the models, writes event and
    quarantine in one transaction, and publishes to events.attribution. SIGTERM finishes the
    attribution in hand and exits 0. Budgets and rules are in section `attribution`.
    """
    settings = chosen.settings()
    check_settings(settings, attributing=True)
    if kafka:
        check_security(settings.kafka)
    else:  # nothing could come into a new database
        insist_on_database(settings.database)
    from radarstream.pipelines.job.incidents.worker import run_attribution  # takes seconds

    run_attribution(settings, kafka=kafka, drain=once, start_over=start_over)
