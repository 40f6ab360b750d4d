"""`radarstream attribute`: find out which texts taught the answers that are complained about."""

from typing import Annotated

import typer

from radarstream.connectors.kafka.clients import check_security
from radarstream.connectors.state_table.database.engine import insist_on_database
from radarstream.pipelines.build import check_settings
from radarstream.pipelines.cli.options import ChosenProfile, Config, Once, StartOver
from radarstream.pipelines.settings import load_settings


def attribute(
    config: Config = None,
    profile: ChosenProfile = None,
    kafka: Annotated[
        bool,
        typer.Option(
            help="Read complaints from Kafka and publish events; or use the database only."
        ),
    ] = True,
    once: Once = False,
    start_over: StartOver = False,
) -> None:
    """Find out which texts taught the answers that somebody complained about, until it is stopped.

    Takes the most urgent complaint of the state database, asks the models, writes event, quarantine
    and ledger in one transaction, and publishes to events.attribution. SIGTERM finishes the
    attribution in hand and exits 0. Budgets and rules are in section `attribution`.
    """
    settings = load_settings(config, profile=profile)
    check_settings(settings, attributing=True)
    if kafka:
        check_security(settings.kafka)
    else:  # nothing could come into a new database
        insist_on_database(settings.database)
    from radarstream.pipelines.job.incidents.worker import run_attribution  # takes seconds

    run_attribution(settings, kafka=kafka, drain=once, start_over=start_over)
