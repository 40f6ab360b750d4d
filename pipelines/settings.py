"""Settings: command-line flags over environment (RADARSTREAM_…) over TOML file over defaults.

Frozen and picklable: workers receive the settings and build their own models. Unknown keys are
errors.
"""

from os import environ
from pathlib import Path
from tomllib import TOMLDecodeError, load
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from schemas.errors import ConfigurationError
from schemas.records import Limits

Profile = Literal["embedded", "gpu", "scripted"]


class Section(BaseModel):
    """A frozen group of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LlamaCpp(Section):
    """Embedded generation with llama.cpp; without `model_path`, the weights of the extra."""

    kind: Literal["llama_cpp"] = "llama_cpp"
    model_path: Path | None = None
    parallel: Annotated[int, Field(ge=1, le=64)] = 8
    threads: Annotated[int, Field(ge=0, description="0 = one per core")] = 0


class TransformersGenerator(Section):
    """Generation with transformers; CUDA when present."""

    kind: Literal["transformers"] = "transformers"
    model: str
    batch_tokens: Annotated[int, Field(ge=256)] = 16_384


class ScriptedGenerator(Section):
    """Deterministic rules instead of a model, for dry runs and tests."""

    kind: Literal["scripted"] = "scripted"


class AnswerAgreement(Section):
    """The embedded calibrated scorer."""

    kind: Literal["answer_agreement"] = "answer_agreement"


class CrossEncoder(Section):
    """A transformers NLI cross-encoder; labels are read from the model and checked at start."""

    kind: Literal["cross_encoder"] = "cross_encoder"
    model: str
    canary: bool = True


class ScriptedRelations(Section):
    """Relations by equality of normalised text."""

    kind: Literal["scripted"] = "scripted"


class SentenceEmbedder(Section):
    """Sentence embeddings; without `model`, the MiniLM weights of the extra."""

    kind: Literal["sentence_transformers"] = "sentence_transformers"
    model: str | None = None


class ScriptedEmbedder(Section):
    """Unit vectors drawn from a hash of the text."""

    kind: Literal["scripted"] = "scripted"


GeneratorSettings = Annotated[
    LlamaCpp | TransformersGenerator | ScriptedGenerator, Field(discriminator="kind")
]
RelationSettings = Annotated[
    AnswerAgreement | CrossEncoder | ScriptedRelations, Field(discriminator="kind")
]
EmbedderSettings = Annotated[SentenceEmbedder | ScriptedEmbedder, Field(discriminator="kind")]


class DefenseSettings(Section):
    """Which defence answers, with its options by name; the baseline "" means no comparison."""

    name: str = "radar"
    options: dict[str, Any] = {}
    compare_with: str = "vanilla"


class CacheSettings(Section):
    """The response cache in the state database."""

    max_entries: Annotated[int, Field(ge=1)] = 1_000_000
    chunk: Annotated[int, Field(ge=1, description="model requests per durable write")] = 64


class LimitSettings(Section):
    """What a record may weigh; more is a dead letter."""

    record_bytes: Annotated[int, Field(ge=1_024)] = 16 * 2**20
    document_bytes: Annotated[int, Field(ge=256)] = 2**20
    documents: Annotated[int, Field(ge=1)] = 200

    def as_limits(self) -> Limits:
        """Return the value that the decoder takes."""
        return Limits(**self.model_dump())


class BatchSettings(Section):
    """How much is done at once."""

    snapshots: Annotated[int, Field(ge=1, description="snapshots per model batch")] = 8
    queries: Annotated[int, Field(ge=1, description="queries defended in lockstep")] = 16


PROFILES: dict[Profile, dict[str, dict[str, Any]]] = {
    "embedded": {
        "generator": {"kind": "llama_cpp"},
        "relations": {"kind": "answer_agreement"},
        "embedder": {"kind": "sentence_transformers"},
    },
    "gpu": {
        "generator": {"kind": "transformers", "model": "Qwen/Qwen2.5-7B-Instruct"},
        "relations": {
            "kind": "cross_encoder",
            "model": "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli",
        },
        "embedder": {
            "kind": "sentence_transformers",
            "model": "sentence-transformers/all-MiniLM-L6-v2",
        },
    },
    "scripted": {
        "generator": {"kind": "scripted"},
        "relations": {"kind": "scripted"},
        "embedder": {"kind": "scripted"},
    },
}


class Settings(BaseSettings):
    """Everything a run can be told."""

    model_config = SettingsConfigDict(
        env_prefix="RADARSTREAM_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    profile: Profile = "embedded"
    generator: GeneratorSettings
    relations: RelationSettings
    embedder: EmbedderSettings
    database: str = "sqlite:///build/radarstream.sqlite"
    defense: DefenseSettings = DefenseSettings()
    cache: CacheSettings = CacheSettings()
    limits: LimitSettings = LimitSettings()
    batch: BatchSettings = BatchSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        **_: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let flags win over the environment, and both over the file and the profile."""
        if not isinstance(init_settings, InitSettingsSource):
            raise TypeError("initial values must come as keywords")
        given = dict(init_settings.init_kwargs)
        layers = [given.pop("_flags", {}), None, given.pop("_file", {}), given]
        return tuple(
            env_settings if layer is None else InitSettingsSource(settings_cls, layer)
            for layer in layers
        )


def load_settings(file: Path | None = None, **flags: Any) -> Settings:
    """Merge flags, environment, TOML file and the profile's defaults.

    Flags that are None are not given. Raises ConfigurationError naming every wrong key.

    >>> load_settings(profile="scripted").generator.kind
    'scripted'
    """
    given = {name: value for name, value in flags.items() if value is not None}
    from_file = read_toml(file) if file else {}
    named = given.get("profile") or environ.get("RADARSTREAM_PROFILE") or from_file.get("profile")
    profile = PROFILES.get(named or "embedded", {})
    try:
        return Settings(_flags=given, _file=from_file, **merged(profile, from_file))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ConfigurationError(f"settings: {problems}") from None


def merged(profile: dict[str, dict[str, Any]], file: dict[str, Any]) -> dict[str, Any]:
    """Drop a profile's section when the file names another kind for it."""
    return {
        name: section
        for name, section in profile.items()
        if file.get(name, {}).get("kind", section["kind"]) == section["kind"]
    }


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file; ConfigurationError if it is missing or malformed."""
    try:
        with file.open("rb") as stream:
            return load(stream)
    except FileNotFoundError:
        raise ConfigurationError(f"no settings file at {file}") from None
    except TOMLDecodeError as error:
        raise ConfigurationError(f"{file} is not TOML: {error}") from None
