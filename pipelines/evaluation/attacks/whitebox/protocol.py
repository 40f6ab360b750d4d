"""What a white-box attack is: options, and a function from aims to what was written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from radarstream.pipelines.evaluation.attacks.protocol import Aim, UnattackableError
from radarstream.pipelines.evaluation.attacks.whitebox.encoder import Tools
from radarstream.pipelines.evaluation.attacks.whitebox.flipping import Climbed


@dataclass(frozen=True, slots=True)
class Written:
    """The texts of an attack on one question, or on all of them.

    `before` and `after` are the objective at the start and at the end, one value a text.
    `trigger` is what the user must write behind the question for the attack to work; blank where
    any user is attacked.
    """

    texts: tuple[str, ...]
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    trigger: str = ""


class WhiteBox(Protocol):
    """A frozen dataclass of the options of an attack."""

    name: ClassVar[str]
    shared: ClassVar[bool]  # whether one set of texts attacks all questions
    uses: ClassVar[tuple[str, ...]]  # which models of `Tools` have a part in the texts

    def target(self, aim: Aim) -> str:
        """The answer that it works towards."""
        ...

    def write(
        self, aims: Sequence[Aim], count: int, tools: Tools, rng: np.random.Generator
    ) -> Written:
        """`count` texts on one question, or on all, where they are shared.

        Equal arguments give equal texts. Raises UnattackableError where a question lacks what the
        attack needs, ConfigurationError where `tools` do, ModelError.
        """
        ...


def payloads(aim: Aim, count: int) -> tuple[str, ...]:
    """The part of a text that misleads: the false passages of the data, in turn.

    Raises UnattackableError where there is none.
    """
    if not aim.false_passages:
        raise UnattackableError(f"no false passage to plant for {aim.question!r}")
    return tuple(aim.false_passages[number % len(aim.false_passages)] for number in range(count))


def questions_of(aims: Sequence[Aim], most: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Different questions that an attacker has seen, at most so many, by lot.

    Raises UnattackableError where there is none.
    """
    known = list(dict.fromkeys(aim.question for aim in aims))
    if not known:
        raise UnattackableError("no question is known")
    return tuple(known[place] for place in rng.permutation(len(known))[:most])


def written(climbs: Sequence[Climbed], texts: Sequence[str], trigger: str = "") -> Written:
    """Write down what climbs came to."""
    return Written(
        tuple(texts),
        tuple(climb.values[0] for climb in climbs),
        tuple(climb.values[-1] for climb in climbs),
        trigger,
    )
