"""White-box attacks are carried out here: question by question, each result stored at once."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Final

import numpy as np
from numpy.random import Generator
from pydantic import Field, TypeAdapter

from radarstream.connectors.models.response_cache import ResponseCache, digest_of
from radarstream.connectors.state_table.queries.subject import question_subject
from radarstream.lab.attacks.protocol import Aim, Attack, Surface, UnattackableError, wanted
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.schemas.errors import ConfigurationError

# Part of every key: it changes when the same options would give other texts.
_VERSION: Final = "white-box/2"
Steps = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


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


WRITTEN: Final = TypeAdapter(Written)


class WhiteBox(ABC):
    """What a white-box attack is: a frozen dataclass of its options. `shared` says that one set of
    texts attacks all questions, `uses` which models of `Tools` have a part in the texts.
    """

    name: ClassVar[str]
    shared: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("encoder",)

    def target(self, aim: Aim) -> str:
        """The answer that it works towards: the target that the data name."""
        return wanted(aim)

    @abstractmethod
    def write(self, aims: Sequence[Aim], count: int, tools: Tools, rng: Generator) -> Written:
        """`count` texts on one question, or on all, where they are shared. Equal arguments give
        equal texts. Raises UnattackableError where a question lacks what the attack needs,
        ConfigurationError where `tools` do, ModelError.
        """


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where finished work is stored, and who hears how many of all parts are done."""

    kept: ResponseCache | None = None
    told: Callable[[int, int], None] = lambda _done, _all: None


@dataclass(frozen=True, slots=True)
class Crafted:
    """A white-box attack that is ready to be planted.

    `written` has one entry a question, in order, or one for all where they share the texts; None
    for a question in `skipped`, which has the reasons.
    """

    attack: Attack
    written: tuple[Written | None, ...]
    skipped: Mapping[str, str]


def craft(
    box: WhiteBox,
    aims: Sequence[Aim],
    tools: Tools,
    *,
    count: int = 5,
    seed: int = 0,
    progress: Checkpoint | None = None,
) -> Crafted:
    """Write `count` texts for each question, or for all of them where the attack says so.

    Options, models, aim, count and seed decide the texts of a question; other questions have no
    part in them. What `progress` has is not written again, and what is finished is stored at once.
    Raises ConfigurationError for attacks that `tools` cannot carry out, ModelError.
    """
    progress = progress or Checkpoint()
    models = {name: model for name, model in tools.ids.items() if name in box.uses}
    budget = {"options": asdict(box), "count": count, "seed": seed, "models": models}  # type: ignore[call-overload]
    parts: list[tuple[Aim, ...]] = [(aim,) for aim in aims]
    if box.shared and aims:
        parts = [tuple(aims)]
    found: list[Written | None] = []
    skipped: dict[str, str] = {}
    for done, part in enumerate(parts):
        progress.told(done, len(parts))
        try:
            found.append(_once(box, part, tools, budget, progress.kept))
        except UnattackableError as error:
            found.append(None)
            skipped |= {aim.question: str(error) for aim in part}
    progress.told(len(parts), len(parts))
    return Crafted(_attack(box, aims, found, skipped, count), tuple(found), skipped)


def _once(
    box: WhiteBox,
    part: Sequence[Aim],
    tools: Tools,
    budget: Mapping[str, Any],
    kept: ResponseCache | None,
) -> Written:
    """What is kept, or what is written now and stored."""
    known = _known(box, part)
    key = _digest(json.dumps(budget), known)
    if kept is not None and (stored := kept.get([key])):
        return WRITTEN.validate_json(stored[key])
    # Drawn for the question, not for the budget: more steps go on where fewer stopped.
    rng = np.random.default_rng(list(_digest(str(budget["seed"]), known)))
    result = box.write(part, budget["count"], tools, rng)
    if kept is not None:
        kept.put({key: WRITTEN.dump_json(result)}, {key: question_subject(part[0].question)})
    return result


def _attack(
    box: WhiteBox,
    aims: Sequence[Aim],
    found: Sequence[Written | None],
    skipped: Mapping[str, str],
    several: int,
) -> Attack:
    """An attack that plants what was written."""
    shared = found[0] if box.shared and found else None
    texts = {
        (aim.question, aim.target): result
        for aim, result in zip(aims, [shared] * len(aims) if box.shared else found, strict=True)
        if result is not None
    }

    def looked_up(aim: Aim, count: int) -> tuple[str, ...]:
        result = texts.get((aim.question, aim.target))
        if result is None:
            why = skipped.get(aim.question, f"{box.name} was not prepared for {aim.question!r}")
            raise UnattackableError(why)
        if count > len(result.texts):
            raise ConfigurationError(f"{box.name} wrote {len(result.texts)} texts, not {count}")
        return result.texts[:count]

    def asked(question: str) -> str:
        return f"{question} {shared.trigger}" if shared and shared.trigger else question

    return Attack(
        box.name, looked_up, Surface.CORPUS, target=box.target, asked=asked, several=several
    )


def _known(box: WhiteBox, part: Sequence[Aim]) -> str:
    """All that the attacker is told of some questions."""
    known = [
        (aim.question, box.target(aim), aim.answers, aim.false_passages, aim.relevant)
        for aim in part
    ]
    return json.dumps([box.name, known])


def _digest(*texts: str) -> bytes:
    return sha256(digest_of(_VERSION, *texts)).digest()
