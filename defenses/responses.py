"""How a method asks: one request out, its response back.

Whoever drives a method checks what models reply (`pipelines.signals.fulfilment`): a malformed reply
never reaches it.
"""

from collections.abc import Generator
from typing import Any, TypeVar, overload

from radarstream.defenses.protocol import (
    AttemptAll,
    Attention,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    MaskedTokenProbabilities,
    Norms,
    ProbeGradients,
    Relate,
    Request,
    TokenSaliences,
)
from radarstream.schemas.evidence import AtomicAnswer, FloatArray
from radarstream.schemas.gradients import TokenSalience

ResultT = TypeVar("ResultT")
Asking = Generator[Request, Any, ResultT]


@overload
def ask(request: Complete) -> Asking[AtomicAnswer]: ...
@overload
def ask(request: CompleteAll) -> Asking[tuple[AtomicAnswer, ...]]: ...
@overload
def ask(
    request: Relate | Embed | Norms | LogProbs | ProbeGradients | Attention,
) -> Asking[FloatArray]: ...
@overload
def ask(request: AttemptAll) -> Asking[tuple[Any, ...]]: ...
@overload
def ask(request: LogProbsAll | MaskedTokenProbabilities) -> Asking[tuple[FloatArray, ...]]: ...
@overload
def ask(request: TokenSaliences) -> Asking[tuple[tuple[TokenSalience, ...], ...]]: ...
def ask(request: Request) -> Asking[Any]:
    """Yield one request and return its response as `radarstream.defenses.protocol` describes it."""
    return (yield request)
