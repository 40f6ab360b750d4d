"""Steps of many questions at once: each leads to a new value, and one that fails fails alone."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import repeat
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from radarstream.connectors.models.batching import places
from radarstream.connectors.state_table.database.engine import database_code
from radarstream.schemas.errors import DatabaseUnavailableError, RadarstreamError

InT = TypeVar("InT")
OutT = TypeVar("OutT")
KeyT = TypeVar("KeyT", bound=Hashable)


def together(
    items: Sequence[InT | RadarstreamError],
    step: Callable[[list[InT]], Sequence[OutT | RadarstreamError]],
) -> list[OutT | RadarstreamError]:
    """Take a step with all that have not failed at once; where it raises, they fail."""
    alive = [item for item in items if not isinstance(item, RadarstreamError)]
    try:
        taken = iter(step(alive) if alive else ())
    except (RadarstreamError, DBAPIError) as error:
        taken = repeat(as_told(error))
    return [item if isinstance(item, RadarstreamError) else next(taken) for item in items]


def each(
    items: Sequence[InT | RadarstreamError], step: Callable[[InT], OutT]
) -> list[OutT | RadarstreamError]:
    """Take a step with each that has not failed."""

    def one(item: InT) -> OutT | RadarstreamError:
        try:
            return step(item)
        except (RadarstreamError, DBAPIError) as error:
            return as_told(error)

    return together(items, lambda alive: [one(item) for item in alive])


def in_groups(
    items: Sequence[InT],
    key_of: Callable[[InT], KeyT],
    step: Callable[[KeyT, list[InT]], Sequence[OutT | RadarstreamError]],
) -> list[OutT | RadarstreamError]:
    """Take a step with those that share a key at once; a group that fails fails alone."""
    taken: dict[int, OutT | RadarstreamError] = {}
    for key, group in places(map(key_of, items)).items():
        members = [items[place] for place in group]
        taken |= zip(group, together(members, partial(step, key)), strict=True)
    return [taken[place] for place in range(len(items))]


def as_told(error: RadarstreamError | DBAPIError) -> RadarstreamError:
    """What a user is told; a database's own words may hold data."""
    if isinstance(error, RadarstreamError):
        return error
    return DatabaseUnavailableError(f"the state database failed: {database_code(error) or 'gone'}")
