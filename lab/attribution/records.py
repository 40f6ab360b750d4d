"""The record of an attribution study and the code of its rows."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from radarstream.lab.attribution.attributors import attributor_of
from radarstream.lab.attribution.rows import EVENTS
from radarstream.lab.study.record import SHARED, CorpusRecord
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.job.replaying.answering_code import digest_of
from radarstream.schemas.errors import ConfigurationError

HERE = "radarstream.lab.attribution"
# What events depend on, beside what the signals of a pipeline do.
STAGING = (
    *(f"{HERE}.{name}" for name in ("events", "staging")),
    *(f"radarstream.lab.attacks.{name}" for name in ("corpus", "protocol", "texts", "variations")),
    "radarstream.lab.attacks.questions",
    "radarstream.lab.study.scoring",
)
JUDGING = (*SHARED, f"{HERE}.judged", "radarstream.pipelines.signals.fulfilment")


@dataclass(frozen=True, kw_only=True)
class AttributionRecord(CorpusRecord):
    """Provenance of an attribution study.

    `thresholds` are those that attributors were given by benign texts. The code of events is on
    record as that of an author of its own.
    """

    KIND: ClassVar[str] = "attribution"
    MEMBERS: ClassVar[tuple[str, ...]] = ("scenarios", "attributors")

    scenarios: tuple[str, ...]
    attributors: tuple[Spec, ...]
    thresholds: dict[str, float] = field(default_factory=dict)

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
            found[spec.name] = digest_of((type(attributor_of(spec)).__module__, *JUDGING))
        except ConfigurationError:
            found[spec.name] = None
    return found
