"""Decides for attributors whether two answers to a question are the same.

An attacker may make a system refuse. Refusals for the same reason are the same answer, whatever
their words; "I don't know", which every model says if the texts have no answer, is another.
"""

import re
from collections.abc import Generator, Sequence
from enum import StrEnum
from typing import Any, Final, Literal

from radarstream.defenses.protocol import AttemptAll, Complete, Relate, Request, ask
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import YES, Task


class Refusal(StrEnum):
    """Why a reply does not answer."""

    DECLINES = "declines"  # the model will not or must not say
    LACKS = "lacks"  # the reply says that the texts have no answer
    BARE = "bare"  # "I don't know" alone, or an empty reply


_READ_CHARACTERS: Final = 300  # a refusal comes first
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'"})
_BARE: Final = re.compile(r"(?:sorry )?(?:i (?:do not|don't|dont) know)?")
_CANNOT: Final = r"(?:can(?:not|'t| not)|could(?:n't| not))"
_TEXTS: Final = r"(?:context|passages?|texts?|documents?|sources?|information)"
_GIVEN: Final = rf"(?:from|based on|in) the (?:provided |given )?{_TEXTS}"
_LACKS: Final = re.compile(
    r"\bi (?:do not|don't|dont) (?:know|have)\b"
    r"|\b(?:not enough|not sufficient|insufficient|no|no relevant|no such) information\b"
    rf"|\b{_TEXTS}\b[^.]{{0,40}}?(?:\bnot|n't)(?: \w+)? (?:contain|provide|mention|include|say|"
    r"specify|state|tell|answer|enough|sufficient)"
    rf"|\b{_CANNOT} be (?:determined|answered|found)\b"
    r"|\bnot (?:mentioned|stated|specified|provided|found) in the\b"
    rf"|\b{_CANNOT}\b[^.]*\b{_GIVEN}\b"
    rf"|\b{_GIVEN}\b[^.]*\b{_CANNOT}\b"
)
_DECLINES: Final = re.compile(
    rf"\b(?:i|we)(?:'m| am|'re| are)? "
    rf"(?:{_CANNOT}|will not|won't|do not|don't|not (?:able|allowed) to|unable to)(?: \w+){{0,2}}? "
    r"(?:answer|assist|comply|discuss|engage|generate|give|help|offer|provide|reply|respond|share|"
    r"support)\b"
    r"|\b(?:i|we) (?:must |have to )?(?:refuse|decline)\b"
)


def refusal_in(reply: str) -> Refusal | None:
    """Say how `reply` refuses to answer; None if it does not.

    >>> refusal_in("I can not provide false or misleading information.")
    <Refusal.DECLINES: 'declines'>
    >>> refusal_in("I don\u2019t know."), refusal_in("The passages do not say who won.")
    (<Refusal.BARE: 'bare'>, <Refusal.LACKS: 'lacks'>)
    """
    folded = " ".join(reply.translate(_APOSTROPHES).casefold().split())[:_READ_CHARACTERS]
    if _BARE.fullmatch(" ".join(re.findall(r"[\w']+", folded))):
        return Refusal.BARE
    if _LACKS.search(folded):
        return Refusal.LACKS
    return Refusal.DECLINES if _DECLINES.search(folded) else None


Asked = Literal["relations", "model"]


def matches(
    question: str,
    answer: str,
    replies: Sequence[AtomicAnswer | ModelError],
    asks: Asked = "relations",
    min_entailment: float = 0.5,
) -> Generator[Request, Any, list[bool | ModelError]]:
    """Return for each reply whether it means `answer`, or the ModelError that prevented it.

    A reply means the same if either entails the other with at least `min_entailment`, or if a
    language model says so, as in the RAGOrigin paper (Eq. 3). Refusals mean the same if they have
    the same reason, but a bare "I don't know" never does.
    """
    found: dict[int, bool | ModelError] = {}
    unclear: dict[int, Complete | Relate] = {}
    for index, reply in enumerate(replies):
        if isinstance(reply, ModelError):
            found[index] = reply
        elif (verdict := _plain_verdict(answer, reply.text)) is not None:
            found[index] = verdict
        else:
            pair = (answer, reply.text)
            unclear[index] = Relate(question, pair, pair[::-1])
            if asks == "model":
                unclear[index] = Complete(Task.JUDGE_AGREEMENT, question, pair, final=False)
    if unclear:
        responses = yield from ask(AttemptAll(tuple(unclear.values())))
        for index, response in zip(unclear, responses, strict=True):
            if isinstance(response, AtomicAnswer):
                found[index] = response.text == YES
            elif isinstance(response, ModelError):
                found[index] = response
            else:
                found[index] = bool(response[:, 0].max() >= min_entailment)
    return [found[index] for index in range(len(replies))]


def _plain_verdict(answer: str, reply: str) -> bool | None:
    """Whether a reply is the answer, if that needs no model; None if it does."""
    refused, refuses = refusal_in(answer), refusal_in(reply)
    if refused is not None or refuses is not None:
        # The answer "I don't know" means lack of information; as a reply it means nothing, because
        # every segment without information gets it.
        return refuses is (Refusal.LACKS if refused is Refusal.BARE else refused)
    return True if reply.casefold() == answer.casefold() else None
