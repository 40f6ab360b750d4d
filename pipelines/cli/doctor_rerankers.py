"""The models that the configured reranker asks, as `radarstream doctor` tries them."""

from collections.abc import Iterator
from typing import Final

from radarstream.connectors.models.causal_substitute import CausalSubstitute
from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.gguf_weights import is_assembled
from radarstream.connectors.models.leave_one_out import LeaveOneOut
from radarstream.defenses.protocol import Signal
from radarstream.pipelines.build import build_reranker_of, build_tokens
from radarstream.pipelines.cli.doctor_checks import Check, attempt
from radarstream.pipelines.retrieval_models import (
    build_attention,
    build_gradients,
    build_masked,
)
from radarstream.pipelines.settings import (
    EmbedderSettings,
    MaskedLanguageModel,
    SentenceEmbedder,
    Settings,
    TransformersAttention,
)
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.attention import AttentionQuery
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.gradients import MaskedQuery, ProbeQuery
from radarstream.schemas.prompt import Task

SEE: Final = "see the section `retrieval` of the settings"
PROBE: Final = ProbeQuery(
    "What is the capital of Peru?", "Lima is the capital of Peru.", runs=2, layer=0
)
OTHER: Final = "Quito is the capital of Ecuador."
OWN: Final = frozenset({Signal.SIMILARITY_GRADIENTS, Signal.TOKEN_SALIENCES})


def needs_of(settings: Settings) -> frozenset[Signal]:
    """What the configured reranker asks; nothing of one that cannot be made."""
    try:
        reranker = build_reranker_of(settings)
    except ConfigurationError:
        return frozenset()  # `reranker_models` tells
    return frozenset() if reranker is None else reranker.needs


def libraries_of(settings: Settings) -> list[str]:
    """The libraries that the models of the configured reranker run in."""
    needs, own = needs_of(settings), settings.retrieval
    encoders = [settings.embedder if needs & OWN else None]
    encoders.append(own.surrogate if Signal.SURROGATE_GRADIENTS in needs else None)
    networks = [encoder for encoder in encoders if isinstance(encoder, SentenceEmbedder)]
    masks = Signal.MASKED_TOKENS in needs and isinstance(own.masked, MaskedLanguageModel)
    reads = Signal.ATTENTION in needs and isinstance(own.attention, TransformersAttention)
    libraries = ["torch", "transformers"] if networks or masks or reads else []
    return [*libraries, *(["sentence-transformers"] if any(e.model for e in networks) else [])]


def reranker_models(settings: Settings) -> Iterator[Check]:
    """Ask each model that the configured reranker is going to ask one thing."""
    if not settings.retrieval.name:
        return
    yield attempt("reranker", lambda: _named(settings), SEE)
    needs, surrogate = needs_of(settings), settings.retrieval.surrogate
    if needs & OWN:
        yield attempt("gradients", lambda: _gradients(settings.embedder), SEE)
    if Signal.SURROGATE_GRADIENTS in needs:
        yield attempt("surrogate", lambda: _gradients(surrogate), SEE)
    if Signal.MASKED_TOKENS in needs:
        yield attempt("hidden words", lambda: _hidden(settings), SEE)
    if Signal.ATTENTION in needs:
        yield attempt("attention", lambda: _attention(settings), SEE)


def _named(settings: Settings) -> str:
    build_reranker_of(settings)
    return f"{settings.retrieval.name} keeps {settings.retrieval.keep} documents"


def _gradients(settings: EmbedderSettings | None) -> str:
    if settings is None:
        raise ConfigurationError("no surrogate is set, which this reranker asks for gradients")
    encoder = build_gradients(settings)
    length = encoder.probe([PROBE])[0].diagonal().mean() ** 0.5
    return f"{encoder.model_id}: gradients of a length of {length:.2g}"


def _hidden(settings: Settings) -> str:
    model = build_masked(settings.retrieval.masked)
    if model is None:
        raise ConfigurationError("no model is set that tells how probable hidden words are")
    if isinstance(model, CausalSubstitute):
        if model.model_path is None and not is_assembled():
            return f"{model.model_id}: the first use assembles the weights in the user's cache"
        if not model.tokens.is_converted():
            return f"{model.model_id}: the first use converts the weights, for some seconds"
    (row,) = model.masked([MaskedQuery(PROBE.passage, ((12, 19),))])
    return f"{model.model_id}: {PROBE.passage[12:19]} has probability {row[0]:.2g}"


def _attention(settings: Settings) -> str:
    """The share of one of two passages."""
    tokens = build_tokens(settings)
    model = build_attention(settings.retrieval.attention, tokens)
    if model is None:
        raise ConfigurationError("no model is set that tells how it shares its attention")
    if isinstance(model, LeaveOneOut) and isinstance(tokens, GgufTokens):
        if tokens.model_path is None and not is_assembled():
            return f"{model.model_id}: the first use assembles the weights in the user's cache"
        if not tokens.is_converted():
            return f"{model.model_id}: the first use converts the weights, for some seconds"
    told = build_prompt(Task.ANSWER_FROM_DOCUMENTS, PROBE.question, (PROBE.passage, OTHER))
    (shares,) = model.attention([AttentionQuery(told, "Lima")])
    return f"{model.model_id}: {PROBE.passage!r} has {shares[0]:.0f} % of the attention"
