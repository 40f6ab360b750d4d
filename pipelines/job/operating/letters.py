"""Dead letters on the broker: read them, find what was replayed before, replay."""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Final

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink, Message
from radarstream.connectors.kafka.topic_reader import Start, TopicReader
from radarstream.pipelines.job.answering import dead_letters
from radarstream.pipelines.job.answering.dead_letters import Letter
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.snapshot import SearchSnapshot

SNAPSHOTS: Final = WIRE_SCHEMAS[SearchSnapshot].topic
DEAD_LETTERS: Final = WIRE_SCHEMAS[DeadLetter].topic
SKEW: Final = timedelta(minutes=10)  # clocks of those who write to the topics may differ this much


def letters_of_topic(
    kafka: KafkaOptions, warn: Callable[[str], None], start: Start = "beginning"
) -> Iterator[Letter]:
    """Read the topic to its end; `warn` takes what is no dead letter. Raises BrokerError."""
    with TopicReader(kafka, [DEAD_LETTERS], start=start) as reader:
        for record in reader.to_the_end():
            try:
                yield dead_letters.read_letter(record.read(), record.timestamp)
            except InputError as error:
                place = f"{record.topic}/{record.partition} offset {record.offset}"
                warn(f"cannot read {place}: {error}")


def replayed_before(kafka: KafkaOptions, letters: Iterable[Letter]) -> frozenset[str]:
    """Ids of letters that later snapshots replay. Raises BrokerError, ConfigurationError."""
    times = [letter.written_at for letter in letters if letter.written_at is not None]
    if not times:
        return frozenset()
    with TopicReader(kafka, [SNAPSHOTS], start=min(times) - SKEW) as reader:
        marks = {dead_letters.replay_of(record.headers) for record in reader.to_the_end()}
    return frozenset(mark for mark in marks if mark is not None)


def publish_again(kafka: KafkaOptions, letters: Iterable[Letter]) -> None:
    """Publish the original records once more, as replays. Raises BrokerError."""
    with KafkaSink(kafka) as sink:
        sink.send(
            [
                Message(
                    SNAPSHOTS,
                    dead_letters.replay_key(letter),
                    letter.payload,
                    dead_letters.replay_headers(letter),
                )
                for letter in letters
            ]
        )
