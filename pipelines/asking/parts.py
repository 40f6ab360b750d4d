"""What answers questions is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from secrets import randbits
from typing import Any, Final, Literal

from radarstream.connectors.state_table.serving.accounts import StoredAccounts
from radarstream.defenses.orchestration.audit import OutputAudit
from radarstream.defenses.protocol import RetrievalDefense
from radarstream.defenses.registry import build_reranker
from radarstream.pipelines.asking.control import ControlPlane
from radarstream.pipelines.asking.known import KnownQueries
from radarstream.pipelines.asking.values import Origin, UserQuestion
from radarstream.pipelines.build import build_methods
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.searching import Finding
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import guarded
from radarstream.schemas.orchestration import Module
from radarstream.schemas.tasks import DO_NOT_QUOTE, GUARDRAIL

# As they are; with the guardrail; with that, and told not to quote.
Prompting = Literal["plain", "guarded", "unquoting"]
Variant = tuple[str | None, int, Prompting]
Options = dict[str, Any]
# Finds at first at most so many documents for a question, best first, ranks from 1, and then more,
# if there are any. Raises RadarstreamError.
Retriever = Callable[[UserQuestion, int], Finding]
SENTENCES: Final[dict[Prompting, tuple[str, ...]]] = {
    "plain": (),
    "guarded": (GUARDRAIL,),
    "unquoting": (GUARDRAIL, DO_NOT_QUOTE),
}
# The modules that choose documents, and the retrieval defences that do it.
CHOOSING: Final = {
    Module.PRIVACY: "dp_rag",
    Module.TRUSTRAG: "trust_rag",
    Module.ATTENTION: "attention_variance",
}
SEED_BITS: Final = 63


def registered(module: Module, options: Options) -> RetrievalDefense:
    """The retrieval defence of a module. Raises ConfigurationError."""
    return build_reranker(CHOOSING[module], options)


def with_sentences(models: Models, prompting: Prompting) -> Models:
    """The models, told the sentences of a way of prompting."""
    return guarded(models, SENTENCES[prompting])


def drawn(_: UserQuestion) -> int:
    """A seed that nobody can guess: what a service needs."""
    return randbits(SEED_BITS)


@dataclass(frozen=True, eq=False)
class Parts:
    """What answers questions is made of. `usable` modules can act here; `control` is None where no
    risk decides. The first auditor may want another answer, the last judges for good. `seed` gives
    the noise of a retrieval.
    """

    settings: Settings
    pipeline: DefensePipeline[Any]
    queries: KnownQueries
    accounts: StoredAccounts
    retrievers: Mapping[Origin, Retriever]
    usable: frozenset[Module]
    control: ControlPlane | None
    auditors: tuple[OutputAudit, OutputAudit]
    prompted: Callable[[Models, Prompting], Models] = with_sentences
    seed: Callable[[UserQuestion], int] = drawn
    methods: Callable[[Module, Options], RetrievalDefense] = registered

    @property
    def allowed(self) -> frozenset[Module]:
        """What a policy may switch on."""
        return frozenset(self.settings.orchestration.modules) & self.usable

    @property
    def always(self) -> frozenset[Module]:
        """What acts on every question."""
        return frozenset(self.settings.orchestration.always)

    @property
    def may_act(self) -> frozenset[Module]:
        """What a plan may switch on, or has to."""
        none = self.settings.orchestration.policy == "none"
        return self.always if none else self.always | self.allowed

    @property
    def must_act(self) -> frozenset[Module]:
        """What is known to act before a question is seen."""
        return self.may_act if self.settings.orchestration.policy == "static" else self.always

    @cached_property
    def variant(self) -> Callable[[str | None, int, Prompting], DefensePipeline[Any]]:
        """The pipeline with another defence (None: the configured one) and prompting, whose
        reranker keeps at most the wanted documents. Raises ConfigurationError for an unknown or
        unfit defence.
        """

        @lru_cache(maxsize=256)
        def variant(defense: str | None, wanted: int, prompting: Prompting) -> DefensePipeline[Any]:
            pipeline, chosen = self.pipeline, self.settings.defense
            if prompting != "plain":
                pipeline = replace(pipeline, models=self.prompted(pipeline.models, prompting))
            if defense is not None and defense != chosen.name:
                other = self.settings.model_copy(update={"defense": chosen.named(defense)})
                method, _ = build_methods(other)
                pipeline = replace(pipeline, name=defense, defense=method)
            return replace(pipeline, keep=min(pipeline.keep, wanted))

        return variant
