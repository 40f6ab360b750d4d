"""Settings of every command: frozen, picklable, without secrets."""

from radarstream.pipelines.settings.alerts import AlertSettings
from radarstream.pipelines.settings.attribution import AttributionSettings
from radarstream.pipelines.settings.collecting import WatchSettings
from radarstream.pipelines.settings.job import JobSettings, TelemetrySettings
from radarstream.pipelines.settings.loading import load_settings
from radarstream.pipelines.settings.models import (
    PROFILES,
    AnswerAgreement,
    CrossEncoder,
    EmbedderSettings,
    GeneratorSettings,
    LlamaCpp,
    NoTokens,
    OpenAiGenerator,
    OpenAiTokens,
    Profile,
    RelationSettings,
    SameModel,
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
    SentenceEmbedder,
    TokenSettings,
    TransformersGenerator,
    TransformersTokens,
)
from radarstream.pipelines.settings.root import (
    BatchSettings,
    CacheSettings,
    DefenseSettings,
    Settings,
)
from radarstream.pipelines.settings.sources import SourceSettings

__all__ = [
    "AlertSettings",
    "AnswerAgreement",
    "AttributionSettings",
    "BatchSettings",
    "CacheSettings",
    "CrossEncoder",
    "DefenseSettings",
    "EmbedderSettings",
    "GeneratorSettings",
    "JobSettings",
    "LlamaCpp",
    "NoTokens",
    "OpenAiGenerator",
    "OpenAiTokens",
    "PROFILES",
    "Profile",
    "RelationSettings",
    "SameModel",
    "ScriptedEmbedder",
    "ScriptedGenerator",
    "ScriptedRelations",
    "SentenceEmbedder",
    "Settings",
    "SourceSettings",
    "TelemetrySettings",
    "TokenSettings",
    "TransformersGenerator",
    "TransformersTokens",
    "WatchSettings",
    "load_settings",
]
