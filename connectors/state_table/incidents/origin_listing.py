"""The life of attributions for whoever looks into them: when, at what cost, whose word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Engine, select

from radarstream.connectors.state_table.database.tables import ORIGINS
from radarstream.connectors.state_table.incidents.origins import WORD
from radarstream.schemas.reports import Word

KEYS_PER_SELECT: Final = 500
_O = ORIGINS.c


@dataclass(frozen=True, slots=True)
class OriginLife:
    """What happened to one wrong answer beside its event; times in milliseconds since 1970."""

    attributed_ms: int | None = None
    model_calls: int = 0
    word: Word | None = None
    word_ms: int | None = None
    everywhere: bool = False


def lives_of(engine: Engine, misgenerations: Sequence[str]) -> dict[str, OriginLife]:
    """Return the life of each wrong answer that has a row."""
    return dict(_lives(engine, sorted(set(misgenerations))))


def _lives(engine: Engine, wanted: Sequence[str]) -> Iterator[tuple[str, OriginLife]]:
    columns = (_O.misgeneration, _O.attributed_ms, _O.model_calls, WORD, _O.word_ms)
    with engine.connect() as connection:
        for start in range(0, len(wanted), KEYS_PER_SELECT):
            chunk = wanted[start : start + KEYS_PER_SELECT]
            statement = select(*columns, _O.everywhere).where(_O.misgeneration.in_(chunk))
            for name, at_ms, calls, word, word_ms, everywhere in connection.execute(statement):
                said = Word(word) if word in tuple(Word) else None
                yield name, OriginLife(at_ms, calls, said, word_ms, everywhere)
