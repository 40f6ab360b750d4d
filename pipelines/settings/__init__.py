"""Settings of every command: frozen, picklable, without secrets."""

from radarstream.pipelines.settings.job import AlertSettings as AlertSettings
from radarstream.pipelines.settings.job import AttributionSettings as AttributionSettings
from radarstream.pipelines.settings.job import JobSettings as JobSettings
from radarstream.pipelines.settings.job import TelemetrySettings as TelemetrySettings
from radarstream.pipelines.settings.job import WatchSettings as WatchSettings
from radarstream.pipelines.settings.loading import load_settings as load_settings
from radarstream.pipelines.settings.models import PROFILES as PROFILES
from radarstream.pipelines.settings.models import AnswerAgreement as AnswerAgreement
from radarstream.pipelines.settings.models import CrossEncoder as CrossEncoder
from radarstream.pipelines.settings.models import EmbedderSettings as EmbedderSettings
from radarstream.pipelines.settings.models import GeneratorSettings as GeneratorSettings
from radarstream.pipelines.settings.models import LanguageModel as LanguageModel
from radarstream.pipelines.settings.models import LlamaCpp as LlamaCpp
from radarstream.pipelines.settings.models import NoTokens as NoTokens
from radarstream.pipelines.settings.models import OpenAiGenerator as OpenAiGenerator
from radarstream.pipelines.settings.models import OpenAiTokens as OpenAiTokens
from radarstream.pipelines.settings.models import Profile as Profile
from radarstream.pipelines.settings.models import RelationSettings as RelationSettings
from radarstream.pipelines.settings.models import SameModel as SameModel
from radarstream.pipelines.settings.models import ScriptedEmbedder as ScriptedEmbedder
from radarstream.pipelines.settings.models import ScriptedGenerator as ScriptedGenerator
from radarstream.pipelines.settings.models import ScriptedRelations as ScriptedRelations
from radarstream.pipelines.settings.models import SentenceEmbedder as SentenceEmbedder
from radarstream.pipelines.settings.retrieval import AttentionSettings as AttentionSettings
from radarstream.pipelines.settings.retrieval import CausalSubstitute as CausalSubstitute
from radarstream.pipelines.settings.retrieval import LeaveOneOut as LeaveOneOut
from radarstream.pipelines.settings.retrieval import MaskedLanguageModel as MaskedLanguageModel
from radarstream.pipelines.settings.retrieval import MaskedSettings as MaskedSettings
from radarstream.pipelines.settings.retrieval import NoAttention as NoAttention
from radarstream.pipelines.settings.retrieval import NoMasked as NoMasked
from radarstream.pipelines.settings.retrieval import ReadingSettings as ReadingSettings
from radarstream.pipelines.settings.retrieval import RetrievalSettings as RetrievalSettings
from radarstream.pipelines.settings.retrieval import ScriptedAttention as ScriptedAttention
from radarstream.pipelines.settings.retrieval import ScriptedMasked as ScriptedMasked
from radarstream.pipelines.settings.retrieval import (
    TransformersAttention as TransformersAttention,
)
from radarstream.pipelines.settings.root import CacheSettings as CacheSettings
from radarstream.pipelines.settings.root import DefenseSettings as DefenseSettings
from radarstream.pipelines.settings.root import Settings as Settings
