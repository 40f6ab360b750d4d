"""`radarstream topics`: the Kafka topics, created or described."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.table import Table
from rich.text import Text

from radarstream.pipelines.cli.options import AsJson, Config
from radarstream.pipelines.cli.terminal import cell, print_json, stdout
from radarstream.pipelines.settings import load_settings

if TYPE_CHECKING:
    from radarstream.connectors.kafka.topics import Topic

app = typer.Typer(help="Create or describe the Kafka topics.", no_args_is_help=True)


@app.command()
def create(config: Config = None, as_json: AsJson = False) -> None:
    """Create the topics that are missing; existing ones are compared with the settings."""
    from radarstream.connectors.kafka.topics import ensure_topics

    print_topics(ensure_topics(load_settings(config).kafka), as_json)


@app.command()
def describe(config: Config = None, as_json: AsJson = False) -> None:
    """Describe the topics as they are; exit code 1 when one is missing."""
    from radarstream.connectors.kafka.topics import describe_topics

    print_topics(describe_topics(load_settings(config).kafka), as_json)


def print_topics(found: Sequence["Topic"], as_json: bool) -> None:
    """Print a row a topic; exit code 1 when the job could not run with them."""
    if as_json:
        print_json([asdict(topic) for topic in found])
    else:
        table = Table()
        table.add_column("topic", no_wrap=True)
        for name in ("state", "partitions", "replication", "differs from the settings"):
            table.add_column(name, overflow="fold")
        for topic in found:
            table.add_row(
                cell(topic.name),
                _state(topic),
                str(topic.partitions),
                str(topic.replication),
                cell("; ".join(topic.differences), limit=200),
            )
        stdout.print(table)
    if not all(topic.exists for topic in found):
        raise typer.Exit(1)


def _state(topic: "Topic") -> Text:
    if not topic.exists:
        return cell("missing", "bold red")
    return cell("created" if topic.created else "there", "green")
