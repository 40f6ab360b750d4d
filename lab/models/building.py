"""The models that only retrieval defences ask: made where one asks for them, and only then.

Making them tells at once what is missing; torch and weights load on first use.
"""

from collections.abc import Set
from dataclasses import replace
from typing import assert_never

from radarstream.connectors.models.local_weights import insist_on, model_directory
from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import NoLog
from radarstream.defenses.protocol import Signal
from radarstream.lab.models.leave_one_out import AblatedAttention
from radarstream.lab.models.scripted_networks import (
    ScriptedAttention,
    ScriptedGradients,
    ScriptedMasked,
)
from radarstream.lab.models.scripted_words import ScriptedWords
from radarstream.lab.models.token_gradients import TokenGradients
from radarstream.pipelines import settings as s
from radarstream.pipelines.signals.ports import (
    AttentionModel,
    GradientEncoder,
    MaskedModel,
    Models,
    TokenScorer,
)
from radarstream.schemas.errors import ConfigurationError


def with_retrieval_models(
    models: Models, settings: s.Settings, needs: Set[Signal], cache: ResponseCache
) -> Models:
    """The models and those of these settings that `needs` asks for, behind the response cache.

    Raises ConfigurationError where weights or libraries are missing; a model that no setting
    names stays None.
    """
    gradients = surrogate = masked = attention = None
    if needs & {Signal.SIMILARITY_GRADIENTS, Signal.TOKEN_SALIENCES}:
        gradients = build_gradients(settings.embedder)
    if Signal.SURROGATE_GRADIENTS in needs and settings.retrieval.surrogate is not None:
        surrogate = build_gradients(settings.retrieval.surrogate)
    if Signal.MASKED_TOKENS in needs:
        masked = build_masked(settings.retrieval.masked)
    if Signal.ATTENTION in needs:
        attention = build_attention(settings.retrieval.attention, models.tokens)
    return replace(
        models,
        gradients=None if gradients is None else Cached(gradients, cache),
        surrogate=None if surrogate is None else Cached(surrogate, cache),
        masked=None if masked is None else Cached(masked, cache),
        attention=None if attention is None else Cached(attention, cache),
    )


def build_gradients(settings: s.EmbedderSettings) -> GradientEncoder:
    """Create what tells the gradients of an encoder. Raises ConfigurationError."""
    match settings:
        case s.SentenceEmbedder():
            from radarstream.lab.models.gradient_encoder import GradientEncoder as Encoder

            encoder = Encoder(settings.model)
            encoder.check()
            return encoder
        case s.ScriptedEmbedder():
            return ScriptedGradients(log=NoLog())
    assert_never(settings)


def build_masked(settings: s.MaskedSettings) -> MaskedModel | None:
    """Create what tells how probable hidden words are; None if nothing does."""
    match settings:
        case s.MaskedLanguageModel():
            from radarstream.lab.models.masked_language_model import (
                MaskedLanguageModel as Backend,
            )

            model = Backend(settings.model)
            model.check()
            return model
        case s.CausalSubstitute():
            from radarstream.lab.models.causal_substitute import (
                CausalSubstitute as Substitute,
            )

            return Substitute(settings.model_path, settings.threads)
        case s.ScriptedMasked():
            return ScriptedMasked(log=NoLog())
        case s.NoMasked():
            return None
    assert_never(settings)


def build_attention(
    settings: s.AttentionSettings, tokens: TokenScorer | None
) -> AttentionModel | None:
    """Create what tells how attention is shared; None if nothing does. Raises ConfigurationError.

    `tokens` tells token probabilities, which the substitute for attention asks.
    """
    match settings:
        case s.TransformersAttention():
            insist_on("torch", "transformers")
            from radarstream.lab.models.transformers_attention import (
                TransformersAttention as Backend,
            )

            return Backend(model_directory(settings.model))
        case s.LeaveOneOut():
            if tokens is None:
                raise ConfigurationError(
                    "no configured model tells token probabilities, which stand in for attention: "
                    "see `retrieval.attention` and the section `tokens`"
                )
            return AblatedAttention(tokens)
        case s.ScriptedAttention():
            return ScriptedAttention(log=NoLog())
        case s.NoAttention():
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
