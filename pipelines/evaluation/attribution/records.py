"""What a directory of an attribution study holds: its record and its files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from radarstream.pipelines.evaluation.attribution.attributors import Spec
from radarstream.pipelines.evaluation.attribution.rows import EVENTS, AttributionRow, EventRow
from radarstream.pipelines.evaluation.study.answering_code import SHARED, digest_of
from radarstream.pipelines.evaluation.study.record import StudyRecord
from radarstream.schemas.errors import ConfigurationError

FILES: Mapping[type[Any], str] = {AttributionRow: "rows.jsonl", EventRow: "events.jsonl"}
HERE = "radarstream.pipelines.evaluation.attribution"
# What events depend on, beside what the signals of a pipeline do.
STAGING = (
    *(f"{HERE}.{name}" for name in ("events", "staging")),
    *(
        f"radarstream.pipelines.evaluation.attacks.{name}"
        for name in ("corpus", "protocol", "texts", "variations")
    ),
    "radarstream.pipelines.evaluation.questions",
    "radarstream.pipelines.evaluation.scoring",
)
JUDGING = (*SHARED, f"{HERE}.judged", "radarstream.pipelines.signals.fulfilment")


@dataclass(frozen=True, kw_only=True)
class AttributionRecord(StudyRecord):
    """Provenance of an attribution study.

    `texts` is how many the clean corpus has. `thresholds` are those that attributors were given by
    benign texts. The code of events is on record as that of an author of its own.
    """

    KIND: ClassVar[str] = "attribution"
    SAME: ClassVar[Mapping[str, str]] = {
        **StudyRecord.SAME,
        "texts": "texts of the corpus",
        "half": "half of the questions",
        "questions": "questions",
    }
    MEMBERS: ClassVar[tuple[str, ...]] = ("scenarios", "attributors")

    texts: int
    scenarios: tuple[str, ...]
    attributors: tuple[Spec, ...]
    thresholds: dict[str, float] = field(default_factory=dict)

    @property
    def questions(self) -> int:
        """How many questions are asked."""
        return len(self.asked)

    @property
    def names(self) -> list[str]:
        """The names of the attributors."""
        return [spec.name for spec in self.attributors]

    def continuing(self, earlier: Self) -> Self:
        """The record of both runs, with the thresholds that are known."""
        return replace(super().continuing(earlier), thresholds=earlier.thresholds)


def code_of(attributors: tuple[Spec, ...]) -> dict[str, str | None]:
    """Digests of the code that events depend on, and the rows of each attributor; None for one that
    can no longer be built.
    """
    found: dict[str, str | None] = {EVENTS: digest_of((*STAGING, *SHARED))}
    for spec in attributors:
        try:
            found[spec.name] = digest_of((type(spec.build()).__module__, *JUDGING))
        except ConfigurationError:
            found[spec.name] = None
    return found
