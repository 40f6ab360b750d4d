"""Variations on any attack: what the planted text is padded with, who else attacks, what is asked.

RAGOrigin's adaptive attacks (Table 13) and its scenarios of paraphrased questions (Table 5),
several attackers (Tables 19 and 21) and removed texts (Table 22).
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from radarstream.lab.attacks.protocol import Aim, Attack, Texts, UnattackableError
from radarstream.lab.attacks.texts import WORDINGS, taking_turns


def paraphrased(question: str) -> str:
    """The question in other words, by rules that stand in for a writer.

    >>> paraphrased("Who is the mayor of Belbrook?")
    'Tell me, what is the name of the mayor of Belbrook?'
    """
    bare = question.strip().rstrip("?. ")
    for pattern, wording in WORDINGS["paraphrases"].items():
        match = re.fullmatch(pattern, bare, re.IGNORECASE | re.DOTALL)
        if match:
            return f"Tell me, {match.expand(wording)}?"
    return f"Tell me about the following: {bare}?"


def with_benign_text(base: Texts, aim: Aim, count: int) -> tuple[str, ...]:
    """Each planted text is followed by a benign passage about the question."""
    if not aim.relevant:
        raise UnattackableError(f"no benign passage about {aim.question!r}")
    texts = base(aim, count)
    return tuple(f"{t} {aim.relevant[i % len(aim.relevant)]}" for i, t in enumerate(texts))


def with_other_poison(base: Texts, aim: Aim, count: int) -> tuple[str, ...]:
    """Each planted text is followed by the same attack's text on another question."""
    others = base(_elsewhere(aim), count)
    return tuple(f"{own} {other}" for own, other in zip(base(aim, count), others, strict=True))


def with_rival(base: Texts, aim: Aim, count: int) -> tuple[str, ...]:
    """A second attacker on the same question with a target of its own plants every second text. The
    labels name the first attacker's target; the rival's is that of another question.
    """
    target = _elsewhere(aim).target
    told = tuple(p.replace(aim.target, target) for p in aim.false_passages if aim.target in p)
    rival = replace(aim, target=target, false_passages=told)
    return taking_turns((base, lambda _, most: base(rival, most)), aim, count)


def without_repeats(base: Texts, aim: Aim, count: int) -> tuple[str, ...]:
    """No two texts are alike: each starts from another false passage of the data, and a text that
    was planted before is followed by a benign passage about the question.
    """
    made: list[str] = []
    written: Counter[str] = Counter()
    for number in range(count):
        first = number % max(1, len(aim.false_passages))
        turned = (*aim.false_passages[first:], *aim.false_passages[:first])
        text = base(replace(aim, false_passages=turned), count)[number]
        if before := written[text]:
            if not aim.relevant:
                raise UnattackableError(f"no benign passage about {aim.question!r}")
            made.append(f"{text} {aim.relevant[(before - 1) % len(aim.relevant)]}")
        else:
            made.append(text)
        written[text] += 1
    return tuple(made)


def _elsewhere(aim: Aim) -> Aim:
    if aim.elsewhere is None or not aim.elsewhere.target:
        raise UnattackableError(f"no second question to attack beside {aim.question!r}")
    return aim.elsewhere


VARIATIONS: dict[str, Callable[[Attack], Attack]] = {
    "benign": lambda attack: replace(attack, texts=partial(with_benign_text, attack.texts)),
    "mixed": lambda attack: replace(attack, texts=partial(with_other_poison, attack.texts)),
    "varied": lambda attack: replace(attack, texts=partial(without_repeats, attack.texts)),
    "rivals": lambda attack: replace(attack, texts=partial(with_rival, attack.texts)),
    "paraphrased": lambda attack: replace(attack, asked=paraphrased),
    "removal": lambda attack: replace(attack, removes_answers=True),
}
