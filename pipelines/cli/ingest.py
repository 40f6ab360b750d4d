"""`radarstream ingest`: publish a search history to the topic that the continuous job reads."""

from hashlib import sha256
from itertools import chain, islice

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.pipelines.cli.options import Attack, Config, Histories
from radarstream.pipelines.cli.terminal import note, say
from radarstream.pipelines.job.replaying.running import note_skipped
from radarstream.pipelines.job.replaying.source import NoAttack, ReplayInput, check_plantings
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import WIRE_SCHEMAS, outbox_record
from radarstream.schemas.plugins import load_plugin
from radarstream.schemas.records import Envelope, OutboxRecord, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

RECORDS_PER_PUBLISH = 200
SOURCE = "urn:radarstream:ingest"
SNAPSHOTS = WIRE_SCHEMAS[SearchSnapshot]


def ingest(files: Histories, config: Config = None, attack: Attack = "") -> None:
    """Publish every snapshot of a search history, oldest first.

    Records that cannot be decoded are published as they are: the job makes them dead letters.
    Publishing a file again is harmless; a snapshot older than what its query has answered since
    becomes a dead letter.
    """
    settings = load_settings(config)
    poisoning = load_plugin("lab", "replay").parse_attack(attack) if attack else NoAttack()
    source = ReplayInput(tuple(files), settings.limits, poisoning)
    attacks = poisoning.plantings()
    records = list(source(attacks))
    snapshots = [record.snapshot for record in records if record.snapshot is not None]
    broken = [record for record in records if record.snapshot is None]
    if snapshots:
        check_plantings(attacks)
    note_skipped(attacks, note)
    snapshots.sort(key=lambda snapshot: snapshot.observed_at)
    events = chain((outbox_record(s, source=SOURCE) for s in snapshots), map(_as_it_is, broken))
    ensure_topics(settings.kafka)
    with KafkaSink(settings.kafka) as sink:
        while some := list(islice(events, RECORDS_PER_PUBLISH)):
            sink.publish(some)
    then = "it becomes a dead letter" if len(broken) == 1 else "they become dead letters"
    dead = f" ({len(broken)} cannot be decoded: {then})" if broken else ""
    say(f"{len(records)} records published to {settings.kafka.topic(SNAPSHOTS.topic)}{dead}")


def _as_it_is(record: RawRecord) -> OutboxRecord:
    """Wrap bytes that are no snapshot; the place they came from is their key."""
    place = f"{record.source}:{record.position}"
    identity = sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    event = Envelope(identity, SNAPSHOTS.name, SOURCE, place, SNAPSHOTS.uri)
    return OutboxRecord(SNAPSHOTS.topic, event, record.payload)
