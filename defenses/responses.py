"""How a method asks: one request out, its response back.

Whoever drives a method checks what models reply (`pipelines.signals.fulfilment`): a malformed reply
never reaches it.
"""

from collections.abc import Generator
from typing import Any, TypeVar, overload

from radarstream.defenses.protocol import (
    AttemptAll,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    Norms,
    PluginRequest,
    Relate,
    Request,
)
from radarstream.schemas.evidence import AtomicAnswer, FloatArray

ResultT = TypeVar("ResultT")
Asking = Generator[Request, Any, ResultT]


@overload
def ask(request: Complete) -> Asking[AtomicAnswer]: ...
@overload
def ask(request: CompleteAll) -> Asking[tuple[AtomicAnswer, ...]]: ...
@overload
def ask(request: Relate | Embed | Norms | LogProbs) -> Asking[FloatArray]: ...
@overload
def ask(request: AttemptAll) -> Asking[tuple[Any, ...]]: ...
@overload
def ask(request: LogProbsAll) -> Asking[tuple[FloatArray, ...]]: ...
@overload
def ask(request: PluginRequest[ResultT]) -> Asking[ResultT]: ...
def ask(request: Request) -> Asking[Any]:
    """Yield one request and return its response as `radarstream.defenses.protocol` describes it."""
    return (yield request)
