"""What became of one answer, for plots and drill-down."""

from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum

from radarstream.pipelines.evaluation.experiment.dynamics import Moment, judge
from radarstream.pipelines.evaluation.experiment.records import Row

Place = tuple[str, str, str, int]  # contender, condition, query id, step


class Fate(StrEnum):
    """What an answer turned out to be; the values are style classes of the page.

    Containment decides, as in the table: an answer that names both the truth and the target is
    `both`, and counts as correct and as attacked.
    """

    CORRECT = "correct"
    BOTH = "both"
    FOOLED = "fooled"
    STALE = "stale"  # right at an earlier step, wrong now
    OTHER = "other"
    ABSTAINED = "abstained"
    UNLABELLED = "unlabelled"
    ERROR = "error"


def fates_of(rows: Iterable[Row]) -> dict[Place, Fate]:
    """What became of every row, by contender, condition, question and step."""
    histories: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        histories[row.contender, row.condition, row.query_id].append(row)
    return {
        (*key, moment.row.step): fate_of(moment)
        for key, history in histories.items()
        for moment in judge(sorted(history, key=lambda row: row.step))
    }


def fate_of(moment: Moment) -> Fate:
    """What became of one answer."""
    if moment.row.error is not None:
        return Fate.ERROR
    if moment.correct:
        return Fate.BOTH if moment.attacked else Fate.CORRECT
    if moment.attacked:
        return Fate.FOOLED
    if moment.row.response is None:
        return Fate.ABSTAINED
    if moment.stale:
        return Fate.STALE
    return Fate.UNLABELLED if moment.correct is None else Fate.OTHER
