"""All settings, by section."""

from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationInfo,
    model_validator,
)

from radarstream.connectors.corpus.options import CorpusOptions
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.search.options import SearchOptions
from radarstream.pipelines.settings.job import (
    AlertSettings,
    AttributionSettings,
    JobSettings,
    TelemetrySettings,
    WatchSettings,
    checked_listen,
)
from radarstream.pipelines.settings.models import (
    EmbedderSettings,
    GeneratorSettings,
    Profile,
    RelationSettings,
    SameModel,
    TokenSettings,
)
from radarstream.schemas.orchestration import Module, Thresholds
from radarstream.schemas.records import Limits
from radarstream.schemas.section import Section
from radarstream.schemas.snapshot import MOST_LYING


def of_a_service(modules: tuple[Module, ...]) -> tuple[Module, ...]:
    """Check the modules of a service. Raises ValueError for TrustRAG's filter."""
    if Module.TRUSTRAG in modules:
        raise ValueError(
            f"{Module.TRUSTRAG} drops honest pages that are alike, so that two other pages can"
            " decide the answer: only `evaluate service` has it"
        )
    return modules


Modules = Annotated[tuple[Module, ...], AfterValidator(of_a_service)]


class OrchestrationSettings(Section):
    """Which modules act on a user's question besides the configured defence."""

    policy: Literal["none", "static", "adaptive"] = "adaptive"
    """none: only those of `always`; static: all `modules`; adaptive: those of `modules` that the
    risk of a question requires"""
    modules: Modules = tuple(module for module in Module if module is not Module.TRUSTRAG)
    """which modules the policy may switch on"""
    always: Modules = (Module.GUARDRAIL,)
    """modules that act on every question, whatever the policy, also if a model fails"""
    sentinel: Literal["rules", "language_model"] = "rules"
    """what estimates the risk; the rules replace a model that fails"""
    strategist: Literal["rules", "language_model"] = "rules"
    """what makes the plan; the rules limit a model's plan"""
    threshold: float = Field(default=0.4, ge=0.05, le=0.95)
    """risk from which a defence is switched on"""
    thresholds: Thresholds = "corrected"
    """thresholds of near duplicates and unusual documents: corrected, measured on harmless
    questions, or paper, as published"""
    epsilon_budget: PositiveFloat = 100.0
    """epsilon that a user may spend on noisy retrievals; after that the corpus is refused"""
    trust_gain_per_hour: float = Field(default=0.1, ge=0.0, le=1.0)
    """largest gain of a user's trust within an hour"""


class ServingSettings(Section):
    """The service that answers questions."""

    listen: Annotated[str, Field(min_length=1), AfterValidator(checked_listen)] = "127.0.0.1:8080"
    """host:port to listen on"""
    health_listen: Annotated[str, AfterValidator(checked_listen)] = "127.0.0.1:9465"
    """host:port that serves /metrics, /healthz and /readyz without a token; empty = none"""
    anonymous: Literal["refuse", "ask"] = "refuse"
    """what a request without a token may do; ask is for loopback addresses only"""
    source: Literal["corpus", "search", "documents"] = "corpus"
    """where documents come from by default; documents: a request must have its own"""
    documents: int = Field(default=10, ge=1, le=100)
    """documents of the first retrieval"""
    question_characters: PositiveInt = 2_000
    """longest question"""
    body_bytes: PositiveInt = 2**20
    """largest request without documents"""
    upload_bytes: PositiveInt = 8 * 2**20
    """largest request of a known user with documents; a few are received at once"""
    fetch_addresses: bool = False
    """whether users may name addresses of documents, which the service then fetches"""
    timeout_s: PositiveFloat = 60.0
    """seconds after which a question fails"""
    questions_per_minute: PositiveInt = 60
    """most questions of a user within a minute"""
    at_once: PositiveInt = 256
    """most requests of users at once; the last quarter is for users with few"""
    connections: PositiveInt = 256
    """most connections without a request of a known user; above it, the address with most of them
    loses its oldest"""
    request_s: PositiveFloat = 10.0
    """seconds in which a request must arrive whole, and in which a client must accept data"""
    hosts: tuple[Annotated[str, AfterValidator(str.lower)], ...] = ()
    """host names of the service, besides localhost and addresses"""
    proxies: tuple[str, ...] = ()
    """addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted"""
    session_hours: PositiveFloat = 12.0
    """hours after which the console asks for a token again"""
    keep_events: NonNegativeInt = 20
    """answer events of a query that the job keeps for histories and the console; 0 = none"""
    stop_s: PositiveFloat = 20.0
    """seconds that a stop waits for running requests"""


