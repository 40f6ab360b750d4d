"""Contenders beside the answers of a replay, on the same snapshots and models."""

from collections.abc import Iterable, Sequence

from radarstream.defenses.protocol import needs_at
from radarstream.lab.defences.answers import REPLAY
from radarstream.lab.defences.contenders import adapted
from radarstream.lab.defences.records import Contender, Row
from radarstream.lab.defences.trials import Gathered, Trial, gather
from radarstream.lab.study.plugin import batched
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.snapshot import SearchSnapshot

Answered = tuple[SearchSnapshot, int]  # a snapshot and its step


def baseline_rows(
    contenders: Sequence[Contender],
    histories: Iterable[Sequence[Answered]],
    models: Models,
    reading: ReadingSettings,
    *,
    batch: int,
) -> list[Row]:
    """The answers of every contender to histories in time order, `batch` snapshots at a time.

    Atomic answers and relations are gathered once for all of them; what the models' cache knows is
    not asked again. A failed answer is a row with its error.
    """
    defenses = [adapted(contender) for contender in contenders]
    given = [list(history) for history in histories]
    sizes = {len(snapshot.documents) for history in given for snapshot, _ in history}
    needs = frozenset().union(*(needs_at(d, size) for d in defenses for size in sizes))
    places = [(number, item) for number, history in enumerate(given) for item in history]
    gathered: list[list[Gathered]] = [[] for _ in given]
    for part in batched(places, batch):
        found = gather([item for _, item in part], needs, reading, models)
        for (number, _), seen in zip(part, found, strict=True):
            gathered[number].append(seen)
    return [
        row
        for contender, defense in zip(contenders, defenses, strict=True)
        for rows in Trial(contender.name, REPLAY, defense, models).rows(gathered, batch=batch)
        for row in rows
    ]
