"""Policies from what the command line says: which modules act, and who decides it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from radarstream.pipelines.evaluation.study.specs import ALL, option, plain, split_specs
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.serving import OrchestrationSettings
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.orchestration import Module, PrivacyMethod

REFERENCE: Final = "none"  # what every other policy is compared with
FULL, ADAPTIVE, CALIBRATION = "static", "adaptive", "calibration"
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
    ALL: (*SINGLE, *PAIRS, FULL, ADAPTIVE),
    CALIBRATION: tuple(f"{FULL}:privacy={method}" for method in PrivacyMethod),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it is compared. `name` is its heading, `changes` are fields of the section
    `orchestration`.
    """

    name: str
    changes: tuple[tuple[str, Any], ...] = ()

    def of(self, settings: Settings) -> Settings:
        """The settings with this policy."""
        section = settings.orchestration.model_copy(update=dict(self.changes))
        return settings.model_copy(update={"orchestration": section})


def parse_policies(text: str) -> tuple[Policy, ...]:
    """Read a list such as `adaptive,static:privacy+trustrag,static:privacy=gaussian`; the words
    `single`, `pairs`, `calibration` and `all` stand for several. `none` comes first and is never
    left out. Raises ConfigurationError.

    >>> [policy.name for policy in parse_policies("static:trustrag")]
    ['none', 'static:trustrag']
    """
    found = [policy_of(REFERENCE)]
    for spec in split_specs(text):
        found += [policy_of(name) for name in FAMILIES.get(spec, (spec,))]
    return tuple({one.name: one for one in found}.values())


def policy_of(spec: str) -> Policy:
    """One policy. Raises ConfigurationError for what cannot be read.

    `none`: no module, not even those that settings always switch on. `static`: all modules, or
    those that are named. `adaptive`: as settings say; its options are fields of the section
    `orchestration`.
    """
    name, _, rest = spec.partition(":")
    parts = [part.strip() for part in rest.split(",") if part.strip()]
    match name:
        case "none" if not parts:
            return Policy(REFERENCE, (("policy", "none"), ("always", ())))
        case "static":
            return _static(parts)
        case "adaptive":
            changes = _checked(dict(option(part) for part in parts))
            shown = ",".join(f"{key}={plain(value)}" for key, value in changes.items())
            heading = f"{ADAPTIVE}:{shown}" if shown else ADAPTIVE
            return Policy(heading, (("policy", ADAPTIVE), *changes.items()))
    known = ", ".join((REFERENCE, FULL, ADAPTIVE, *FAMILIES))
    raise ConfigurationError(f"no policy {spec!r}; there are {known}; {FULL} takes modules")


def _static(parts: list[str]) -> Policy:
    modules: list[Module] = []
    changes: dict[str, Any] = {}
    for part in parts:
        head, equals, value = part.partition("=")
        if equals and head in OrchestrationSettings.model_fields:
            changes |= _checked(dict([option(part)]))
            continue
        named = [_module(one) for one in head.split("+")]
        if equals and named[-1] is not Module.PRIVACY:
            raise ConfigurationError(f"{part!r}: only privacy takes a method")
        modules += named
        changes |= _checked({"privacy_method": value}) if equals else {}
    modules = modules or list(Module)
    method = changes.get("privacy_method")
    shown = "+".join(SHORT[module] for module in Module if module in modules)
    shown = shown.replace("privacy", f"privacy={method}") if method else shown
    options = "".join(f",{k}={plain(v)}" for k, v in changes.items() if k != "privacy_method")
    is_full = set(modules) == set(Module) and not method and not options
    heading = FULL if is_full else f"{FULL}:{shown}{options}"
    given = {"policy": FULL, "modules": tuple(modules), "always": (), **changes}
    return Policy(heading, tuple(given.items()))


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
