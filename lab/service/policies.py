"""Policies by their specs: which modules act, who decides it, and which noise a study may take."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, Final

import numpy as np

from radarstream.defenses.protocol import RetrievalDefense
from radarstream.defenses.retrieval.pools import reranked
from radarstream.lab.kernels.private_threshold import BoolArray, FloatArray, above_threshold
from radarstream.lab.methods.dp_rag import DpRag
from radarstream.lab.study.specs import ALL, expanded, plain
from radarstream.pipelines.asking.parts import Options, registered
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.loading import option
from radarstream.pipelines.settings.root import OrchestrationSettings
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.orchestration import Module
from radarstream.schemas.retrieval import CandidatePool, Reranking

DELTA: Final = 0.01
SENTINELS: Final = 2  # what two public programs count among the scores by mistake


class Gaussian(DpRag):
    """The threshold is s_K with normal noise; with fewer than K candidates `low` stands for s_K.

    One document may move s_K from one bound to the other, so that against cosines the noise decides
    nearly alone. Its deviation is proved to give (epsilon, delta) for epsilon below 1 only.
    """

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return (self.high - self.low) * sqrt(2.0 * log(1.25 / DELTA)) / self.epsilon

    def above(self, scores: FloatArray, keep: int, rng: np.random.Generator) -> BoolArray:
        """(n,) which scores are above the threshold."""
        clipped = np.clip(scores, self.low, self.high)
        kth = -np.sort(-clipped)[keep - 1] if keep <= len(clipped) else self.low
        return np.asarray(clipped >= kth + self.sigma * rng.normal())


class NoisyScores(DpRag):
    """The K highest after Laplace noise of scale 2 (high - low) K / epsilon on each similarity."""

    def drawn(self, pool: CandidatePool, scores: FloatArray, rng: np.random.Generator) -> Reranking:
        """All candidates in the order of their scores with noise."""
        scale = 2.0 * (self.high - self.low) * pool.keep / self.epsilon
        noisy = np.clip(scores, self.low, self.high) + rng.laplace(0.0, scale, len(scores))
        order = np.argsort(-noisy, kind="stable").tolist()
        return reranked("dp_rag", pool, order, scores=noisy)


class LegacyOffBy2(DpRag):
    """The exponential mechanism as two public programs compute it, which keeps two fewer."""

    def above(self, scores: FloatArray, keep: int, rng: np.random.Generator) -> BoolArray:
        """(n,) which scores are above the threshold."""
        bounds = (self.low, self.high)
        return above_threshold(scores, keep - SENTINELS, self.epsilon, rng, bounds)


EXPONENTIAL: Final = "exponential"
MECHANISMS: Final[dict[str, type[DpRag]]] = {
    EXPONENTIAL: DpRag,
    "gaussian": Gaussian,
    "noisy_scores": NoisyScores,
    "legacy_offby2": LegacyOffBy2,
}


REFERENCE: Final = "none"  # what every other policy is compared with
FULL, ADAPTIVE, CALIBRATION = "static", "adaptive", "calibration"
PUBLISHED: Final = f"{ADAPTIVE}:trustrag"  # ADO with its filter, which no service has
SHORT: Final = {
    Module.PRIVACY: "privacy",
    Module.TRUSTRAG: "trustrag",
    Module.ATTENTION: "attention",
    Module.GUARDRAIL: "guardrail",
    Module.AUDIT: "audit",
}  # how specs and tables call the modules
SINGLE: Final = tuple(f"{FULL}:{name}" for name in SHORT.values())
PAIRS: Final = tuple(
    f"{FULL}:{pair}" for pair in ("privacy+trustrag", "privacy+attention", "trustrag+attention")
)
FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "single": SINGLE,
    "pairs": PAIRS,
    ALL: (*SINGLE, *PAIRS, FULL, ADAPTIVE, PUBLISHED),
    CALIBRATION: tuple(f"{FULL}:privacy={method}" for method in MECHANISMS),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it is compared. `name` is its heading, `changes` are fields of the section
    `orchestration`, also to values that no service takes. `mechanism` draws the noise.
    """

    name: str
    changes: tuple[tuple[str, Any], ...] = ()
    mechanism: str = EXPONENTIAL

    def of(self, settings: Settings) -> Settings:
        """The settings with this policy."""
        section = settings.orchestration.model_copy(update=dict(self.changes))
        return settings.model_copy(update={"orchestration": section})

    def method(self, module: Module, options: Options) -> RetrievalDefense:
        """The retrieval defence of a module. Raises ConfigurationError."""
        if module is Module.PRIVACY:
            return MECHANISMS[self.mechanism](**options)
        return registered(module, options)


