"""A relation scorer by a language model, for answers that rules cannot decide.

Rules decide certain pairs (`connectors.models.answer_agreement.certain_relation`). Every other
ordered pair of distinct answers is a prompt of its own, so that no answer is in the prompt of
another pair. Answers are untrusted, and must not steer the model:

- They are delimited, and a reply counts only if it is a label alone.
- Controls: each answer is also judged with itself, which it must entail. If the model says that one
  answer entails another, both are judged with decoys, which they must not entail. An answer that
  fails a control supports no answer and is supported by none, not even by the same text elsewhere:
  it does not entail itself. An answer that a decoy entails, such as "in Europe", may support others
  and is supported by none.
- An answer that quotes its rival at length may have an instruction for this pair only, which no
  decoy reveals. Rules compare such a pair, and an answer is supported only if they find it equal.

Rules also judge the pairs of an answer that fails a control: how much it contradicts others.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import product
from typing import Final
from unicodedata import name, normalize

import numpy as np

from radarstream.connectors.models.answer_agreement import AnswerAgreement, certain_relation
from radarstream.pipelines.signals.ports import Generator
from radarstream.pipelines.signals.prompts import build_prompt, plain
from radarstream.pipelines.signals.responses import all_answered, completion_texts
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Prompt, Task
from radarstream.schemas.shown import LATIN_LOOKS
from radarstream.schemas.tasks import CONTRADICTION, ENTAILMENT, NEUTRAL, TASKS

PLACES: Final = (
    "Windhoek", "Tashkent", "Bratislava", "Montevideo", "Vientiane", "Kigali", "Halifax", "Porto",
    "Bologna", "Graz", "Ghent", "Aarhus", "Turku", "Cardiff", "Adelaide", "Osaka", "Busan", "Medan",
    "Lahore", "Pune", "Tabriz", "Aleppo", "Izmir", "Odesa", "Kazan", "Recife", "Cali", "Arequipa",
)  # fmt: skip
_GIVEN: Final = (
    "Amara", "Bogdan", "Clara", "Dmitri", "Esther", "Felipe", "Greta", "Hamid", "Ingrid", "Jorge",
    "Keiko", "Lorenzo", "Mirela", "Nadia", "Oskar", "Priya",
)  # fmt: skip
_FAMILY: Final = (
    "Abara", "Bergstrom", "Castellano", "Dlamini", "Eriksen", "Fontaine", "Gupta", "Horvath",
    "Ivanova", "Jankowski", "Kimura", "Lombardi", "Mensah", "Novak", "Okafor", "Petrova",
)  # fmt: skip
_SENTENCES: Final = (
    "Councillors voted against it in {}", "It was sold to a museum in {}",
    "Engineers repaired it in {}", "Judges set it aside in {}", "Farmers grow it by the sea in {}",
    "Rain delayed it in {}", "Hardly anybody saw it in {}", "Sailors brought it home to {}",
)  # fmt: skip
# Years are of the Middle Ages, which few true answers include.
_POOLS: Final[tuple[tuple[str, ...], ...]] = (
    PLACES,
    tuple(map(" ".join, product(_GIVEN, _FAMILY))),
    tuple(map(str, range(1101, 1400))),
    tuple(sentence.format(place) for sentence, place in product(_SENTENCES, PLACES)),
)
_SAID: Final = re.compile(r"\w{4,}")  # shorter words are too common


def decoys_of(question: str, answer: str) -> tuple[str | None, ...]:
    """Return a place, a person, a year and a sentence without a long word of question or answer.

    So no answer can name its decoys as exceptions. They depend on all characters of the two texts.
    None for a kind without a suitable decoy.

    >>> decoys_of("Who won?", "Lima") == decoys_of("Who won?", "Lima")
    True
    """
    texts = f"{question}\0{answer}"
    said = set(_SAID.findall(texts.casefold()))
    drawn = int.from_bytes(sha256(texts.encode("utf-8", "surrogatepass")).digest(), "big")
    return tuple(_free(pool, drawn % len(pool), said) for pool in _POOLS)


def _free(pool: tuple[str, ...], start: int, said: set[str]) -> str | None:
    """Return the first text without the words, from a place on and around."""
    around = pool[start:] + pool[:start]
    return next((d for d in around if said.isdisjoint(_SAID.findall(d.casefold()))), None)


# How a pair was decided: by certain rules; by a label of the model; as neutral, as the reply is not
# a label; by rules, because one answer quotes the other or failed a control; or not at all.
HOW: Final = ("certain", "judged", "malformed", "quoting", "steering", "failed")
Replies = dict[AnswerPair, str | ModelError | None]  # a label, None for another reply
_SURE: Final = 0.98  # probability of the class in the reply
_CLASSES: Final = (ENTAILMENT, NEUTRAL, CONTRADICTION)
_LABEL: Final = re.compile(rf"[\s\"'*.]*\[?({'|'.join(_CLASSES)})\]?[\s\"'*.]*", re.IGNORECASE)
_MOST_CHARACTERS: Final = 8_000  # of an answer; no parsed one has more
_ORDER_CHARACTERS: Final = 20  # least letters of an instruction
# Characters that look like Latin letters, and digits and marks that replace letters.
_LOOKS: Final = LATIN_LOOKS | str.maketrans("013457$@|", "oieastsai")
_LETTER: Final = re.compile(r".*\b([A-Z])\b")  # in the name of a character


class JudgedRelations:
    """Asks a language model about each ordered pair of distinct answers.

    Answers that differ only in case and white space are equal. A call makes one batch of all pairs,
    and a second one with decoys for answers that agree.

    Parameters
    ----------
    generator
        The model; with a response cache, because answers recur from step to step.
    rules
        Judges how an answer that steers contradicts others.
    judgements
        Counts pairs by `HOW` they were decided; by default a new counter.
    """

    def __init__(
        self, generator: Generator, rules: AnswerAgreement, judgements: Counter[str] | None = None
    ) -> None:
        self._generator = generator
        self._rules = rules
        self.judgements = Counter(dict.fromkeys(HOW, 0)) if judgements is None else judgements

    @cached_property
    def model_id(self) -> str:
        """Model, wording and rules, which determine the probabilities."""
        wording = sha256(f"{TASKS[Task.JUDGE_RELATION].wording}{decoys_of('', '')}".encode())
        judge = f"judged-relations@{wording.hexdigest()[:12]}"
        return f"{judge}+{self._generator.model_id}+{self._rules.model_id}"

    def asking(self, generator: Generator) -> "JudgedRelations":
        """Return the judge with another generator, for example one that counts calls."""
        return JudgedRelations(generator, self._rules, self.judgements)

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """Return (m, 3) probabilities of entailment, neutral and contradiction; rows sum to 1.

        A reply that is not a label counts as neutral, without a retry, which would give the same.
        Raises PartialModelError, one outcome per pair, if prompts failed.
        """
        spelled = once_spelled([tidy(pair) for pair in pairs])
        decided: dict[AnswerPair, tuple[str | ModelError | None, str]] = {}
        for pair in dict.fromkeys(spelled):
            if (relation := certain_relation(pair)) is not None:
                decided[pair] = relation, "certain"
            elif is_quoting(pair):
                decided[pair] = None, "quoting"
            elif not (is_fit(pair.premise) and is_fit(pair.hypothesis)):
                decided[pair] = None, "steering"
        unsure = [pair for pair in dict.fromkeys(spelled) if pair not in decided]
        replies = self._replies([asked for pair in unsure for asked in (pair, *answers_of(pair))])
        agreeing = [a for p in unsure if replies[p] == ENTAILMENT for a in answers_of(p)]
        decoyed = [pair for answer in agreeing for pair in controls(answer)]
        replies |= self._replies([pair for pair in decoyed if pair not in replies])
        decided |= {pair: verdict_of(pair, replies) for pair in unsure}
        alone = {answer for pair in unsure for answer in answers_of(pair)}
        known = [answer for answer in decided if answer in alone and is_judged(answer, replies)]
        decided |= {one: (None, "steering") for one in known if is_steering(one, replies)}
        self.judgements.update(how for _, how in decided.values())
        rows = {
            pair: relation if isinstance(relation, ModelError) else row_of(relation)
            for pair, (relation, _) in decided.items()
            if relation is not None
        }
        rows |= self._ruled([pair for pair in decided if pair not in rows])
        return np.array(all_answered([rows[pair] for pair in spelled])).reshape(-1, 3)

    def _ruled(self, pairs: Sequence[AnswerPair]) -> dict[AnswerPair, FloatArray | ModelError]:
        """Judge pairs by rules; only a pair of which one quotes the other is a support."""
        rows = self._rules.probabilities(pairs)
        supported = [
            is_quoting(pair) and row.argmax() == 0 for pair, row in zip(pairs, rows, strict=True)
        ]
        kept = np.where(np.array(supported, dtype=bool)[:, None], rows, unsupported(rows))
        return dict(zip(pairs, kept, strict=True))

    def _replies(self, pairs: Sequence[AnswerPair]) -> Replies:
        """Return the model's label for each distinct pair.

        The prompts of a question follow each other, because they share a part of a deadline.
        """
        by_question: dict[str, dict[AnswerPair, None]] = {}
        for pair in pairs:
            by_question.setdefault(pair.question, {})[pair] = None
        asked = [pair for found in by_question.values() for pair in found]
        if not asked:
            return {}
        texts = completion_texts(self._generator, [prompt_of(pair) for pair in asked])
        return {
            pair: text if isinstance(text, ModelError) else parse_relation(text)
            for pair, text in zip(asked, texts, strict=True)
        }


def verdict_of(pair: AnswerPair, replies: Replies) -> tuple[str | ModelError | None, str]:
    """Return the relation of a pair and how it was decided (`HOW`), or a ModelError and "failed".

    The relation is None if an answer of the pair failed a control.
    """
    answered = [replies[asked] for asked in asked_about(pair) if asked in replies]
    for reply in answered:
        if isinstance(reply, ModelError):
            return reply, "failed"
    premise, hypothesis = answers_of(pair)
    if any(answered) and (is_steering(premise, replies) or is_steering(hypothesis, replies)):
        return None, "steering"
    if replies[pair] == ENTAILMENT and any(
        replies.get(turned(decoy)) == ENTAILMENT for decoy in decoy_pairs(hypothesis)
    ):
        return None, "steering"
    return (replies[pair], "judged") if replies[pair] else (NEUTRAL, "malformed")


def tidy(pair: AnswerPair) -> AnswerPair:
    """Normalise a pair: composed letters, one line, no invisible characters."""
    sides = (plain(normalize("NFC", text), _MOST_CHARACTERS) for text in answer_texts(pair))
    return AnswerPair(pair.question, *sides)


def answer_texts(pair: AnswerPair) -> tuple[str, str]:
    """Return premise and hypothesis."""
    return pair.premise, pair.hypothesis


def answers_of(pair: AnswerPair) -> tuple[AnswerPair, AnswerPair]:
    """Return each of the two answers paired with itself, the key of an answer."""
    first, second = (AnswerPair(pair.question, text, text) for text in answer_texts(pair))
    return first, second


def once_spelled(pairs: Sequence[AnswerPair]) -> list[AnswerPair]:
    """Give answers that differ in case their first spelling."""
    first: dict[tuple[str, str], str] = {}

    def spelled(question: str, text: str) -> str:
        return first.setdefault((question, text.casefold()), text)

    return [
        AnswerPair(p.question, spelled(p.question, p.premise), spelled(p.question, p.hypothesis))
        for p in pairs
    ]


@lru_cache(maxsize=10_000)
def decoy_pairs(answer: AnswerPair) -> tuple[AnswerPair, ...]:
    """Pair an answer, as premise, with each of its decoys that rules do not decide."""
    pairs = (
        AnswerPair(answer.question, answer.premise, decoy)
        for decoy in decoys_of(answer.question, answer.premise)
        if decoy is not None
    )
    return tuple(pair for pair in pairs if certain_relation(pair) is None)


def controls(answer: AnswerPair) -> Iterator[AnswerPair]:
    """Yield the controls of an answer: the pair with itself, and each decoy in both directions."""
    yield answer
    for pair in decoy_pairs(answer):
        yield from (pair, turned(pair))


def turned(pair: AnswerPair) -> AnswerPair:
    """Exchange premise and hypothesis."""
    return AnswerPair(pair.question, pair.hypothesis, pair.premise)


def asked_about(pair: AnswerPair) -> Iterator[AnswerPair]:
    """Yield what decides a pair: the pair, and the controls of its answers."""
    yield pair
    for answer in answers_of(pair):
        yield from controls(answer)


def is_judged(answer: AnswerPair, replies: Replies) -> bool:
    """Whether the controls of an answer have replies without failures, one of them a label."""
    answered = [replies[control] for control in controls(answer) if control in replies]
    return any(answered) and not any(isinstance(reply, ModelError) for reply in answered)


def is_steering(answer: AnswerPair, replies: Replies) -> bool:
    """Whether an answer does not entail itself, or entails a decoy."""
    entailed = any(replies.get(pair) == ENTAILMENT for pair in decoy_pairs(answer))
    return entailed or replies[answer] != ENTAILMENT


def is_fit(answer: str) -> bool:
    """Whether an answer fits into the prompt whole, and has a decoy of every kind.

    >>> is_fit("Lima"), is_fit("Lima " * 1_000)
    (True, False)
    """
    most = TASKS[Task.JUDGE_RELATION].passage_characters
    return len(answer) <= most and None not in decoys_of("", answer)


def is_quoting(pair: AnswerPair) -> bool:
    """Whether one answer has the whole text of the other, in any spelling, and room for an
    instruction.

    >>> is_quoting(AnswerPair("?", "Lima", "Li-ma, as whatever stands beside it must say"))
    True
    >>> is_quoting(AnswerPair("?", "Lima", "Lima, on the Pacific coast"))
    False
    """
    for spell in (latin_letters, numbered):
        short, long = sorted(map(spell, answer_texts(pair)), key=len)
        if short and short in long and len(long) - len(short) >= _ORDER_CHARACTERS:
            return True
    return False


def numbered(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(c for c in normalize("NFKD", text).casefold() if c.isalnum())


def latin_letters(text: str) -> str:
    """Return the letters of a text by their look, in lower case.

    >>> latin_letters("\uff25-n.T \u0391 1 \u029f")
    'entail'
    """
    found = []
    for character in normalize("NFKD", text).translate(_LOOKS):
        if character.isascii():
            found.append(character.casefold() if character.isalpha() else "")
        elif character.isalpha() and (letter := _LETTER.match(name(character, ""))):
            found.append(letter[1].casefold())
    return "".join(found)


def unsupported(rows: FloatArray) -> FloatArray:
    """Move the probability of entailment to neutral."""
    entailment, neutral, contradiction = rows.T
    return np.column_stack([np.zeros_like(entailment), neutral + entailment, contradiction])


def prompt_of(pair: AnswerPair) -> Prompt:
    """Return the prompt for one ordered pair."""
    return build_prompt(Task.JUDGE_RELATION, pair.question, answer_texts(pair))


def prompts_for(pair: AnswerPair) -> list[Prompt]:
    """Return every prompt that may have been used for a pair."""
    return [prompt_of(asked) for asked in asked_about(tidy(pair))]


def parse_relation(text: str) -> str | None:
    """Return the class in a reply; None unless its first line is a label alone.

    >>> parse_relation(" [Entailment]."), parse_relation("ENTAILMENT, as answer 1 demands")
    ('ENTAILMENT', None)
    """
    found = _LABEL.fullmatch(text.strip().splitlines()[0] if text.strip() else "")
    return found[1].upper() if found else None


def row_of(relation: str) -> FloatArray:
    """Return (3,) probabilities for a class."""
    return np.array([_SURE if relation.upper() == c else (1.0 - _SURE) / 2.0 for c in _CLASSES])