class RetrievalSettings(Section):
    """The reranker, which chooses the documents that the defence sees; by default none."""

    name: str = ""
    """which reranker chooses documents; empty = none"""
    options: dict[str, Any] = {}
    """options of the reranker, by name"""
    keep: int = Field(default=10, ge=1)
    """most documents of a snapshot that the defence sees"""
    models: dict[str, dict[str, Any]] = {}
    """models that only rerankers use, by name, each with its `kind`"""

    @model_validator(mode="after")
    def _options_have_a_name(self) -> Self:
        if self.options and not self.name:
            raise ValueError("`options` are set without a `name`: they belong to a reranker")
        return self

    @model_validator(mode="after")
    def _no_noise(self) -> Self:
        if self.name == "dp_rag":
            raise ValueError("`dp_rag` has no use here: its documents and its seed are known")
        return self


class ReadingSettings(Section):
    """How many pages a model reads, and of long ones which windows: those that fit the question
    best. For queries that ask for a long answer, pages are read from the start up to the limit of
    the prompt.
    """

    windows: int = Field(default=5, ge=0, le=100)
    """most windows of a long page that are read; 0 = pages are read from the start"""
    window_characters: int = Field(default=220, ge=40, le=2_000)
    """most characters of one window"""
    whole_characters: int = Field(default=1_200, ge=0)
    """characters (title and text) up to which a page is read whole"""
    block: int = Field(default=3, ge=1, le=100)
    """documents that are read at once, in rank order, until the answer is settled"""
    unconfirmed: int = Field(default=10, ge=1, le=100)
    """least number of documents that are read for the first answer; for one that differs from the
    last, all are read"""
    most_documents: int = Field(default=50, ge=1)
    """most documents of a snapshot that are read"""
    most_seconds: float = Field(default=60.0, gt=0.0)
    """seconds after which no more documents are read"""
    further_searches: int = Field(default=2, ge=0, le=10)
    """how often a user's question may get ten more documents, from the next result page or from the
    corpus, until its answer is settled"""


SettingsT = TypeVar("SettingsT", AlertSettings, AttributionSettings)


class DocumentSettings(Section):
    """Documents that come with a question, and limits of reading them."""

    most_bytes: int = Field(default=16 * 2**20, ge=2**10)
    """most bytes of a file or page"""
    parse_seconds: int = Field(default=20, ge=1)
    """seconds of processor time to extract a text; four times that by the clock"""
    parse_bytes: int = Field(default=512 * 2**20, ge=32 * 2**20)
    """bytes of memory to extract a text"""
    inner_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """networks besides the public internet whose addresses may be fetched, such as 10.1.0.0/16, but
    not by the service; redirects of hostile pages may lead there too"""


class DefenseSettings(Section):
    """The defence and its options."""

    name: str = "voices"
    """name of the defence"""
    options: dict[str, Any] = {}
    """options of the defence, by name"""
    withstand: int = Field(default=1, ge=0, le=MOST_LYING)
    """how many of the sites that are read may lie without a false answer: one more independent site
    must say the answer; for the defence `voices`"""
    compare_with: str = "vanilla"
    """defence that replays compare with; empty = none"""

    def named(self, name: str) -> Self:
        """Return the settings of a defence, without the options of another."""
        if name == self.name:
            return self
        return type(self)(name=name, compare_with=self.compare_with)


class CacheSettings(Section):
    """The response cache in the state database."""

    max_entries: int = Field(default=1_000_000, ge=1)
    """most responses; the oldest are deleted"""


class BatchSettings(Section):
    """Sizes of batches."""

    snapshots: int = Field(default=8, ge=1)
    """snapshots in one batch of model requests"""
    queries: int = Field(default=16, ge=1)
    """queries that are answered in lockstep"""


def in_own_group(section: SettingsT, info: ValidationInfo) -> SettingsT:
    """Derive a section's consumer group from the job's."""
    kafka = info.data.get("kafka")
    if "group" in section.model_fields_set or kafka is None:
        return section
    purpose = "alerts" if isinstance(section, AlertSettings) else "complaints"
    return section.model_copy(update={"group": f"{kafka.group}-{purpose}"})


class Settings(Section):
    """All settings of a run."""

    profile: Profile = "embedded"
    """named set of default models"""
    generator: GeneratorSettings
    relations: RelationSettings
    embedder: EmbedderSettings
    tokens: TokenSettings = SameModel()
    """model for token probabilities"""
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
