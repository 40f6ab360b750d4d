"""The models that rerankers of the lab ask, from the settings `retrieval.models`; how their replies
are cached.

Making them tells at once what is missing; torch and weights load on first use.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import astuple, replace
from pathlib import Path
from typing import Annotated, Final, Literal, assert_never

from pydantic import Field, ValidationError

from radarstream.connectors.models.response_cache import (
    ROWS,
    Cached,
    Coding,
    Entry,
    ResponseCache,
    digest_of,
    numbers,
)
from radarstream.connectors.models.scripted import NoLog
from radarstream.connectors.state_table.queries.subject import EMBEDDINGS, question_subject
from radarstream.lab.insights import (
    ATTENTION,
    GRADIENTS,
    MASKED,
    SURROGATE,
    TokenSalience,
    gram_matrices,
)
from radarstream.lab.models import causal_substitute
from radarstream.lab.models.gradient_encoder import GradientEncoder
from radarstream.lab.models.leave_one_out import AblatedAttention
from radarstream.lab.models.masked_language_model import MaskedLanguageModel
from radarstream.lab.models.scripted_networks import (
    ScriptedAttention,
    ScriptedGradients,
    ScriptedMasked,
)
from radarstream.lab.models.scripted_words import ScriptedWords
from radarstream.lab.models.token_gradients import TokenGradients
from radarstream.lab.models.transformers_attention import TransformersAttention
from radarstream.pipelines import settings as s
from radarstream.pipelines.settings.loading import problems
from radarstream.pipelines.settings.models import ModelName
from radarstream.pipelines.signals.ports import Model, Models, TokenScorer
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.plugins import insist_on
from radarstream.schemas.section import Section

ENTRIES: Final[Mapping[str, Entry]] = {
    "probe": Entry(
        "gram/2",
        64,
        lambda query: digest_of(*map(str, astuple(query))),
        lambda query: question_subject(query.question),
        ROWS,
        gram_matrices,
    ),
    "saliences": Entry(
        "saliences/1",
        64,
        lambda query: digest_of(query.question, query.passage),
        lambda query: question_subject(query.question),
        Coding(
            lambda reply: json.dumps([astuple(token) for token in reply]).encode(),
            lambda value: tuple(TokenSalience(*token) for token in json.loads(value)),
        ),
    ),
    "masked": Entry(
        "masked/1",
        32,
        lambda query: digest_of(query.text, str(query.spans)),
        lambda _: EMBEDDINGS,  # about a text, whatever was asked
        numbers("<f8"),
    ),
    "attention": Entry(
        "attention/1",
        8,
        lambda query: query.prompt.digest() + digest_of(query.answer),
        lambda query: question_subject(query.prompt.question),
        numbers("<f8"),
    ),
}

SCRIPTED: Final = {
    GRADIENTS: ScriptedGradients,
    SURROGATE: ScriptedGradients,
    MASKED: ScriptedMasked,
    ATTENTION: ScriptedAttention,
}


class Transformers(Section):
    """A network of transformers."""

    kind: Literal["transformers"] = "transformers"
    model: ModelName


class CausalSubstitute(Section):
    """A substitute where no masked language model is at hand: llama.cpp reads a text from left to
    right and tells how probable each word is after those before it, never what follows it.
    `model_path` is a GGUF file, by default the weights of the extra `embedded`.
    """

    kind: Literal["causal"] = "causal"
    model_path: Path | None = None
    threads: Annotated[int, Field(ge=1)] | None = None


class LeaveOneOut(Section):
    """A substitute where no attention is at hand: how much less probable an answer is without each
    passage, told by the model of the section `tokens`.
    """

    kind: Literal["leave_one_out"] = "leave_one_out"


class Scripted(Section):
    """Hashes in place of a network."""

    kind: Literal["scripted"] = "scripted"


class Missing(Section):
    """No model."""

    kind: Literal["none"] = "none"


MaskedSettings = Transformers | CausalSubstitute | Scripted | Missing
AttentionSettings = Transformers | LeaveOneOut | Scripted | Missing


class RetrievalModels(Section):
    """The settings `retrieval.models`."""

    surrogate: s.EmbedderSettings | None = None
    masked: Annotated[MaskedSettings, Field(discriminator="kind")] = CausalSubstitute()
    attention: Annotated[AttentionSettings, Field(discriminator="kind")] = LeaveOneOut()


def retrieval_models(settings: s.Settings) -> RetrievalModels:
    """The settings of these models; under scripted generators they are scripted unless set. Raises
    ConfigurationError.
    """
    scripted = isinstance(settings.generator, s.ScriptedGenerator)
    kinds = {name: {"kind": "scripted"} for name in (MASKED, ATTENTION)} if scripted else {}
    values = kinds | settings.retrieval.models
    try:
        return RetrievalModels.model_validate(values)
    except ValidationError as error:
        layers = {"retrieval.models": values}
        raise ConfigurationError(problems(error, values, layers)) from None


def with_retrieval_models(
    models: Models, settings: s.Settings, names: Collection[str], cache: ResponseCache
) -> Models:
    """The models, and those of these names behind the response cache, as far as settings name any.
    Raises ConfigurationError where settings are wrong, or weights or libraries are missing.
    """
    chosen = retrieval_models(settings)
    sections = {
        GRADIENTS: settings.embedder,
        SURROGATE: chosen.surrogate,
        MASKED: chosen.masked,
        ATTENTION: chosen.attention,
    }
    plugins = {
        name: Cached(model, cache, entries=ENTRIES)
        for name, section in sections.items()
        if name in names and (model := build_network(name, section, models.tokens)) is not None
    }
    return replace(models, plugins=plugins)


def build_network(
    name: str,
    settings: s.EmbedderSettings | MaskedSettings | AttentionSettings | None,
    tokens: TokenScorer | None,
) -> Model | None:
    """Create the model of this name; None if there is none. `tokens` tells token probabilities,
    which the substitute for attention asks. Raises ConfigurationError.
    """
    match settings:
        case s.SentenceEmbedder():
            return GradientEncoder(settings.model).checked()
        case Transformers() if name == MASKED:
            return MaskedLanguageModel(settings.model).checked()
        case Transformers():
            return TransformersAttention(settings.model).checked()
        case CausalSubstitute():
            return causal_substitute.CausalSubstitute(settings.model_path, settings.threads)
        case LeaveOneOut():
            if tokens is None:
                raise ConfigurationError(
                    "no configured model tells token probabilities, which stand in for attention: "
                    "see `retrieval.models.attention` and the section `tokens`"
                )
            return AblatedAttention(tokens)
        case Scripted() | s.ScriptedEmbedder():
            return SCRIPTED[name](log=NoLog())
        case Missing() | None:
            return None
    assert_never(settings)


def build_open_encoder(settings: s.EmbedderSettings) -> TokenGradients | ScriptedWords:
    """Create the embedder as an attacker has it who knows its weights; they load on first use."""
    match settings:
        case s.SentenceEmbedder():
            insist_on("torch", "transformers")
            return TokenGradients(settings.model)
        case s.ScriptedEmbedder():
            return ScriptedWords(log=NoLog())
    assert_never(settings)
