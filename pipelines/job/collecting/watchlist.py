"""The list of watched queries: a YAML file, checked as a whole, or the table it was put into.

Every problem is told with its entry and line. A file is plain data, see `plain_yaml`.
"""

from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from radarstream.pipelines.job.collecting.plain_yaml import Place, load_yaml
from radarstream.pipelines.settings.problems import advice, reason
from radarstream.pipelines.settings.watched import Defaults, Watched
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.section import Section

FILE_BYTES: Final = 4 * 2**20
MOST_PROBLEMS: Final = 10
_NORWAY: Final = " (write it in quotes: YAML reads no, on and their like as true or false)"


class Watchlist(Section):
    """A watchlist file."""

    defaults: Defaults = Field(
        default=Defaults(), description="for entries that do not say otherwise"
    )
    queries: tuple[Watched, ...]


class _Document(BaseModel):
    """The file before its defaults are laid under the entries."""

    model_config = {"extra": "forbid"}
    defaults: Defaults = Defaults()
    queries: list[dict[str, Any]]


def read_watchlist(file: Path) -> tuple[Watched, ...]:
    """Return the entries of a file, defaults filled in. Raises ConfigurationError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read the watchlist {file}: {error.strerror}") from None
    if len(data) > FILE_BYTES:
        raise ConfigurationError(f"the watchlist {file} is over {FILE_BYTES} bytes")
    return parse_watchlist(data, str(file))


def parse_watchlist(data: bytes, name: str) -> tuple[Watched, ...]:
    """Return the entries of a watchlist's YAML. Raises ConfigurationError, with lines of `name`."""
    lines, value = load_yaml(data, name)
    if not isinstance(value, dict):
        raise ConfigurationError(f"{name}: a watchlist holds `queries:` and perhaps `defaults:`")
    try:
        document = _Document.model_validate(value)
    except ValidationError as error:
        raise _refused(name, lines, error) from None
    base = document.defaults.model_dump(exclude_unset=True)
    filled = [
        base | {key: each for key, each in entry.items() if each is not None}
        for entry in document.queries
    ]
    try:
        entries = TypeAdapter(tuple[Watched, ...]).validate_python(filled)
    except ValidationError as error:
        raise _refused(name, lines, error, ("queries",)) from None
    _refuse_repeats(name, lines, entries)
    return entries


def watchlist_schema() -> dict[str, Any]:
    """JSON Schema of a watchlist file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Watchlist.model_json_schema(),
    }


def _refused(
    name: str, lines: dict[Place, int], error: ValidationError, under: Place = ()
) -> ConfigurationError:
    found = error.errors(include_url=False)
    told = []
    for problem in found[:MOST_PROBLEMS]:
        place = (*under, *problem["loc"])
        hint = _NORWAY if isinstance(problem["input"], bool) else ""
        model = _Document if len(place) == 1 else Defaults if place[0] == "defaults" else Watched
        meant = advice(problem, [str(place[-1])], model)
        told.append(f"{_where(lines, place)} {reason(problem)}{hint}{meant}")
    if len(found) > MOST_PROBLEMS:
        told.append(f"and {len(found) - MOST_PROBLEMS} more")
    return ConfigurationError(f"{name}: {'; '.join(told)}")


def _where(lines: dict[Place, int], place: Place) -> str:
    """For example `line 7, query 2, cadence`; the nearest line that is known."""
    line = next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), 1)
    words = [f"line {line}"]
    if place[:1] == ("queries",) and len(place) > 1:
        words.append(f"query {int(place[1]) + 1}")
        place = place[2:]
    return ", ".join([*words, *(str(part) for part in place)])


def _refuse_repeats(name: str, lines: dict[Place, int], entries: tuple[Watched, ...]) -> None:
    first: dict[str, int] = {}
    for number, entry in enumerate(entries):
        earlier = first.setdefault(entry.query.id, number)
        if earlier != number:
            where, there = (lines.get(("queries", n), 1) for n in (number, earlier))
            raise ConfigurationError(
                f"{name}: line {where}, query {number + 1}: the same id as on line {there}; give "
                "one of them an id of its own"
            )
