"""What a directory of an attribution study holds, stored beside its rows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from pydantic import TypeAdapter

from radarstream.defenses.attribution.protocol import Attributor
from radarstream.defenses.attribution.registry import ATTRIBUTORS, build_attributor
from radarstream.pipelines.evaluation.attribution.calibration import TEXTS, Calibrated
from radarstream.pipelines.evaluation.attribution.rows import (
    AttributionRow,
    EventKey,
    EventRow,
    RowKey,
)
from radarstream.pipelines.evaluation.experiment.answering_code import SHARED, digest_of
from radarstream.pipelines.evaluation.experiment.contenders import ALL, option, plain, split_specs
from radarstream.pipelines.evaluation.study.prompts import reworded
from radarstream.pipelines.evaluation.study.record import WAYS_OUT, differing
from radarstream.pipelines.evaluation.study.row_files import read_lines
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.errors import ConfigurationError

ROWS, EVENTS, RECORD, RESULTS = "rows.jsonl", "events.jsonl", "study.json", "results.json"
TABLES = "tables.md"
SAME = ("dataset_digest", "texts", "k", "seed", "models")
NO_CORPUS = (
    "the questions bring no documents, so that all texts searched are planted ones: name a data "
    "set that has some as another --dataset"
)
HERE = "radarstream.pipelines.evaluation.attribution"
# What events depend on, beside what the signals of a pipeline do.
STAGING = (
    *(f"{HERE}.{name}" for name in ("events", "reports", "staging")),
    *(
        f"radarstream.pipelines.evaluation.attacks.{name}"
        for name in ("corpus", "protocol", "variations")
    ),
    "radarstream.pipelines.evaluation.scoring",
)
JUDGING = (*SHARED, f"{HERE}.judged", "radarstream.pipelines.signals.attribution")


@dataclass(frozen=True, slots=True)
class Spec:
    """An attributor as it is compared. `name` is its heading, unique in a study."""

    name: str
    method: str
    options: tuple[tuple[str, Any], ...] = ()

    def build(self) -> Attributor:
        """Raises ConfigurationError for options that the method refuses."""
        hints = get_type_hints(ATTRIBUTORS.get(self.method, object))
        options = {
            name: frozenset(str(value).split("+")) if is_set(hints.get(name)) else value
            for name, value in self.options
        }
        return build_attributor(self.method, options)


def is_set(hint: Any) -> bool:
    """Whether an option takes several values, written with a plus between them."""
    return get_origin(hint) is frozenset


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """Provenance of a directory of rows: enough to repeat it.

    `command`, `revision`, `versions` and `settings` are the last run's. `code` has a digest of the
    code that events and each attributor's rows depend on, `prompts` one per task that was asked.
    `texts` is how many the clean corpus has, `asked` are the ids of the questions. `thresholds` are
    those that attributors were given by benign texts.
    """

    dataset: str
    dataset_digest: str
    texts: int
    k: int
    seed: int
    scenarios: tuple[str, ...]
    attributors: tuple[Spec, ...]
    models: dict[str, str]
    command: str
    revision: str
    versions: dict[str, str]
    settings: dict[str, Any]
    code: dict[str, str]
    asked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    prompts: dict[str, str] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """What is stored."""
        return asdict(self)


def parse_attributors(text: str) -> tuple[Spec, ...]:
    """Read a list such as `norm,rag_origin:scores=similarity+semantic`; `all` stands for every
    method.

    Raises ConfigurationError for what cannot be read and for options that a method refuses.
    """
    found: list[Spec] = []
    for spec in split_specs(text):
        if spec == ALL:
            found += [Spec(name, name) for name in ATTRIBUTORS]
            continue
        method, _, rest = spec.partition(":")
        options = tuple(option(part) for part in rest.split(",") if part)
        settings = ",".join(f"{name}={plain(value)}" for name, value in options)
        found.append(Spec(f"{method}:{settings}" if settings else method, method, options))
    for one in found:
        one.build()
    return tuple({one.name: one for one in found}.values())


def servable(
    specs: Sequence[Spec], models: Models, benign: int, *, insisted: str
) -> tuple[tuple[Spec, ...], tuple[str, ...]]:
    """The attributors that the models and the `benign` texts of the corpus can serve, and notes on
    those left out.

    Raises ConfigurationError for one that `insisted`, the list it came from, names by itself.
    """
    named = set(split_specs(insisted))
    kept: list[Spec] = []
    notes = [] if benign else [NO_CORPUS]
    for spec in specs:
        try:
            check_needs(spec.build(), models)
            check_benign(spec, benign)
        except ConfigurationError as error:
            if spec.name in named or spec.options:
                raise
            notes.append(f"{spec.name} is left out: {error}")
        else:
            kept.append(spec)
    if not kept:
        raise ConfigurationError("; ".join(["no attributor to evaluate", *notes]))
    few = [spec.name for spec in kept if benign < TEXTS and is_uncalibrated(spec)]
    if few:
        of = counted_noun(benign, "benign text")
        notes.append(f"thresholds of {', '.join(few)} come from {of}, not from {TEXTS:,}")
    return tuple(kept), tuple(notes)


def is_uncalibrated(spec: Spec) -> bool:
    """Whether an attributor is to be given its threshold by benign texts."""
    attributor = spec.build()
    return isinstance(attributor, Calibrated) and attributor.threshold is None


def check_benign(spec: Spec, benign: int) -> None:
    """Raise ConfigurationError for a threshold that would come from no text at all."""
    if not benign and is_uncalibrated(spec):
        raise ConfigurationError(
            f"{spec.name} takes its threshold from benign texts, and the questions bring no "
            "documents: name a data set that has some as another --dataset, or give a threshold"
        )


def events_code() -> str:
    """What identifies the code that makes events."""
    return digest_of((*STAGING, *SHARED))


def code_of(spec: Spec) -> str:
    """What identifies the code between models and a row."""
    return digest_of((type(spec.build()).__module__, *JUDGING))


def continued(earlier: StudyRecord, now: StudyRecord) -> StudyRecord:
    """The record of both runs. Raises ConfigurationError when they are not one study."""
    before, after = ({name: getattr(one, name) for name in SAME} for one in (earlier, now))
    found = [*differing(before, after), *reworded(earlier.prompts)]
    found += differing({"questions": len(earlier.asked)}, {"questions": len(now.asked)})
    names = [name for name, code in now.code.items() if earlier.code.get(name, code) != code]
    found += [f"the code that computes {', '.join(names)}"] if names else []
    if found:
        raise ConfigurationError(
            f"the results there are of another study: {'; '.join(found)}. {WAYS_OUT}"
        )
    return replace(
        now,
        scenarios=tuple(dict.fromkeys((*earlier.scenarios, *now.scenarios))),
        attributors=tuple(dict.fromkeys((*earlier.attributors, *now.attributors))),
        code=earlier.code | now.code,
        prompts=earlier.prompts,
        thresholds=earlier.thresholds,
        seconds=earlier.seconds,
        notes=tuple(dict.fromkeys((*earlier.notes, *now.notes))),
    )


def read_record(directory: Path) -> StudyRecord | None:
    """What an earlier run in the directory was; None if there was none."""
    try:
        data = (directory / RECORD).read_bytes()
    except FileNotFoundError:
        return None
    try:
        return TypeAdapter(StudyRecord).validate_json(data)
    except ValueError:
        raise ConfigurationError(f"{directory / RECORD} is damaged. {WAYS_OUT}") from None


def read_events(directory: Path) -> dict[EventKey, EventRow]:
    """Events by scenario and question; of two the last counts."""
    return {row.key: row for row in read_lines(directory / EVENTS, EventRow)}


def read_rows(directory: Path) -> dict[RowKey, AttributionRow]:
    """Rows by attributor, scenario and question; of two the last counts."""
    return {row.key: row for row in read_lines(directory / ROWS, AttributionRow)}


def start_over(directory: Path) -> None:
    """Forget earlier results, but not what models answered."""
    for name in (ROWS, EVENTS, RECORD, RESULTS, TABLES, "report.html"):
        (directory / name).unlink(missing_ok=True)
