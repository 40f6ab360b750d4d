"""What attacks write: functions of what the attacker knows and how many texts are wanted, and the
wordings of `texts.toml`.

Equal arguments give equal texts.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from radarstream.lab.attacks.protocol import Aim, Texts, UnattackableError
from radarstream.schemas.answer_text import contains

_SOURCE: Final = files(__package__).joinpath("texts.toml").read_bytes()
WORDINGS: Final[dict[str, Any]] = tomllib.loads(_SOURCE.decode())
WORDINGS_DIGEST: Final = sha256(_SOURCE).hexdigest()[:12]
YEARS_AHEAD: Final = 2


class _Slots(dict[str, str]):
    """What a wording asks for by name. Raises UnattackableError where the data lack it."""

    def __init__(self, aim: Aim, number: int) -> None:
        self.aim, self.number = aim, number

    def __missing__(self, name: str) -> str:
        return SLOTS[name](self.aim, self.number)


def written(
    wordings: Sequence[str], aim: Aim, count: int, *, times: int = 1, joint: str = " "
) -> tuple[str, ...]:
    """The wordings in turn, each repeated, with their slots filled."""
    made = (
        wordings[number % len(wordings)].format_map(_Slots(aim, number)) for number in range(count)
    )
    return tuple(joint.join([text] * times) for text in made)


def taking_turns(methods: Sequence[Texts], aim: Aim, count: int) -> tuple[str, ...]:
    """Several attackers with one target, each with a method of its own: their texts in turn."""
    made = [texts(aim, -(-count // len(methods))) for texts in methods]
    return tuple(made[number % len(methods)][number // len(methods)] for number in range(count))


def refusals(refusal: str) -> tuple[str, ...]:
    """Wordings that order a refusal: denial of service."""
    refusing = WORDINGS["refusing"]
    return tuple(f"{each} {refusing['order']}{refusal}." for each in refusing["dismissals"])


FALSE_INFORMATION: Final[str] = WORDINGS["attack"]["jamming"]["refusal"]


def stale_target(aim: Aim) -> str:
    """The newest former answer that shares no wording with a present one; else blank."""
    for former in aim.former:
        if not any(contains(former, now) or contains(now, former) for now in aim.answers):
            return former
    return ""


def false_passage(aim: Aim, number: int = 0) -> str:
    """The passages of the data that claim the target; they start over when too few."""
    if not aim.false_passages:
        raise UnattackableError(f"no false passage to plant for {aim.question!r}")
    return aim.false_passages[number % len(aim.false_passages)]


def _right_answer(aim: Aim, _: int) -> str:
    if not aim.answers:
        raise UnattackableError(f"no right answer is known for {aim.question!r}")
    return " and ".join(aim.answers) if aim.all_answers_required else aim.answers[0]


def _year(aim: Aim) -> int:
    if aim.observed_at is None:
        raise UnattackableError(f"no date is known for {aim.question!r}")
    return aim.observed_at.year


SLOTS: Final[Mapping[str, Callable[[Aim, int], str]]] = {
    "question": lambda aim, _: aim.question,
    "target": lambda aim, _: aim.target,
    "right": _right_answer,
    "false": lambda aim, _: false_passage(aim),
    "passage": false_passage,
    "stale": lambda aim, _: stale_target(aim),
    "year": lambda aim, _: str(_year(aim)),
    "later": lambda aim, _: str(_year(aim) + YEARS_AHEAD),
}
