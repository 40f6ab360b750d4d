"""Settings: command-line flags over environment (RADARSTREAM_…) over TOML file over defaults.

Frozen and picklable: workers receive the settings and build their own models. Unknown keys are
errors.
"""

import os
from pathlib import Path
from tomllib import TOMLDecodeError, load
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from schemas.errors import ConfigurationError
from schemas.records import Limits

Profile = Literal["embedded", "gpu", "scripted"]
NOT_SETTINGS = {"RADARSTREAM_DATA"}  # where tests and calibration find data sets


class Section(BaseModel):
    """A frozen group of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LlamaCpp(Section):
    """Embedded generation with llama.cpp; without `model_path`, the weights of the extra."""

    kind: Literal["llama_cpp"] = "llama_cpp"
    model_path: Path | None = None
    slots: Annotated[int, Field(ge=1, le=64, description="prompts decoded at once")] = 2
    threads: Annotated[int | None, Field(ge=1, description="None = physical cores")] = None


class TransformersGenerator(Section):
    """Generation with transformers; CUDA when present. `model` as in `CrossEncoder`."""

    kind: Literal["transformers"] = "transformers"
    model: str
    batch_size: Annotated[int, Field(ge=1, description="prompts decoded at once")] = 16


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


class Settings(Section):
    """Everything a run can be told."""

    profile: Profile = "embedded"
    generator: GeneratorSettings
    relations: RelationSettings
    embedder: EmbedderSettings
    database: str = "sqlite:///build/radarstream.sqlite"
    defense: DefenseSettings = DefenseSettings()
    cache: CacheSettings = CacheSettings()
    limits: LimitSettings = LimitSettings()
    batch: BatchSettings = BatchSettings()


class EnvironmentSettings(Settings, BaseSettings):
    """The same fields, as environment variables name them: RADARSTREAM_GENERATOR__SLOTS=8."""

    model_config = SettingsConfigDict(env_prefix="RADARSTREAM_", env_nested_delimiter="__")


def load_settings(file: Path | None = None, **flags: Any) -> Settings:
    """Merge flags, environment, TOML file and the profile's defaults.

    Flags that are None are not given. Raises ConfigurationError naming every wrong key.

    >>> load_settings(profile="scripted").generator.kind
    'scripted'
    """
    given = {name: value for name, value in flags.items() if value is not None}
    layers = [read_toml(file) if file else {}, read_environment(), given]
    named = [layer["profile"] for layer in layers if "profile" in layer]
    profile = named[-1] if named else "embedded"
    if profile not in list(PROFILES):  # a TOML file may hold anything here, also a list
        raise ConfigurationError(
            f"settings: no profile {profile!r}; there are {', '.join(PROFILES)}"
        )
    values: dict[str, Any] = dict(PROFILES[profile])
    for layer in layers:
        values = overlaid(values, layer)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ConfigurationError(f"settings: {problems}") from None


def read_environment() -> dict[str, Any]:
    """Read RADARSTREAM_… variables; ConfigurationError for one that names no setting."""
    prefix = EnvironmentSettings.model_config["env_prefix"]
    names = {name.upper() for name in os.environ if name.upper().startswith(prefix)}
    known = {prefix + field.upper() for field in Settings.model_fields} | NOT_SETTINGS
    unknown = sorted(name for name in names if name.split("__")[0] not in known)
    if unknown:
        raise ConfigurationError(f"settings: unknown environment variables {', '.join(unknown)}")
    try:
        return EnvSettingsSource(EnvironmentSettings)()
    except SettingsError as error:
        raise ConfigurationError(f"settings: {error}") from None


def overlaid(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Lay one layer over another, section by section; another `kind` replaces a whole section."""
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        if isinstance(under, dict) and isinstance(value, dict) and same_kind(under, value):
            merged[name] = overlaid(under, value)
        else:
            merged[name] = value
    return merged


def same_kind(below: dict[str, Any], above: dict[str, Any]) -> bool:
    """Whether two layers of a section are about the same backend."""
    return "kind" not in above or above["kind"] == below.get("kind")


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file; ConfigurationError if it cannot be read or is malformed."""
    try:
        with file.open("rb") as stream:
            return load(stream)
    except FileNotFoundError:
        raise ConfigurationError(f"no settings file at {file}") from None
    except OSError as error:
        raise ConfigurationError(f"cannot read {file}: {error.strerror}") from None
    except (TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} is not TOML: {error}") from None
