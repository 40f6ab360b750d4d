"""`radarstream topics`: the Kafka topics, created or described."""

from collections.abc import Sequence

import typer

from radarstream.connectors.kafka.topics import Topic, describe_topics, ensure_topics
from radarstream.pipelines.cli.options import AsJson, Config
from radarstream.pipelines.cli.terminal import cell, print_table, printed
from radarstream.pipelines.settings import load_settings

app = typer.Typer(help="Create or describe the Kafka topics.", no_args_is_help=True)


@app.command()
def create(config: Config = None, as_json: AsJson = False) -> None:
    """Create the topics that are missing; existing ones are compared with the settings."""
    _print_topics(ensure_topics(load_settings(config).kafka), as_json)


@app.command()
def describe(config: Config = None, as_json: AsJson = False) -> None:
    """Describe the topics as they are; exit code 1 when one is missing."""
    _print_topics(describe_topics(load_settings(config).kafka), as_json)


def _print_topics(found: Sequence[Topic], as_json: bool) -> None:
    """Print a row a topic; exit code 1 when the job could not run with them."""
    if not printed(found, as_json):
        columns = ("topic", "state", "partitions", "replication", "differs from the settings")
        there = {True: cell("created", "green"), False: cell("there", "green")}
        rows = (
            (
                topic.name,
                there[topic.created] if topic.exists else cell("missing", "bold red"),
                *(topic.partitions, topic.replication, "; ".join(topic.differences)),
            )
            for topic in found
        )
        print_table(columns, rows, whole=("topic",))
    if not all(topic.exists for topic in found):
        raise typer.Exit(1)
