"""Everything a run can be told, section by section."""

from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo

from radarstream.connectors.corpus.options import CorpusOptions
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.search.options import SearchOptions
from radarstream.pipelines.settings.job import (
    AlertSettings,
    AttributionSettings,
    JobSettings,
    TelemetrySettings,
    WatchSettings,
)
from radarstream.pipelines.settings.models import (
    EmbedderSettings,
    GeneratorSettings,
    Profile,
    RelationSettings,
    SameModel,
    TokenSettings,
)
from radarstream.pipelines.settings.retrieval import (
    DocumentSettings,
    ReadingSettings,
    RetrievalSettings,
)
from radarstream.pipelines.settings.serving import OrchestrationSettings, ServingSettings
from radarstream.schemas.records import Limits
from radarstream.schemas.section import Section
from radarstream.schemas.snapshot import MOST_LYING

SettingsT = TypeVar("SettingsT", AlertSettings, AttributionSettings)


class DefenseSettings(Section):
    """Which defence answers, with its options by name; the baseline "" means no comparison."""

    name: str = "voices"
    """which defence answers"""
    options: dict[str, Any] = {}
    """options of the defence, by name"""
    withstand: int = Field(default=1, ge=0, le=MOST_LYING)
    """how many of the sites that are read may lie without a false answer: one more independent site
    must say the answer; for the defence `voices`"""
    compare_with: str = "vanilla"
    """defence that replays compare with; empty = none"""

    def named(self, name: str) -> Self:
        """These settings, or those of another defence: its options are its own."""
        if name == self.name:
            return self
        return type(self)(name=name, compare_with=self.compare_with)


class CacheSettings(Section):
    """The response cache in the state database."""

    max_entries: int = Field(default=1_000_000, ge=1)
    """most responses; the oldest are deleted"""


class BatchSettings(Section):
    """How much is done at once."""

    snapshots: int = Field(default=8, ge=1)
    """snapshots in one batch of model requests"""
    queries: int = Field(default=16, ge=1)
    """queries that are answered together, step by step"""


def in_own_group(section: SettingsT, info: ValidationInfo) -> SettingsT:
    """Derive a section's consumer group from the job's, which differs between topic prefixes."""
    kafka = info.data.get("kafka")
    if "group" in section.model_fields_set or kafka is None:
        return section
    purpose = "alerts" if isinstance(section, AlertSettings) else "complaints"
    return section.model_copy(update={"group": f"{kafka.group}-{purpose}"})


class Settings(Section):
    """Everything a run can be told."""

    profile: Profile = "embedded"
    """which models answer by default"""
    generator: GeneratorSettings
    relations: RelationSettings
    embedder: EmbedderSettings
    tokens: TokenSettings = SameModel()
    """which model tells probabilities of tokens"""
    database: str = "sqlite:///build/radarstream.sqlite"
    """SQLAlchemy URL: sqlite:///file or postgresql://user@host/name"""
    reading: ReadingSettings = ReadingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    documents: DocumentSettings = DocumentSettings()
    defense: DefenseSettings = DefenseSettings()
    cache: CacheSettings = CacheSettings()
    limits: Limits = Limits()
    batch: BatchSettings = BatchSettings()
    kafka: KafkaOptions = KafkaOptions()
    job: JobSettings = JobSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    search: SearchOptions = SearchOptions()
    watch: WatchSettings = WatchSettings()
    alerts: Annotated[AlertSettings, AfterValidator(in_own_group)] = Field(
        default=AlertSettings(), validate_default=True
    )
    attribution: Annotated[AttributionSettings, AfterValidator(in_own_group)] = Field(
        default=AttributionSettings(), validate_default=True
    )
    corpus: CorpusOptions = CorpusOptions()
    orchestration: OrchestrationSettings = OrchestrationSettings()
    serving: ServingSettings = ServingSettings()
