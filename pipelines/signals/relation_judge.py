"""A language model as relation scorer: it reads what rules over words cannot.

Rules decide where they are certain (`connectors.models.answer_agreement.certain_relation`). Every
other ordered pair of distinct answers is a prompt of its own, so that an answer is never in the
prompt of another pair. The answers are untrusted, and none may decide its own verdict:

- They are shown delimited, and a reply counts only if it is a label and nothing else.
- Each answer is also judged beside itself, which it must entail. Where the model said that one
  answer entails another, both are judged beside decoys (`decoys.py`), none of which they may
  entail. An answer that fails supports nothing and is supported by nothing, not even by the same
  text elsewhere: it does not entail itself. What a decoy entails is entailed by too much: nothing
  supports it, though it may be an honest answer that says little, such as "in Europe", and support
  others.
- An answer that quotes its rival at length could order something for this one pair, which no decoy
  would tell. The rules compare such two, and only what they hold for the same is supported.

The pairs of an answer that fails are left to rules. They only decide how much it contradicts the
others.
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
# Years are of the Middle Ages, since few true answers of today are as general as to include them.
_POOLS: Final[tuple[tuple[str, ...], ...]] = (
    PLACES,
    tuple(map(" ".join, product(_GIVEN, _FAMILY))),
    tuple(map(str, range(1101, 1400))),
    tuple(sentence.format(place) for sentence, place in product(_SENTENCES, PLACES)),
)
_SAID: Final = re.compile(r"\w{4,}")  # shorter words are too common to name a decoy


def decoys_of(question: str, answer: str) -> tuple[str | None, ...]:
    """A place, a person, a year and a sentence that share no long word with question or answer.

    So no answer can make an exception for its decoys by name. They follow from the two texts,
    letter by letter. None for a kind of which the answer leaves none.

    >>> decoys_of("Who won?", "Lima") == decoys_of("Who won?", "Lima")
    True
    """
    texts = f"{question}\0{answer}"
    said = set(_SAID.findall(texts.casefold()))
    drawn = int.from_bytes(sha256(texts.encode("utf-8", "surrogatepass")).digest(), "big")
    return tuple(_free(pool, drawn % len(pool), said) for pool in _POOLS)


def _free(pool: tuple[str, ...], start: int, said: set[str]) -> str | None:
    """The first text from a place on that has none of the words, all around."""
    around = pool[start:] + pool[:start]
    return next((d for d in around if said.isdisjoint(_SAID.findall(d.casefold()))), None)


# How a pair was decided: by certain rules, by a label of the model, by a reply that is none, by
# rules because one quotes the other or failed its controls, or not at all because a call failed.
HOW: Final = ("certain", "judged", "malformed", "quoting", "steering", "failed")
Replies = dict[AnswerPair, str | ModelError | None]  # a label, None for another reply
_SURE: Final = 0.98  # the probability of the class that was named
_CLASSES: Final = (ENTAILMENT, NEUTRAL, CONTRADICTION)
_LABEL: Final = re.compile(rf"[\s\"'*.]*\[?({'|'.join(_CLASSES)})\]?[\s\"'*.]*", re.IGNORECASE)
_MOST_CHARACTERS: Final = 8_000  # of an answer; longer than any that is parsed
_ORDER_CHARACTERS: Final = 20  # letters that an order takes: "Lima City" gives none
# What looks like a Latin letter, and digits and marks that stand for letters.
_LOOKS: Final = LATIN_LOOKS | str.maketrans("013457$@|", "oieastsai")
_LETTER: Final = re.compile(r".*\b([A-Z])\b")  # in the name of a character


class JudgedRelations:
    """RelationScorer that asks a language model about each ordered pair of distinct answers.

    Answers that differ in case and white space only are one. A call makes one batch of all pairs,
    and a second one of the decoys where answers were found to agree.

    Parameters
    ----------
    generator: the model; give it a response cache, since answers recur from step to step.
    rules: what says how an answer that tries to steer the model contradicts others.
    judgements: counts pairs by `HOW` they were decided; by default a counter of its own.
    """

    def __init__(
        self, generator: Generator, rules: AnswerAgreement, judgements: Counter[str] | None = None
    ) -> None:
        self._generator = generator
        self._rules = rules
        self.judgements = Counter(dict.fromkeys(HOW, 0)) if judgements is None else judgements

    @cached_property
    def model_id(self) -> str:
        """Model, wording and rules: everything that decides a probability."""
        wording = sha256(f"{TASKS[Task.JUDGE_RELATION].wording}{decoys_of('', '')}".encode())
        judge = f"judged-relations@{wording.hexdigest()[:12]}"
        return f"{judge}+{self._generator.model_id}+{self._rules.model_id}"

    def asking(self, generator: Generator) -> "JudgedRelations":
        """The same judge on another generator, such as one whose calls are counted."""
        return JudgedRelations(generator, self._rules, self.judgements)

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows that sum to 1: entailment, neutral, contradiction.

        A reply that is no label is neutral, and is not asked for again: a model that is asked the
        same gives the same reply. Raises PartialModelError when prompts are not answered, whose
        outcomes are the pairs'.
        """
        shown = once_spelled([tidy(pair) for pair in pairs])
        decided: dict[AnswerPair, tuple[str | ModelError | None, str]] = {}
        for pair in dict.fromkeys(shown):
            if (relation := certain_relation(pair)) is not None:
                decided[pair] = relation, "certain"
            elif is_quoting(pair):
                decided[pair] = None, "quoting"
            elif not (is_fit(pair.premise) and is_fit(pair.hypothesis)):
                decided[pair] = None, "steering"
        unsure = [pair for pair in dict.fromkeys(shown) if pair not in decided]
        replies = self._replies([asked for pair in unsure for asked in (pair, *answers_of(pair))])
        agreeing = [a for p in unsure if replies[p] == ENTAILMENT for a in answers_of(p)]
        decoyed = [pair for answer in agreeing for pair in controls(answer)]
        replies |= self._replies([pair for pair in decoyed if pair not in replies])
        decided |= {pair: verdict_of(pair, replies) for pair in unsure}
        alone = {answer for pair in unsure for answer in answers_of(pair)}
        known = [answer for answer in decided if answer in alone and is_told(answer, replies)]
        decided |= {one: (None, "steering") for one in known if is_steering(one, replies)}
        self.judgements.update(how for _, how in decided.values())
        rows = {
            pair: relation if isinstance(relation, ModelError) else row_of(relation)
            for pair, (relation, _) in decided.items()
            if relation is not None
        }
        rows |= self._ruled([pair for pair in decided if pair not in rows])
        return np.array(all_answered([rows[pair] for pair in shown])).reshape(-1, 3)

    def _ruled(self, pairs: Sequence[AnswerPair]) -> dict[AnswerPair, FloatArray | ModelError]:
        """What rules say of pairs; support only where one quotes the other and says the same."""
        rows = self._rules.probabilities(pairs)
        supported = [
            is_quoting(pair) and row.argmax() == 0 for pair, row in zip(pairs, rows, strict=True)
        ]
        kept = np.where(np.array(supported, dtype=bool)[:, None], rows, unsupported(rows))
        return dict(zip(pairs, kept, strict=True))

    def _replies(self, pairs: Sequence[AnswerPair]) -> Replies:
        """What the model says of each different pair.

        The prompts of a question follow each other: they share the part of a deadline.
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
    """The relation of a pair and how it was decided, of `HOW`, or "failed" for a ModelError.

    None where an answer of the pair failed a control. A model without any label finds all neutral.
    """
    answered = [replies[asked] for asked in asked_about(pair) if asked in replies]
    for reply in answered:
        if isinstance(reply, ModelError):
            return reply, "failed"
    premise, hypothesis = answers_of(pair)
    if any(answered) and (is_steering(premise, replies) or is_steering(hypothesis, replies)):
        return None, "steering"
    if replies[pair] == ENTAILMENT and is_entailed_by_all(hypothesis, replies):
        return None, "steering"
    return (replies[pair], "judged") if replies[pair] else (NEUTRAL, "malformed")


def tidy(pair: AnswerPair) -> AnswerPair:
    """The pair as it is compared: composed letters, one line, nothing invisible."""
    sides = (plain(normalize("NFC", text), _MOST_CHARACTERS) for text in answer_texts(pair))
    return AnswerPair(pair.question, *sides)


def answer_texts(pair: AnswerPair) -> tuple[str, str]:
    """Premise and hypothesis."""
    return pair.premise, pair.hypothesis


def answers_of(pair: AnswerPair) -> tuple[AnswerPair, AnswerPair]:
    """Each of the two answers beside itself, which stands for the answer to its question."""
    first, second = (AnswerPair(pair.question, text, text) for text in answer_texts(pair))
    return first, second


def once_spelled(pairs: Sequence[AnswerPair]) -> list[AnswerPair]:
    """The pairs with each answer as it was spelled first; spellings differ in case only."""
    first: dict[tuple[str, str], str] = {}

    def spelled(question: str, text: str) -> str:
        return first.setdefault((question, text.casefold()), text)

    return [
        AnswerPair(p.question, spelled(p.question, p.premise), spelled(p.question, p.hypothesis))
        for p in pairs
    ]


@lru_cache(maxsize=10_000)
def decoy_pairs(answer: AnswerPair) -> tuple[AnswerPair, ...]:
    """An answer as premise before each of its decoys that rules do not tell from it for certain."""
    pairs = (
        AnswerPair(answer.question, answer.premise, decoy)
        for decoy in decoys_of(answer.question, answer.premise)
        if decoy is not None
    )
    return tuple(pair for pair in pairs if certain_relation(pair) is None)


def controls(answer: AnswerPair) -> Iterator[AnswerPair]:
    """What is asked about an answer beside itself: itself, and each decoy in both directions."""
    yield answer
    for pair in decoy_pairs(answer):
        yield from (pair, turned(pair))


def turned(pair: AnswerPair) -> AnswerPair:
    """The pair with premise and hypothesis exchanged."""
    return AnswerPair(pair.question, pair.hypothesis, pair.premise)


def asked_about(pair: AnswerPair) -> Iterator[AnswerPair]:
    """What the model is asked to decide a pair: the pair, and the controls of its answers."""
    yield pair
    for answer in answers_of(pair):
        yield from controls(answer)


def is_told(answer: AnswerPair, replies: Replies) -> bool:
    """Whether what was asked about an answer alone has replies, and one of them is a label."""
    answered = [replies[control] for control in controls(answer) if control in replies]
    return any(answered) and not any(isinstance(reply, ModelError) for reply in answered)


def is_steering(answer: AnswerPair, replies: Replies) -> bool:
    """Whether an answer beside itself does not entail itself, or entails a decoy."""
    entailed = any(replies.get(pair) == ENTAILMENT for pair in decoy_pairs(answer))
    return entailed or replies[answer] != ENTAILMENT


def is_entailed_by_all(answer: AnswerPair, replies: Replies) -> bool:
    """Whether a decoy entails an answer beside itself: then anything may."""
    return any(replies.get(turned(pair)) == ENTAILMENT for pair in decoy_pairs(answer))


def is_fit(answer: str) -> bool:
    """Whether the model may be shown an answer: in full, and with a decoy of every kind.

    >>> is_fit("Lima"), is_fit("Lima " * 1_000)
    (True, False)
    """
    most = TASKS[Task.JUDGE_RELATION].passage_characters
    return len(answer) <= most and None not in decoys_of("", answer)


def is_quoting(pair: AnswerPair) -> bool:
    """Whether one answer has the whole text of another in it, however it is spelled, and room for
    an order besides.

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
    """Letters and digits of a text, in lower case, and nothing between them."""
    return "".join(c for c in normalize("NFKD", text).casefold() if c.isalnum())


