"""What a data set holds, and how often its true answers change (RADAR, Table 18)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from radarstream.pipelines.evaluation.datasets import Dataset, is_long_form
from radarstream.pipelines.evaluation.rates import Rate
from radarstream.schemas.answer_text import answer_set
from radarstream.schemas.snapshot import Labels, SearchSnapshot


@dataclass(frozen=True, slots=True)
class AnswerChanges:
    """Shares of questions by number of changes, and of adjacent available years that differ.

    `once` is exactly one change; published tables count "one change" as at least one.
    """

    never: Rate
    at_least_once: Rate
    once: Rate
    more_than_once: Rate
    adjacent_years: Rate


def answer_changes(questions: Iterable[Sequence[Iterable[str]]]) -> AnswerChanges:
    """Statistics of questions, each the answer sets of its years in chronological order.

    Answers compare as sets after normalisation; missing years are skipped over.
    """
    histories = [[answer_set(answers) for answers in years] for years in questions]
    counts = [sum(a != b for a, b in pairwise(history)) for history in histories]
    total = len(counts)
    return AnswerChanges(
        never=Rate(sum(count == 0 for count in counts), total),
        at_least_once=Rate(sum(count >= 1 for count in counts), total),
        once=Rate(sum(count == 1 for count in counts), total),
        more_than_once=Rate(sum(count >= 2 for count in counts), total),
        adjacent_years=Rate(sum(counts), sum(max(0, len(h) - 1) for h in histories)),
    )


def describe(dataset: Dataset) -> dict[str, Any]:
    """Statistics of a data set as plain JSON values, for whoever stores or shows them.

    `..._per_...` are {least, median, mean, most}; shares are {hits, trials, share}. Documents are
    those of the files, before any cut to a retrieval depth; `answer_changes` is there when a
    question has more than one snapshot.
    """
    snapshots = [snapshot for history in dataset.histories for snapshot in history]
    documents = [document for snapshot in snapshots for document in snapshot.documents]
    times = [snapshot.observed_at for snapshot in snapshots]
    found: dict[str, Any] = {
        "questions": len(dataset.histories),
        "snapshots": len(snapshots),
        "documents": len(documents),
        "snapshots_per_question": _spread([len(history) for history in dataset.histories]),
        "documents_per_snapshot": _spread([len(s.documents) for s in snapshots]),
        "characters_per_document": _spread([len(d.passage) for d in documents]),
        "answers_per_snapshot": _spread([len(_labels(s).answers) for s in snapshots]),
        "documents_without_text": _share(documents, lambda d: not d.text.strip()),
        "labelled": _share(snapshots, lambda s: bool(_labels(s).answers)),
        "all_answers_required": _share(snapshots, lambda s: _labels(s).all_answers_required),
        "with_target": _share(snapshots, lambda s: _labels(s).target is not None),
        "with_false_passages": _share(snapshots, lambda s: bool(_labels(s).false_passages)),
        "long_form": _share(snapshots, is_long_form),
        "provenance": dict(Counter(str(s.provenance) for s in snapshots)),
        "first_observed": min(times).isoformat() if times else None,
        "last_observed": max(times).isoformat() if times else None,
        "skipped": dict(Counter(str(item.reason) for item in dataset.skipped)),
    }
    if not dataset.static:
        changes = answer_changes(_answer_sets(history) for history in dataset.histories)
        found["answer_changes"] = {
            name: _plain(Rate(**rate)) for name, rate in asdict(changes).items()
        }
    return found


def _answer_sets(history: Sequence[SearchSnapshot]) -> list[tuple[str, ...]]:
    """The right answers of the snapshots that are labelled with some."""
    return [answers for s in history if (answers := _labels(s).answers)]


def _labels(snapshot: SearchSnapshot) -> Labels:
    return snapshot.labels or Labels()


def _spread(counts: Sequence[int]) -> dict[str, float] | None:
    if not counts:
        return None
    return {
        "least": min(counts),
        "median": median(counts),
        "mean": fmean(counts),
        "most": max(counts),
    }


def _share(items: Sequence[Any], holds: Callable[[Any], bool]) -> dict[str, Any]:
    return _plain(Rate(sum(holds(item) for item in items), len(items)))


def _plain(rate: Rate) -> dict[str, Any]:
    return {"hits": rate.hits, "trials": rate.trials, "share": rate.value}
