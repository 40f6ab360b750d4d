"""Dead letters for operators: read them from the topic, select them, replay them."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.schemas import errors
from radarstream.schemas.codec import decode_dead_letter, decode_snapshot, envelope
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.plugins import naming_extra
from radarstream.schemas.records import ATTEMPTS_HEADER, UNLIMITED
from radarstream.schemas.snapshot import SearchSnapshot

if TYPE_CHECKING:  # an extra, loaded when the broker is asked
    from radarstream.connectors.kafka.topic_reader import Start

SNAPSHOTS: Final = WIRE_SCHEMAS[SearchSnapshot].topic
DEAD_LETTERS: Final = WIRE_SCHEMAS[DeadLetter].topic
SKEW: Final = timedelta(minutes=10)  # the clocks of two producers may differ this much
REPLAY_HEADER = "radarstream-replay-of"
DECODED = errors.OUTAGES | {errors.ReasonClass.LATE}  # reasons that occur only after decoding
MOST_ATTEMPTS: Final = 5  # a replay skips records that failed this often
Disposition = Literal["poison", "outage"]


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter with its event id and, if known, when it reached the topic."""

    id: str
    content: DeadLetter
    payload: bytes
    written_at: datetime | None = None

    def plain(self) -> dict[str, Any]:
        """The letter for a table or JSON, without its payload."""
        return {
            "id": self.id,
            "written_at": self.written_at.isoformat() if self.written_at else None,
            "reason": self.content.reason.value,
            "disposition": self.content.disposition,
            "source": self.content.source,
            "position": self.content.position,
            "attempts": self.content.attempts,
            "detail": self.content.detail,
            "bytes": len(self.payload),
        }


@dataclass(frozen=True, slots=True)
class LetterSelection:
    """A filter of letters; an empty field selects all. `ids` may be prefixes."""

    ids: tuple[str, ...] = ()
    reason: errors.ReasonClass | None = None
    disposition: Disposition | None = None
    since: datetime | None = None

    def admits(self, letter: Letter) -> bool:
        """Whether the filter admits a letter; `since` excludes letters of unknown time."""
        content = letter.content
        return (
            (not self.ids or letter.id.startswith(self.ids))
            and (self.reason is None or content.reason is self.reason)
            and (self.disposition is None or content.disposition == self.disposition)
            and (
                self.since is None
                or (letter.written_at is not None and letter.written_at >= self.since)
            )
        )


def payload_of(letter: DeadLetter) -> bytes:
    """The original bytes. Raises InputError."""
    try:
        return b64decode(letter.payload_base64, validate=True)
    except ValueError:
        raise errors.InputError(
            errors.ReasonClass.WRONG_TYPE, "payload_base64 is not base64"
        ) from None


def only_one(letters: Sequence[Letter], letter_id: str) -> Letter:
    """The only letter of those whose ids have one prefix. Raises NotFoundError, and
    ConfigurationError if there are more.
    """
    begins = f"with an id that begins with {letter_id!r}"
    if not letters:
        raise errors.NotFoundError(f"no dead letter {begins}")
    if len(letters) > 1:
        raise errors.ConfigurationError(f"{len(letters)} dead letters {begins}")
    return letters[0]


def sorted_for_replay(
    letters: Iterable[Letter], replayed: frozenset[str]
) -> dict[str, list[Letter]]:
    """Group letters: to be `replayed`, `replayed_before` (by their ids), `tried_too_often`."""
    found: dict[str, list[Letter]] = {"replayed": [], "replayed_before": [], "tried_too_often": []}
    for letter in letters:
        tired = letter.content.attempts >= MOST_ATTEMPTS
        known = letter.id in replayed
        found["replayed_before" if known else "tried_too_often" if tired else "replayed"].append(
            letter
        )
    return found


def replay_key(letter: Letter) -> str:
    """The record's key: the query's id, or the source if the payload cannot be decoded."""
    try:
        return decode_snapshot(letter.payload, limits=UNLIMITED).query.id
    except errors.InputError:
        return letter.content.source


def query_of(letter: DeadLetter) -> str | None:
    """The query's id, or None if the record failed before it was decoded."""
    if letter.reason not in DECODED:
        return None
    try:
        return decode_snapshot(payload_of(letter), limits=UNLIMITED).query.id
    except errors.InputError:
        return None


def letters_of_topic(
    kafka: KafkaOptions, warn: Callable[[str], None], start: "Start" = "beginning"
) -> Iterator[Letter]:
    """Read the topic to its end and drop repeated letters. `warn` gets a message for each record
    that is not a dead letter. Raises BrokerError, ConfigurationError.
    """
    with naming_extra():
        from radarstream.connectors.kafka.topic_reader import TopicReader
    seen: set[str] = set()
    with TopicReader(kafka, [DEAD_LETTERS], start=start) as reader:
        for record in reader.to_the_end():
            try:
                content = decode_dead_letter(record.read())
                payload = payload_of(content)
            except errors.InputError as error:
                place = f"{record.topic}/{record.partition} offset {record.offset}"
                warn(f"cannot read {place}: {error}")
                continue
            letter = Letter(envelope(content).id, content, payload, record.timestamp)
            if letter.id not in seen:
                seen.add(letter.id)
                yield letter


def replayed_before(kafka: KafkaOptions, letters: Iterable[Letter]) -> frozenset[str]:
    """Ids of the letters that were replayed. Raises BrokerError, ConfigurationError."""
    times = [letter.written_at for letter in letters if letter.written_at is not None]
    if not times:
        return frozenset()
    with naming_extra():
        from radarstream.connectors.kafka.topic_reader import TopicReader
    with TopicReader(kafka, [SNAPSHOTS], start=min(times) - SKEW) as reader:
        marks = [record.headers.get(REPLAY_HEADER) for record in reader.to_the_end()]
    return frozenset(mark.decode("ascii", "replace") for mark in marks if mark is not None)


def publish_again(kafka: KafkaOptions, letters: Iterable[Letter]) -> None:
    """Publish the original records again, marked as replays. Raises BrokerError."""
    from radarstream.connectors.kafka.sink import KafkaSink, Message

    with KafkaSink(kafka) as sink:
        sink.send(
            [
                Message(
                    SNAPSHOTS,
                    replay_key(letter),
                    letter.payload,
                    (
                        (ATTEMPTS_HEADER, str(letter.content.attempts + 1).encode()),
                        (REPLAY_HEADER, letter.id.encode()),
                    ),
                )
                for letter in letters
            ]
        )
