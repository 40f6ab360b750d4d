"""`radarstream ingest`: publish a search history to the topic that the continuous job reads."""

from collections.abc import Sequence
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from radarstream.pipelines.cli.options import Config
from radarstream.pipelines.cli.replay import tell_skipped
from radarstream.pipelines.cli.terminal import stdout
from radarstream.pipelines.evaluation.attacks.schedule import Planting, Schedule, check_plantings
from radarstream.pipelines.evaluation.replay_input import ReplayInput
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import WIRE_SCHEMAS, outbox_record
from radarstream.schemas.records import Envelope, OutboxRecord, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

RECORDS_PER_PUBLISH = 200
SOURCE = "urn:radarstream:ingest"


def ingest(
    files: Annotated[
        list[Path], typer.Argument(help="Yearly histories, snapshot JSONL or RealTimeQA weeks.")
    ],
    config: Config = None,
    attack: Annotated[
        str, typer.Option(help="Attack snapshots first, e.g. 'pia@1:2016,2019; poison@1:every-3'.")
    ] = "",
) -> None:
    """Publish every snapshot of a search history, oldest first.

    Records that cannot be decoded are published as they are: the job makes them dead letters.
    Publishing a file again is harmless; a snapshot older than what its query has answered since
    becomes a dead letter.
    """
    from radarstream.connectors.kafka.sink import KafkaSink
    from radarstream.connectors.kafka.topics import ensure_topics

    settings = load_settings(config)
    source = ReplayInput(tuple(files), settings.limits, Schedule.parse(attack))
    attacks = source.schedule.plantings()
    snapshots, broken = sorted_out(source, attacks)
    if snapshots:
        check_plantings(attacks)
    tell_skipped(attacks)
    events = chain(
        (outbox_record(snapshot, source=SOURCE) for snapshot in snapshots), map(as_it_is, broken)
    )
    ensure_topics(settings.kafka)
    published = 0
    with KafkaSink(settings.kafka) as sink:
        while some := list(islice(events, RECORDS_PER_PUBLISH)):
            sink.publish(some)
            published += len(some)
    topic = settings.kafka.topic(WIRE_SCHEMAS[SearchSnapshot].topic)
    then = "it becomes a dead letter" if len(broken) == 1 else "they become dead letters"
    dead = f" ({len(broken)} cannot be decoded: {then})" if broken else ""
    text = f"{published} records published to {topic}{dead}"
    stdout.print(text, highlight=False, markup=False, soft_wrap=True)


def sorted_out(
    source: ReplayInput, attacks: Sequence[Planting]
) -> tuple[list[SearchSnapshot], list[RawRecord]]:
    """Return the snapshots of a history, oldest first, and the records that are none."""
    snapshots: list[SearchSnapshot] = []
    broken: list[RawRecord] = []
    for record in source(attacks):
        if record.snapshot is None:
            broken.append(record)
        else:
            snapshots.append(record.snapshot)
    snapshots.sort(key=lambda snapshot: snapshot.observed_at)
    return snapshots, broken


def as_it_is(record: RawRecord) -> OutboxRecord:
    """Wrap bytes that are no snapshot; the place they came from is their key."""
    schema = WIRE_SCHEMAS[SearchSnapshot]
    place = f"{record.source}:{record.position}"
    identity = sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    event = Envelope(identity, schema.name, SOURCE, place, schema.uri)
    return OutboxRecord(schema.topic, event, record.payload)