def parse_policies(text: str) -> tuple[Policy, ...]:
    """Read a list such as `adaptive,static:privacy+trustrag,static:privacy=gaussian`; the words
    `single`, `pairs`, `calibration` and `all` stand for several. `none` comes first and is never
    left out. Raises ConfigurationError.

    >>> [policy.name for policy in parse_policies("static:trustrag")]
    ['none', 'static:trustrag']
    """
    found = map(policy_of, expanded(text, FAMILIES, [REFERENCE]))
    return tuple({one.name: one for one in found}.values())


def policy_of(spec: str) -> Policy:
    """One policy. Raises ConfigurationError for what cannot be read.

    `none`: no module, not even those that settings always switch on. `static`: all modules, or
    those that are named. `adaptive`: as settings say; its options are fields of the section
    `orchestration`, and `trustrag` lets that module act as well.
    """
    name, _, rest = spec.partition(":")
    parts = [part.strip() for part in rest.split(",") if part.strip()]
    known = OrchestrationSettings.model_fields
    fields = [p for p in parts if p.partition("=")[0] in known or (name == ADAPTIVE and "=" in p)]
    named = [part for part in parts if part not in fields]
    try:
        section = OrchestrationSettings.model_validate(dict(map(option, fields)))
    except ValueError as error:
        raise ConfigurationError(f"options of a policy: {error}") from None
    changes = {field: getattr(section, field) for field, _ in map(option, fields)}
    options = [f"{field}={plain(value)}" for field, value in changes.items()]
    match name:
        case "none" if not parts:
            return Policy(REFERENCE, (("policy", "none"), ("always", ())))
        case "static":
            return _static(named, changes, options)
        case "adaptive" if set(named) <= {SHORT[Module.TRUSTRAG]}:
            modules = {"modules": tuple(Module)} if named else {}
            given = {"policy": ADAPTIVE, **changes, **modules}
            return Policy(_heading(ADAPTIVE, [*named[:1], *options]), tuple(given.items()))
    there = ", ".join((REFERENCE, FULL, ADAPTIVE, *FAMILIES))
    raise ConfigurationError(f"no policy {spec!r}; there are {there}; {FULL} takes modules")


def _static(named: list[str], changes: dict[str, Any], options: list[str]) -> Policy:
    modules: list[Module] = []
    method = ""
    by_name = {short: module for module, short in SHORT.items()} | {m.value: m for m in Module}
    for part in named:
        head, equals, value = part.partition("=")
        for name in head.split("+"):
            if name not in by_name:
                known = ", ".join(SHORT.values())
                raise ConfigurationError(f"no module {name!r}; there are {known}")
            modules.append(by_name[name])
        if equals and modules[-1] is not Module.PRIVACY:
            raise ConfigurationError(f"{part!r}: only privacy takes a method")
        if equals and value not in MECHANISMS:
            raise ConfigurationError(f"no noise {value!r}; there is {', '.join(MECHANISMS)}")
        method = value if equals else method
    modules = modules or list(Module)
    shown = "+".join(SHORT[module] for module in Module if module in modules)
    shown = shown.replace("privacy", f"privacy={method}") if method else shown
    is_full = set(modules) == set(Module) and not method and not options
    heading = _heading(FULL, [] if is_full else [shown, *options])
    given = {"policy": FULL, "modules": tuple(modules), "always": (), **changes}
    return Policy(heading, tuple(given.items()), method or EXPONENTIAL)


def _heading(name: str, parts: list[str]) -> str:
    return f"{name}:{','.join(parts)}" if parts else name
