"""The four hooks around one question, as pure values: what may act, and what it did.

A, before the retrieval: how many candidates, and with how much noise they are chosen.
B, after the retrieval: TrustRAG's filter, in studies alone. C, before the generation: the attention
filter and the guardrail. D, after the generation: the audit. Every hook leaves everything as it is
unless the plan switches its module on, and writes down what it did ("Adaptive Defense Orchestration
for RAG", section 4).
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from radarstream.pipelines.signals.reranking import LeftOut
from radarstream.schemas.orchestration import Hook, HookRecord, Module, Plan
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.verdict import Reason

CANDIDATES: Final = 3  # times the wanted documents are looked at where a module chooses
HOOKS: Final = {
    Module.PRIVACY: Hook.PRE_RETRIEVAL,
    Module.TRUSTRAG: Hook.POST_RETRIEVAL,
    Module.ATTENTION: Hook.PRE_GENERATION,
    Module.GUARDRAIL: Hook.PRE_GENERATION,
    Module.AUDIT: Hook.POST_GENERATION,
}
# The modules that choose documents, and the retrieval defences that do it.
CHOOSING: Final = {
    Module.PRIVACY: "dp_rag",
    Module.TRUSTRAG: "trust_rag",
    Module.ATTENTION: "attention_variance",
}
RENAMED: Final = {"rouge_threshold": "overlap_threshold"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The documents of a question that are left, and those that hooks dropped, with the reasons."""

    snapshot: SearchSnapshot
    dropped: tuple[LeftOut, ...] = ()

    def after(self, reranking: Reranking) -> "Chosen":
        """Without what a retrieval defence dropped. Ranks and order stay."""
        why = {c.found_rank: c.reason or Reason.OUTRANKED for c in reranking.dropped}
        documents = self.snapshot.documents
        kept = tuple(d for d in documents if d.rank not in why)
        gone = tuple((d, why[d.rank]) for d in documents if d.rank in why)
        return Chosen(replace(self.snapshot, documents=kept), (*self.dropped, *gone))

    def private(self) -> "Chosen":
        """As if nothing else had been found: no trace of what was dropped, ranks from 1."""
        kept = enumerate(self.snapshot.documents, start=1)
        documents = tuple(replace(document, rank=rank) for rank, document in kept)
        return Chosen(replace(self.snapshot, documents=documents))

    def capped(self, most: int) -> "Chosen":
        """The best `most`. The others were candidates in reserve, of which nobody is told."""
        documents = self.snapshot.documents[:most]
        return replace(self, snapshot=replace(self.snapshot, documents=documents))


def candidates(wanted: int, may_act: Collection[Module]) -> int:
    """How many documents are looked for: more than wanted where a module may drop some."""
    return wanted * CANDIDATES if set(may_act) & set(CHOOSING) else wanted


def enabled(plan: Plan, module: Module) -> bool:
    """Whether a plan switches a module on."""
    return bool(getattr(plan, module.value).enabled)


def options_of(plan: Plan, module: Module) -> dict[str, Any]:
    """The options of a module in a plan, as its retrieval defence names them."""
    options = asdict(getattr(plan, module.value))
    return {RENAMED.get(name, name): v for name, v in options.items() if name != "enabled"}


def record(
    module: Module,
    parameters: Mapping[str, Any],
    documents_in: int,
    documents_out: int | None = None,
    *,
    acted: bool = True,
    detail: str = "",
) -> HookRecord:
    """What a module did at its hook."""
    out = documents_in if documents_out is None else documents_out
    return HookRecord(HOOKS[module], module, acted, dict(parameters), documents_in, out, detail)
