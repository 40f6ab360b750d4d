"""How much of a page is read, which search results a defence sees, and who chooses them."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from radarstream.pipelines.settings.models import EmbedderSettings, ModelName
from radarstream.schemas.section import Section


class MaskedLanguageModel(Section):
    """A masked language model of transformers. `model` as in `CrossEncoder`."""

    kind: Literal["transformers"] = "transformers"
    model: ModelName


class CausalSubstitute(Section):
    """A substitute where no masked language model is at hand: llama.cpp reads a text from left to
    right and tells how probable each word is after those before it, never what follows it.
    """

    kind: Literal["causal"] = "causal"
    model_path: Path | None = None
    """GGUF file; none = the weights of the extra"""
    threads: int | None = Field(default=None, ge=1)
    """number of threads; none = one per physical core"""


class ScriptedMasked(Section):
    """Probabilities drawn from a hash of the word; words without a vowel are improbable."""

    kind: Literal["scripted"] = "scripted"


class NoMasked(Section):
    """No model tells how probable hidden words are."""

    kind: Literal["none"] = "none"


MaskedSettings = Annotated[
    MaskedLanguageModel | CausalSubstitute | ScriptedMasked | NoMasked,
    Field(discriminator="kind"),
]


class TransformersAttention(Section):
    """Attention of a causal language model of transformers. `model` as in `CrossEncoder`."""

    kind: Literal["transformers"] = "transformers"
    model: ModelName


class LeaveOneOut(Section):
    """A substitute where no attention is at hand: how much less probable an answer is without each
    passage, told by the model of the section `tokens`.
    """

    kind: Literal["leave_one_out"] = "leave_one_out"


class ScriptedAttention(Section):
    """Passages that say the words of an answer share the attention."""

    kind: Literal["scripted"] = "scripted"


class NoAttention(Section):
    """No model tells how it shares its attention."""

    kind: Literal["none"] = "none"


AttentionSettings = Annotated[
    TransformersAttention | LeaveOneOut | ScriptedAttention | NoAttention,
    Field(discriminator="kind"),
]


class RetrievalSettings(Section):
    """Which reranker chooses what the defence sees; the name "" means that it sees everything."""

    name: str = ""
    """which reranker chooses documents; empty = none"""
    options: dict[str, Any] = {}
    """options of the reranker, by name"""
    keep: int = Field(default=10, ge=1)
    """most documents of a snapshot that the defence sees"""
    surrogate: EmbedderSettings | None = None
    """an encoder besides the embedder, for rerankers that ask one for gradients"""
    masked: MaskedSettings = CausalSubstitute()
    """which model tells how probable hidden words are, for rerankers that ask"""
    attention: AttentionSettings = LeaveOneOut()
    """which model tells how it shares its attention, for rerankers that ask"""

    @model_validator(mode="after")
    def _options_have_a_name(self) -> Self:
        if self.options and not self.name:
            raise ValueError("`options` are set without a `name`: they belong to a reranker")
        return self

    @model_validator(mode="after")
    def _no_noise(self) -> Self:
        if self.name == "dp_rag":
            raise ValueError("`dp_rag` hides nothing here: its documents and its seed are known")
        return self


class ReadingSettings(Section):
    """How many pages a model reads, and which parts of long ones: the windows that fit the question
    best.

    Queries that ask for a long answer are read from the start, as far as a prompt has room.
    """

    windows: int = Field(default=5, ge=0, le=100)
    """most windows of a long page that are read; 0 = pages are read from the start"""
    window_characters: int = Field(default=220, ge=40, le=2_000)
    """most characters of one window"""
    whole_characters: int = Field(default=1_200, ge=0)
    """characters (title and text) up to which a page is read whole"""
    block: int = Field(default=3, ge=1, le=100)
    """documents that are read at once, in rank order, until no more are needed"""
    unconfirmed: int = Field(default=10, ge=1, le=100)
    """documents that are read at least before an answer is given that no memory confirms; all are
    for one that differs from the last"""
    most_documents: int = Field(default=50, ge=1)
    """documents of a snapshot after which no more are read"""
    most_seconds: float = Field(default=60.0, gt=0.0)
    """seconds after which no more documents are read"""
    further_searches: int = Field(default=2, ge=0, le=10)
    """how often a user's question may go on to ten more documents, a result page of the web or the
    next of the corpus, until its answer is settled"""
