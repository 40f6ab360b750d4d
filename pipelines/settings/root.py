"""Everything a run can be told, section by section."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from radarstream.connectors.corpus.options import CorpusOptions
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.serpapi.options import SerpApiOptions
from radarstream.pipelines.settings.alerts import AlertSettings
from radarstream.pipelines.settings.attribution import AttributionSettings
from radarstream.pipelines.settings.collecting import WatchSettings
from radarstream.pipelines.settings.job import JobSettings, TelemetrySettings
from radarstream.pipelines.settings.models import (
    EmbedderSettings,
    GeneratorSettings,
    Profile,
    RelationSettings,
    SameModel,
    TokenSettings,
)
from radarstream.pipelines.settings.sources import SourceSettings
from radarstream.schemas.records import Limits
from radarstream.schemas.section import Section


class DefenseSettings(Section):
    """Which defence answers, with its options by name; the baseline "" means no comparison."""

    name: Annotated[str, Field(description="which defence answers")] = "radar"
    options: Annotated[dict[str, Any], Field(description="of the defence, by name")] = {}
    compare_with: Annotated[
        str, Field(description="defence shown beside it in replays; empty = none")
    ] = "vanilla"


class CacheSettings(Section):
    """The response cache in the state database."""

    max_entries: Annotated[
        int, Field(ge=1, description="responses that are kept; the oldest go")
    ] = 1_000_000
    chunk: Annotated[int, Field(ge=1, description="model requests per durable write")] = 64


class BatchSettings(Section):
    """How much is done at once."""

    snapshots: Annotated[int, Field(ge=1, description="snapshots per model batch")] = 8
    queries: Annotated[int, Field(ge=1, description="queries defended in lockstep")] = 16


def in_own_group(alerts: AlertSettings, others: ValidationInfo) -> AlertSettings:
    """Derive the group of the alerts from the job's, which differs between topic prefixes."""
    kafka = others.data.get("kafka")
    if "group" in alerts.model_fields_set or kafka is None:
        return alerts
    return alerts.model_copy(update={"group": f"{kafka.group}-alerts"})


def in_own_complaints_group(
    attribution: AttributionSettings, others: ValidationInfo
) -> AttributionSettings:
    """Derive the group of the complaints likewise."""
    kafka = others.data.get("kafka")
    if "group" in attribution.model_fields_set or kafka is None:
        return attribution
    return attribution.model_copy(update={"group": f"{kafka.group}-complaints"})


class Settings(Section):
    """Everything a run can be told."""

    profile: Annotated[Profile, Field(description="which models answer by default")] = "embedded"
    generator: GeneratorSettings
    relations: RelationSettings
    embedder: EmbedderSettings
    tokens: Annotated[
        TokenSettings, Field(description="which model tells probabilities of tokens")
    ] = SameModel()
    database: Annotated[
        str, Field(description="SQLAlchemy URL: sqlite:///file or postgresql://user@host/name")
    ] = "sqlite:///build/radarstream.sqlite"
    defense: DefenseSettings = DefenseSettings()
    cache: CacheSettings = CacheSettings()
    limits: Limits = Limits()
    batch: BatchSettings = BatchSettings()
    kafka: KafkaOptions = KafkaOptions()
    job: JobSettings = JobSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    search: SerpApiOptions = SerpApiOptions()
    watch: WatchSettings = WatchSettings()
    alerts: Annotated[AlertSettings, AfterValidator(in_own_group), Field(validate_default=True)] = (
        AlertSettings()
    )
    attribution: Annotated[
        AttributionSettings, AfterValidator(in_own_complaints_group), Field(validate_default=True)
    ] = AttributionSettings()
    sources: SourceSettings = SourceSettings()
    corpus: CorpusOptions = CorpusOptions()
