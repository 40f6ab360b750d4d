"""The store behind the response cache: byte strings under keys, in the state database."""

from collections.abc import Mapping, Sequence
from itertools import islice
from zlib import crc32

from sqlalchemy import Engine, bindparam, delete, func, select, update

from radarstream.connectors.state_table.database.engine import retry_contended
from radarstream.connectors.state_table.database.tables import RESPONSE_CACHE, dialect_insert

KEYS_PER_SELECT = 500
CHECKSUM_BYTES = 4
_KEY, _VALUE, _STAMP = RESPONSE_CACHE.c.key, RESPONSE_CACHE.c.value, RESPONSE_CACHE.c.stamp


class ResponseCache:
    """Bounded store of byte strings under 32-byte keys; shared by processes through the database.

    Holds at most `max_entries` (each further process that writes at the same time may add a tenth
    before it counts again). When full, the tenth that was written or used longest ago goes. A
    damaged value, told by its checksum, counts as absent.
    """

    def __init__(self, engine: Engine, *, max_entries: int = 1_000_000) -> None:
        if max_entries < 1:
            raise ValueError(f"max_entries must be positive, got {max_entries}")
        self._engine = engine
        self._max_entries = max_entries
        self._writes_before_count = 0

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of the keys that are present and sound."""
        wanted = iter(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}
        fading: list[bytes] = []
        newest = select(func.max(_STAMP)).scalar_subquery()
        with self._engine.connect() as connection:
            while chunk := list(islice(wanted, KEYS_PER_SELECT)):
                statement = select(_KEY, _VALUE, newest - _STAMP).where(_KEY.in_(chunk))
                for key, sealed, age in connection.execute(statement):
                    value = bytes(sealed[CHECKSUM_BYTES:])
                    if sealed == _seal(key, value):
                        found[key] = value
                        if age > self._max_entries // 2:
                            fading.append(key)
        if fading:
            self._refresh(fading)
        return found

    def put(
        self, values: Mapping[bytes, bytes], subjects: Mapping[bytes, bytes] | None = None
    ) -> None:
        """Write all values in one transaction, over those already there.

        `subjects` says by key which subject a value is about, for `queries.forgetting`.
        """
        if not values:
            return
        about = subjects or {}
        # In order of the key, so that two writers of the same keys cannot deadlock.
        rows = [
            {"key": key, "value": _seal(key, value), "subject": about.get(key)}
            for key, value in sorted(values.items())
        ]
        next_stamp = select(func.coalesce(func.max(_STAMP), 0) + 1).scalar_subquery()

        def write() -> None:
            with self._engine.begin() as connection:
                insert = dialect_insert(connection, RESPONSE_CACHE).values(stamp=next_stamp)
                new = {name: insert.excluded[name] for name in ("value", "stamp", "subject")}
                connection.execute(
                    insert.on_conflict_do_update(index_elements=[_KEY], set_=new), rows
                )

        retry_contended(write)
        self._writes_before_count -= len(rows)
        if self._writes_before_count < 0:
            retry_contended(self._evict)

    def _evict(self) -> None:
        """Count the entries and drop the oldest if there are too many."""
        slack = self._max_entries // 10
        with self._engine.begin() as connection:
            count = connection.execute(
                select(func.count()).select_from(RESPONSE_CACHE)
            ).scalar_one()
        if count > self._max_entries:
            surplus = count - (self._max_entries - slack)
            oldest = select(_KEY).order_by(_STAMP, _KEY).limit(surplus)
            with self._engine.begin() as connection:
                connection.execute(delete(RESPONSE_CACHE).where(_KEY.in_(oldest)))
            count -= surplus
        self._writes_before_count = min(self._max_entries - count, slack)

    def _refresh(self, keys: Sequence[bytes]) -> None:
        """Make entries that were used and had grown old the newest, so that they stay.

        Leaving young entries alone saves a write for nearly every read.
        """
        newest = select(func.max(_STAMP) + 1).scalar_subquery()
        statement = (
            update(RESPONSE_CACHE)
            .where(RESPONSE_CACHE.c.key == bindparam("used"))
            .values(stamp=newest)
        )

        def write() -> None:
            with self._engine.begin() as connection:
                connection.execute(statement, [{"used": key} for key in sorted(keys)])

        retry_contended(write)


def _seal(key: bytes, value: bytes) -> bytes:
    """Put a checksum before the value, over the key too: a value under a wrong key is damage."""
    return crc32(value, crc32(key)).to_bytes(CHECKSUM_BYTES, "little") + value
