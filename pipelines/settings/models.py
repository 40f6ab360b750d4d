"""Settings of models, one class per backend with its own `kind`, and the profiles."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from radarstream.connectors.models.openai_http.options import OpenAiOptions, OpenAiTokenOptions
from radarstream.schemas.section import Section

Profile = Literal["embedded", "api", "scripted"]
ModelName = Annotated[str, Field(description="name in the model cache, or a directory")]


class LlamaCpp(Section):
    """Embedded generation with llama.cpp; without `model_path`, the weights of the extra."""

    kind: Literal["llama_cpp"] = "llama_cpp"
    model_path: Path | None = None
    """GGUF file; none = the weights of the extra"""
    slots: int = Field(default=2, ge=1, le=64)
    """number of prompts that are decoded at the same time"""
    threads: int | None = Field(default=None, ge=1)
    """number of threads; none = one per physical core"""
    passage_characters: int | None = Field(default=None, ge=40, le=20_000)
    """characters of each passage in a prompt with several passages (not in chat prompts); none =
    160, or 300 for biographies"""
    chat: bool | None = None
    """whether prompts are chat messages, for instruction-tuned weights; none = if the weights have
    a chat template"""


class OpenAiGenerator(OpenAiOptions):
    """Generation by an OpenAI-compatible service."""

    kind: Literal["openai"] = "openai"


class SameModel(Section):
    """The generator's model, if it runs in this process; on first use llama.cpp loads the weights
    again in half precision.
    """

    kind: Literal["same"] = "same"


class OpenAiTokens(OpenAiTokenOptions):
    """A service that returns the log-probabilities of prompts."""

    kind: Literal["openai"] = "openai"


class NoTokens(Section):
    """No token probabilities."""

    kind: Literal["none"] = "none"


class ScriptedGenerator(Section):
    """Deterministic rules instead of a model, for dry runs and tests."""

    kind: Literal["scripted"] = "scripted"


class AnswerAgreement(Section):
    """The embedded scorer: rules, with probabilities set by hand."""

    kind: Literal["answer_agreement"] = "answer_agreement"


class CrossEncoder(Section):
    """A transformers NLI cross-encoder; labels are read from the model and checked at start."""

    kind: Literal["cross_encoder"] = "cross_encoder"
    model: ModelName


class LanguageModel(Section):
    """The generator judges pairs of answers that rules cannot decide, by two prompts per pair and
    up to nine per answer that may steer it; for instruction-tuned models.
    """

    kind: Literal["language_model"] = "language_model"


class ScriptedRelations(Section):
    """Relations by equality of normalised text."""

    kind: Literal["scripted"] = "scripted"


class SentenceEmbedder(Section):
    """Sentence embeddings; without `model`, the installed MiniLM weights, which need no torch."""

    kind: Literal["sentence_transformers"] = "sentence_transformers"
    model: str | None = None
    """name in the model cache, or a directory; none = the installed MiniLM weights"""


class ScriptedEmbedder(Section):
    """Random unit vectors, seeded by a hash of the text."""

    kind: Literal["scripted"] = "scripted"


GeneratorSettings = Annotated[
    LlamaCpp | OpenAiGenerator | ScriptedGenerator, Field(discriminator="kind")
]
TokenSettings = Annotated[SameModel | OpenAiTokens | NoTokens, Field(discriminator="kind")]
RelationSettings = Annotated[
    AnswerAgreement | CrossEncoder | LanguageModel | ScriptedRelations, Field(discriminator="kind")
]
EmbedderSettings = Annotated[SentenceEmbedder | ScriptedEmbedder, Field(discriminator="kind")]

AGREEMENT = {"kind": "answer_agreement"}
EMBEDDINGS = {"kind": "sentence_transformers"}
SCRIPTED = {"kind": "scripted"}
PROFILES: dict[Profile, dict[str, dict[str, Any]]] = {
    "embedded": {
        "generator": {"kind": "llama_cpp"},
        "relations": AGREEMENT,
        "embedder": EMBEDDINGS,
        "reading": {"windows": 2},
    },
    "api": {
        "generator": {"kind": "openai", "model": "gpt-4o-mini"},
        "relations": {"kind": "language_model"},
        "embedder": EMBEDDINGS,
    },
    "scripted": {"generator": SCRIPTED, "relations": SCRIPTED, "embedder": SCRIPTED},
}
