"""Scenarios: what happens before somebody complains about an answer.

    scenario     = attack [ "@m" texts ] [ "/" circumstance ]
                 | "benign-errors" | "false-reports" | "invented-reports"
    circumstance = "noisy"      the complaint quotes the answer in other words
                 | "crowd"      every question of the data is attacked at once

`texts` is how many are planted, 5 unless the attack says otherwise. Without an attack, complaints
are about an answer that is wrong by itself, one that is correct, or one that nobody gave.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from radarstream.lab.attacks.protocol import Surface
from radarstream.lab.attacks.registry import ATTACKS, attack_named
from radarstream.lab.attacks.variations import VARIATIONS
from radarstream.schemas.errors import ConfigurationError

_SCENARIO = re.compile(
    r"(?P<attack>[a-z]+(-[a-z]+)*)(@m(?P<count>[1-9]\d{0,2}))?(/(?P<circumstance>[a-z]+))?"
)


class Clean(StrEnum):
    """Complaints about answers that nobody attacked."""

    ERRORS = "benign-errors"  # wrong by itself
    FALSE_REPORTS = "false-reports"  # correct, and called wrong
    INVENTED_REPORTS = "invented-reports"  # the attacker's target, which nobody gave


class Circumstance(StrEnum):
    """What makes a case harder than the attack alone."""

    NONE = ""
    NOISY = "noisy"
    CROWD = "crowd"


class Family(StrEnum):
    """Scenarios that are pooled in tables."""

    PLAIN = "plain"  # attackers who know nothing of attribution
    ADAPTIVE = "adaptive"
    SEVERAL = "several"  # more than one attacker
    NOISY = "noisy"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario; `count` texts are planted a question, 0 where there is no attack."""

    attack: str
    count: int = 0
    circumstance: Circumstance = Circumstance.NONE

    @property
    def name(self) -> str:
        """As it is written, with the number of texts where it is not the usual one.

        >>> Scenario("poisonedrag", 5, Circumstance.NOISY).name
        'poisonedrag/noisy'
        """
        usual = not self.count or self.count == attack_named(self.attack).several
        texts = "" if usual else f"@m{self.count}"
        return f"{self.attack}{texts}" + (f"/{self.circumstance}" if self.circumstance else "")

    @property
    def clean(self) -> Clean | None:
        """What is complained about where nobody attacks; None under attack."""
        return Clean(self.attack) if self.attack in set(Clean) else None

    @property
    def family(self) -> Family:
        """What it is pooled with."""
        if self.clean:
            return Family.CLEAN
        if self.circumstance is Circumstance.NOISY:
            return Family.NOISY
        words = self.attack.split("-")
        if self.circumstance is Circumstance.CROWD or {"several", "rivals"} & set(words):
            return Family.SEVERAL
        varied = words[-1] in VARIATIONS or self.attack == "scorer-aware"
        return Family.ADAPTIVE if varied else Family.PLAIN


def parse_scenario(text: str) -> Scenario:
    """Read one scenario. Raises ConfigurationError.

    >>> parse_scenario("injection@m10/crowd").count
    10
    """
    if text in set(Clean):
        return Scenario(text)
    match = _SCENARIO.fullmatch(text)
    if match is None or match["circumstance"] not in {None, *Circumstance} - {""}:
        raise ConfigurationError(
            f"cannot read scenario {text!r}; write it like poisonedrag, injection@m10, "
            f"hijack/noisy, jamming/crowd, {', '.join(Clean)}, or a family: {', '.join(Family)}"
        )
    attack = attack_named(match["attack"])
    if attack.surface is not Surface.CORPUS:
        known = ", ".join(name for name, a in ATTACKS.items() if a.surface is Surface.CORPUS)
        raise ConfigurationError(f"{attack.name} attacks result lists; on a corpus: {known}")
    count = int(match["count"] or attack.several)
    return Scenario(attack.name, count, Circumstance(match["circumstance"] or ""))


def parse_scenarios(text: str) -> tuple[Scenario, ...]:
    """Read a list with commas; a family's name stands for its scenarios, `all` for all of them.

    >>> [s.name for s in parse_scenarios("poisonedrag,clean")][:2]
    ['poisonedrag', 'benign-errors']
    """
    found: list[Scenario] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        names = DEFAULTS[Family(word)] if word in set(Family) else (word,)
        if word == "all":
            names = tuple(name for family in DEFAULTS.values() for name in family)
        found += map(parse_scenario, names)
    if not found:
        raise ConfigurationError("no scenario to evaluate")
    return tuple(dict.fromkeys(found))


# RAGOrigin's sections 6.2 (black box), 6.4 with section 7's removals, multi-attacker and noise.
DEFAULTS: dict[Family, tuple[str, ...]] = {
    Family.PLAIN: ("poisonedrag", "injection", "hijack", "jamming", "multihop"),
    Family.ADAPTIVE: (
        "scorer-aware",
        *(
            f"{attack}-{variation}"
            for attack in ("poisonedrag", "injection")
            for variation in ("benign", "mixed", "paraphrased", "removal")
        ),
    ),
    Family.SEVERAL: ("several", "injection-rivals", "injection/crowd"),
    Family.NOISY: ("poisonedrag/noisy", "injection/noisy"),
    Family.CLEAN: tuple(Clean),
}
