"""Dead letters as an operator handles them: select, inspect, send back to the pipeline."""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from radarstream.schemas import errors
from radarstream.schemas.codec import decode_dead_letter, decode_snapshot, envelope
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.records import ATTEMPTS_HEADER, UNLIMITED

REPLAY_HEADER = "radarstream-replay-of"
DECODED = errors.OUTAGES | {errors.ReasonClass.LATE}  # what a snapshot that can be decoded meets
MOST_ATTEMPTS: Final = 5  # of a record, before a replay leaves it alone
Disposition = Literal["poison", "outage"]


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter with its event id and, if known, when it reached the topic."""

    id: str
    content: DeadLetter
    payload: bytes
    written_at: datetime | None = None

    def plain(self) -> dict[str, Any]:
        """Return it for a table or JSON, without the bytes it carries."""
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
    """Which letters are meant; what is empty selects all. `ids` may be shortened."""

    ids: tuple[str, ...] = ()
    reason: errors.ReasonClass | None = None
    disposition: Disposition | None = None
    since: datetime | None = None

    def admits(self, letter: Letter) -> bool:
        """Whether this letter is meant. One of unknown time is not newer than anything."""
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


def read_letter(data: bytes, written_at: datetime | None = None) -> Letter:
    """Decode one record of the topic or line of a file. Raises InputError."""
    content = decode_dead_letter(data)
    try:
        payload = b64decode(content.payload_base64, validate=True)
    except ValueError:
        raise errors.InputError(
            errors.ReasonClass.WRONG_TYPE, "payload_base64 is not base64"
        ) from None
    return Letter(envelope(content).id, content, payload, written_at)


def distinct(letters: Iterable[Letter]) -> Iterator[Letter]:
    """Yield every letter once, as it first came: the topic is at-least-once."""
    seen: set[str] = set()
    for letter in letters:
        if letter.id not in seen:
            seen.add(letter.id)
            yield letter


def only_one(letters: Sequence[Letter], letter_id: str) -> Letter:
    """The one letter of a shortened id. Raises NotFoundError, ConfigurationError."""
    begins = f"with an id that begins with {letter_id!r}"
    if not letters:
        raise errors.NotFoundError(f"no dead letter {begins}")
    if len(letters) > 1:
        raise errors.ConfigurationError(f"{len(letters)} dead letters {begins}")
    return letters[0]


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What a replay would publish, and what it leaves alone."""

    publish: tuple[Letter, ...]
    replayed_before: tuple[Letter, ...]
    tried_too_often: tuple[Letter, ...]


def plan_replay(letters: Iterable[Letter], replayed: frozenset[str]) -> ReplayPlan:
    """Sort letters into those to publish now and the others; `replayed` holds ids seen before."""
    chosen = list(letters)
    before = tuple(x for x in chosen if x.id in replayed)
    fresh = [x for x in chosen if x.id not in replayed]
    return ReplayPlan(
        publish=tuple(x for x in fresh if x.content.attempts < MOST_ATTEMPTS),
        replayed_before=before,
        tried_too_often=tuple(x for x in fresh if x.content.attempts >= MOST_ATTEMPTS),
    )


def replay_key(letter: Letter) -> str:
    """Return the record's key: the query id if the bytes tell it, else where they came from."""
    try:
        return decode_snapshot(letter.payload, limits=UNLIMITED).query.id
    except errors.InputError:
        return letter.content.source


def query_of(letter: DeadLetter) -> str | None:
    """The query's id of a record that was decoded before it failed, else None."""
    if letter.reason not in DECODED:
        return None
    try:
        payload = b64decode(letter.payload_base64, validate=True)
        return decode_snapshot(payload, limits=UNLIMITED).query.id
    except (errors.InputError, ValueError):
        return None


def replay_headers(letter: Letter) -> tuple[tuple[str, bytes], ...]:
    """Return what marks a replayed record: how often it was tried, and which letter it was."""
    return (
        (ATTEMPTS_HEADER, str(letter.content.attempts + 1).encode()),
        (REPLAY_HEADER, letter.id.encode()),
    )


def replay_of(headers: Mapping[str, bytes]) -> str | None:
    """Return the id of the letter that a snapshot record replays, if it does."""
    value = headers.get(REPLAY_HEADER)
    return None if value is None else value.decode("ascii", "replace")
