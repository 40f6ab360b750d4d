"""Data sets for evaluation: every question's snapshots in time order, and what there is in all."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from radarstream.connectors.files.reader import DEFAULT_LIMITS, read_records
from radarstream.lab.files.robust_rag import UNDATED
from radarstream.lab.study.rates import Rate
from radarstream.lab.study.scoring import answer_set
from radarstream.schemas.codec import decode_record, encode
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from radarstream.schemas.wording import counted_noun

History = tuple[SearchSnapshot, ...]
REPEATED = "repeated"
Skipped = tuple[str, str]  # why an item of a file cannot be used, and which in words


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions in the order of their first snapshot, each a history in time order.

    Nothing is cut to a retrieval depth. `digest` identifies the histories: equal histories from
    other files have the same.
    """

    name: str
    histories: tuple[History, ...]
    digest: str
    skipped: tuple[Skipped, ...] = ()

    @property
    def snapshots(self) -> int:
        """How many snapshots there are in all."""
        return sum(len(history) for history in self.histories)

    @property
    def static(self) -> bool:
        """Whether every question has one snapshot only."""
        return all(len(history) == 1 for history in self.histories)

    @property
    def complaint(self) -> str | None:
        """How many items were skipped and why, in a line; None if none were."""
        if not self.skipped:
            return None
        reasons = Counter(reason for reason, _ in self.skipped)
        counted = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        items = counted_noun(len(self.skipped), "item")
        return f"{items} skipped: {counted}; the first: {self.skipped[0][1]}"


def load_dataset(paths: Path | Sequence[Path], limits: Limits = DEFAULT_LIMITS) -> Dataset:
    """Read files or directories of any replay format as one data set.

    Snapshots of one question form one history, wherever they stand. Of two at the same moment the
    first counts. What queries ask of an answer is left out: the methods under study decide that.
    Attack targets without documents lend their labels to the dated snapshots of the
    same question that lack a target, and are questions of their own only where there are none.
    Raises ConfigurationError when a path holds no known format, or all of them nothing usable.
    """
    places = [paths] if isinstance(paths, Path) else list(paths)
    skipped: list[Skipped] = []
    grouped: dict[str, dict[int, SearchSnapshot]] = {}
    for record, snapshot in _decoded(places, limits, skipped):
        moments = grouped.setdefault(snapshot.query.id, {})
        if moments.setdefault(snapshot.observed_at_ms, snapshot) is not snapshot:
            detail = "the same question at the same moment as an earlier item"
            skipped.append(in_words(record, REPEATED, detail))
    if not grouped:
        first = f", the first: {skipped[0][1]}" if skipped else ""
        names = ", ".join(str(place) for place in places)
        raise ConfigurationError(f"{names} holds no usable item{first}")
    histories = tuple(_history(moments.values()) for moments in grouped.values())
    stems = (place.name.removesuffix(".gz") for place in places)
    name = "+".join(stem.removesuffix(".jsonl").removesuffix(".json") for stem in stems)
    return Dataset(name, histories, digest_of(histories), tuple(skipped))


def in_words(record: RawRecord, reason: str, detail: str) -> Skipped:
    """An item that cannot be used, and why."""
    return reason, f"{record.source} item {record.position}: {detail} ({reason})"


def digest_of(histories: Iterable[Iterable[SearchSnapshot]]) -> str:
    """SHA-256 of the snapshots in order, as hexadecimal digits."""
    digest = sha256()
    for history in histories:
        for snapshot in history:
            digest.update(sha256(encode(snapshot)).digest())
    return digest.hexdigest()


def _decoded(
    places: Sequence[Path], limits: Limits, skipped: list[Skipped]
) -> Iterator[tuple[RawRecord, SearchSnapshot]]:
    """Usable records with their snapshots; what is not usable goes to `skipped`."""
    for path in places:
        for record in read_records(path, limits):
            try:
                snapshot = decode_record(record, limits=limits, now=None)
            except InputError as error:
                skipped.append(in_words(record, error.reason, error.detail))
            else:
                query = replace(snapshot.query, withstand=None)
                yield record, replace(snapshot, query=query)


def _history(snapshots: Iterable[SearchSnapshot]) -> History:
    """One question's snapshots in time order, labelled by its attack targets if it has some."""
    first, *rest = ordered = sorted(snapshots, key=lambda snapshot: snapshot.observed_at)
    targets = first.labels
    if not rest or targets is None or first.documents or first.observed_at != UNDATED:
        return tuple(ordered)
    found = []
    for snapshot in rest:
        labels = snapshot.labels or Labels()
        if labels.target is None:
            labels = replace(
                labels,
                answers=labels.answers or targets.answers,
                target=targets.target,
                false_passages=targets.false_passages,
            )
        found.append(replace(snapshot, labels=labels))
    return tuple(found)


def answer_changes(questions: Iterable[Sequence[Iterable[str]]]) -> dict[str, Rate]:
    """How often true answers change (RADAR, Table 18), of questions, each the answer sets of its
    years in chronological order: shares of questions by number of changes, and of adjacent
    available years that differ. Published tables count "one change" as at least one.

    Answers compare as sets after normalisation; missing years are skipped over.
    """
    histories = [[answer_set(answers) for answers in years] for years in questions]
    counts = [sum(a != b for a, b in pairwise(history)) for history in histories]
    total = len(counts)
    return {
        "never": Rate(counts.count(0), total),
        "at least once": Rate(total - counts.count(0), total),
        "once": Rate(counts.count(1), total),
        "more than once": Rate(sum(count >= 2 for count in counts), total),
        "adjacent years": Rate(sum(counts), sum(max(0, len(h) - 1) for h in histories)),
    }


def changes_of(dataset: Dataset) -> dict[str, str]:
    """How large a data set is, and how often true answers change there, in words."""
    found = {
        "questions": str(len(dataset.histories)),
        "snapshots": str(dataset.snapshots),
        "documents": str(sum(len(s.documents) for h in dataset.histories for s in h)),
    }
    if not dataset.static:
        answers = ([(s.labels or Labels()).answers for s in h] for h in dataset.histories)
        changes = answer_changes(list(filter(None, history)) for history in answers)
        for name, rate in changes.items():
            found[f"answer changes: {name}"] = f"{rate.hits} of {rate.trials}"
    return found