def latin_letters(text: str) -> str:
    """The letters of a text as they look, in lower case, and nothing between them.

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
    """Rows whose entailment became neutral."""
    entailment, neutral, contradiction = rows.T
    return np.column_stack([np.zeros_like(entailment), neutral + entailment, contradiction])


def prompt_of(pair: AnswerPair) -> Prompt:
    """What the model is asked about one ordered pair."""
    return build_prompt(Task.JUDGE_RELATION, pair.question, answer_texts(pair))


def prompts_for(pair: AnswerPair) -> list[Prompt]:
    """Every prompt that the verdict about a pair may have taken."""
    return [prompt_of(asked) for asked in asked_about(tidy(pair))]


def parse_relation(text: str) -> str | None:
    """The class that a reply names; None unless its first line is a label and nothing else.

    >>> parse_relation(" [Entailment]."), parse_relation("ENTAILMENT, as answer 1 demands")
    ('ENTAILMENT', None)
    """
    found = _LABEL.fullmatch(text.strip().splitlines()[0] if text.strip() else "")
    return found[1].upper() if found else None


def row_of(relation: str) -> FloatArray:
    """(3,) probabilities of a class, in any case."""
    return np.array([_SURE if relation.upper() == c else (1.0 - _SURE) / 2.0 for c in _CLASSES])
