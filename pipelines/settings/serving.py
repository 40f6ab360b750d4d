"""Settings of the service and of the adaptive defence of its questions."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveFloat, PositiveInt

from radarstream.pipelines.settings.job import checked_listen, host_and_port
from radarstream.schemas.orchestration import Module, Thresholds
from radarstream.schemas.section import Section


def listenable(listen: str) -> str:
    """The same text. Raises ValueError unless it is host:port."""
    host_and_port(listen)
    return listen


def of_a_service(modules: tuple[Module, ...]) -> tuple[Module, ...]:
    """The same modules. Raises ValueError for TrustRAG's filter."""
    if Module.TRUSTRAG in modules:
        raise ValueError(
            f"{Module.TRUSTRAG} drops honest pages that are alike, and leaves the answer to who"
            " writes two others: only `evaluate service` has it"
        )
    return modules


Modules = Annotated[tuple[Module, ...], AfterValidator(of_a_service)]


class OrchestrationSettings(Section):
    """Which defences act on a user's question besides the configured defence."""

    policy: Literal["none", "static", "adaptive"] = "adaptive"
    """none: only what `always` names; static: every one of `modules`; adaptive: those of `modules`
    that the risk of a question calls for"""
    modules: Modules = tuple(module for module in Module if module is not Module.TRUSTRAG)
    """which defences the policy may switch on"""
    always: Modules = (Module.GUARDRAIL,)
    """what acts on every question, whatever the policy says or a model fails"""
    sentinel: Literal["rules", "language_model"] = "rules"
    """who judges the risk; a model falls back to the rules"""
    strategist: Literal["rules", "language_model"] = "rules"
    """who makes the plan; the rules overrule a model's plan"""
    threshold: float = Field(default=0.4, ge=0.05, le=0.95)
    """risk from which a defence is switched on"""
    thresholds: Thresholds = "corrected"
    """what counts as near duplicates and as unusual: corrected, as measured on harmless questions,
    or paper, as published"""
    epsilon_budget: PositiveFloat = 100.0
    """epsilon that a user may spend on noisy retrievals; then the corpus is refused"""
    trust_gain_per_hour: float = Field(default=0.1, ge=0.0, le=1.0)
    """most that a user's trust rises within an hour"""


class ServingSettings(Section):
    """The service that answers questions."""

    listen: Annotated[str, AfterValidator(listenable)] = "127.0.0.1:8080"
    """host:port to listen on"""
    health_listen: Annotated[str, AfterValidator(checked_listen)] = "127.0.0.1:9465"
    """host:port that serves /metrics, /healthz and /readyz without a token; empty = none"""
    anonymous: Literal["refuse", "ask"] = "refuse"
    """what a request without a token may do; ask is for loopback addresses alone"""
    source: Literal["corpus", "search", "documents"] = "corpus"
    """where documents come from when a request does not say; documents: it must bring its own"""
    documents: int = Field(default=10, ge=1, le=100)
    """documents that are looked for at first"""
    question_characters: PositiveInt = 2_000
    """longest question that is accepted"""
    body_bytes: PositiveInt = 2**20
    """largest request that is accepted"""
    upload_bytes: PositiveInt = 8 * 2**20
    """largest request of a known user that brings documents; a few are received at once"""
    fetch_addresses: bool = False
    """whether users may name addresses of documents, which the service then fetches"""
    timeout_s: PositiveFloat = 60.0
    """seconds after which a question is given up"""
    questions_per_minute: PositiveInt = 60
    """questions a user may ask within a minute"""
    at_once: PositiveInt = 256
    """requests of users that are handled at once; more are refused, and the last quarter is for
    users with few"""
    connections: PositiveInt = 256
    """connections without a request of a known user; one more, and the address with most of them
    loses its oldest"""
    request_s: PositiveFloat = 10.0
    """seconds within which a request must arrive whole, and its client must take what it is sent"""
    hosts: tuple[Annotated[str, AfterValidator(str.lower)], ...] = ()
    """names under which the service is reached, besides localhost and addresses"""
    proxies: tuple[str, ...] = ()
    """addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed"""
    session_hours: PositiveFloat = 12.0
    """hours after which the console asks for a token again"""
    keep_events: NonNegativeInt = 20
    """answer events of a query that the job keeps for histories and the console; 0: none"""
    stop_s: PositiveFloat = 20.0
    """seconds that a stop waits for requests in hand"""
