"""Policies from what the command line says: which modules act, and who decides it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from radarstream.defenses.protocol import RetrievalDefense
from radarstream.lab.service.mechanisms import EXPONENTIAL, MECHANISMS
from radarstream.lab.study.specs import ALL, expanded, plain
from radarstream.pipelines.asking.parts import Options, registered
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.loading import option
from radarstream.pipelines.settings.serving import OrchestrationSettings
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.orchestration import Module

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
    match name:
        case "none" if not parts:
            return Policy(REFERENCE, (("policy", "none"), ("always", ())))
        case "static":
            return _static(parts)
        case "adaptive":
            beside = [part for part in parts if part == SHORT[Module.TRUSTRAG]]
            changes = _checked(dict(option(part) for part in parts if part not in beside))
            shown = ",".join([*beside, *(f"{key}={plain(v)}" for key, v in changes.items())])
            modules = {"modules": tuple(Module)} if beside else {}
            named = f"{ADAPTIVE}:{shown}" if shown else ADAPTIVE
            return Policy(named, tuple({"policy": ADAPTIVE, **changes, **modules}.items()))
    known = ", ".join((REFERENCE, FULL, ADAPTIVE, *FAMILIES))
    raise ConfigurationError(f"no policy {spec!r}; there are {known}; {FULL} takes modules")


def _static(parts: list[str]) -> Policy:
    modules: list[Module] = []
    changes: dict[str, Any] = {}
    method = ""
    for part in parts:
        head, equals, value = part.partition("=")
        if equals and head in OrchestrationSettings.model_fields:
            changes |= _checked(dict([option(part)]))
            continue
        named = [_module(one) for one in head.split("+")]
        if equals and named[-1] is not Module.PRIVACY:
            raise ConfigurationError(f"{part!r}: only privacy takes a method")
        modules += named
        method = _mechanism(value) if equals else method
    modules = modules or list(Module)
    shown = "+".join(SHORT[module] for module in Module if module in modules)
    shown = shown.replace("privacy", f"privacy={method}") if method else shown
    options = "".join(f",{k}={plain(v)}" for k, v in changes.items())
    is_full = set(modules) == set(Module) and not method and not options
    heading = FULL if is_full else f"{FULL}:{shown}{options}"
    given = {"policy": FULL, "modules": tuple(modules), "always": (), **changes}
    return Policy(heading, tuple(given.items()), method or EXPONENTIAL)


def _mechanism(name: str) -> str:
    if name not in MECHANISMS:
        raise ConfigurationError(f"no noise {name!r}; there is {', '.join(MECHANISMS)}")
    return name


def _module(name: str) -> Module:
    by_name = {short: module for module, short in SHORT.items()} | {m.value: m for m in Module}
    if name not in by_name:
        raise ConfigurationError(f"no module {name!r}; there are {', '.join(SHORT.values())}")
    return by_name[name]


def _checked(changes: dict[str, Any]) -> dict[str, Any]:
    """The fields as the section reads them. Raises ConfigurationError."""
    try:
        section = OrchestrationSettings.model_validate(changes)
    except ValueError as error:
        raise ConfigurationError(f"options of a policy: {error}") from None
    return {name: getattr(section, name) for name in changes}
