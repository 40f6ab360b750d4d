"""Variations on any attack: what the planted text is padded with, who else attacks, what is asked.

RAGOrigin's adaptive attacks (Table 13) and its scenarios of paraphrased questions (Table 5),
several attackers (Tables 19 and 21) and removed texts (Table 22).
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from radarstream.pipelines.evaluation.attacks.protocol import Aim, Attack, Texts, UnattackableError


def with_benign_text(attack: Attack) -> Attack:
    """Each planted text is followed by a benign passage about the question."""
    return replace(attack, name=f"{attack.name}-benign", texts=partial(_benign, attack.texts))


def with_other_poison(attack: Attack) -> Attack:
    """Each planted text is followed by the same attack's text on another question."""
    return replace(attack, name=f"{attack.name}-mixed", texts=partial(_mixed, attack.texts))


def with_rival(attack: Attack) -> Attack:
    """A second attacker on the same question with a target of its own plants every second text.

    The labels name the first attacker's target; the rival's is that of another question.
    """
    return replace(attack, name=f"{attack.name}-rivals", texts=partial(_rivals, attack.texts))


def with_paraphrased_question(attack: Attack) -> Attack:
    """The texts are for the question as given, the user asks it in other words.

    The rules of `paraphrased` stand in for a writer; put another function in the attack's `asked`
    to supply paraphrases.
    """
    return replace(attack, name=f"{attack.name}-paraphrased", asked=paraphrased)


def with_text_removal(attack: Attack) -> Attack:
    """The attacker also deletes every text of the corpus that holds a right answer."""
    return replace(attack, name=f"{attack.name}-removal", removes_answers=True)


VARIATIONS: dict[str, Callable[[Attack], Attack]] = {
    "benign": with_benign_text,
    "mixed": with_other_poison,
    "rivals": with_rival,
    "paraphrased": with_paraphrased_question,
    "removal": with_text_removal,
}


def taking_turns(methods: tuple[Texts, ...], aim: Aim, count: int) -> tuple[str, ...]:
    """Several attackers with one target, each with a method of its own: their texts in turn."""
    made = [texts(aim, -(-count // len(methods))) for texts in methods]
    return tuple(made[number % len(methods)][number // len(methods)] for number in range(count))


_PARAPHRASES = (
    (r"who is the (.+)", r"what is the name of the \1"),
    (r"who (.+)", r"which person or group \1"),
    (r"what percentage of (.+)", r"how large a share of \1, in percent"),
    (r"how many (.+)", r"what number of \1"),
    (r"when (did|was|were|is|will|does) (.+)", r"on what date or in what year \1 \2"),
    (r"where (did|was|were|is|are|does) (.+)", r"in which place \1 \2"),
    (r"which (.+)", r"can you say which \1"),
    (r"what (.+)", r"can you say what \1"),
)


def paraphrased(question: str) -> str:
    """The question in other words, by rule.

    >>> paraphrased("Who is the mayor of Belbrook?")
    'Tell me, what is the name of the mayor of Belbrook?'
    """
    bare = question.strip().rstrip("?. ")
    for pattern, wording in _PARAPHRASES:
        match = re.fullmatch(pattern, bare, re.IGNORECASE | re.DOTALL)
        if match:
            return f"Tell me, {match.expand(wording)}?"
    return f"Tell me about the following: {bare}?"


def _benign(base: Texts, aim: Aim, count: int) -> tuple[str, ...]:
    if not aim.relevant:
        raise UnattackableError(f"no benign passage about {aim.question!r}")
    texts = base(aim, count)
    return tuple(f"{t} {aim.relevant[i % len(aim.relevant)]}" for i, t in enumerate(texts))


def _mixed(base: Texts, aim: Aim, count: int) -> tuple[str, ...]:
    others = base(_elsewhere(aim), count)
    return tuple(f"{own} {other}" for own, other in zip(base(aim, count), others, strict=True))


def _rivals(base: Texts, aim: Aim, count: int) -> tuple[str, ...]:
    target = _elsewhere(aim).target
    told = tuple(p.replace(aim.target, target) for p in aim.false_passages if aim.target in p)
    rival = replace(aim, target=target, false_passages=told)
    return taking_turns((base, partial(_for_rival, base, rival)), aim, count)


def _for_rival(base: Texts, rival: Aim, _: Aim, count: int) -> tuple[str, ...]:
    return base(rival, count)


def _elsewhere(aim: Aim) -> Aim:
    if aim.elsewhere is None or not aim.elsewhere.target:
        raise UnattackableError(f"no second question to attack beside {aim.question!r}")
    return aim.elsewhere
