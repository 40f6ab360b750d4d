"""RelationScorer for answers to the same question: a finding by rules, then its probabilities.

Natural language inference models are trained on sentences; the answers related here are mostly
names, numbers and dates, for which agreement can be read off. Likeness of meaning has no say: over
3,018 of our pairs the area under the curve of MiniLM's cosine is .43, of lies that change one word.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from radarstream.connectors.models.answer_agreement.comparison import is_parted, relate
from radarstream.connectors.models.answer_agreement.cores import cores
from radarstream.connectors.models.answer_agreement.question import read_question
from radarstream.connectors.models.answer_agreement.reading import Reading, read_answer
from radarstream.connectors.models.answer_agreement.tables import FOLDER
from radarstream.connectors.models.answer_agreement.values import AGREEING, Likeness
from radarstream.connectors.models.batching import once_each
from radarstream.schemas import answer_text
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair

_question = lru_cache(maxsize=4_096)(read_question)


@lru_cache(maxsize=65_536)
def _reading(question: str, answer: str) -> Reading:
    return read_answer(answer, _question(question))


def _readings(pair: AnswerPair) -> tuple[Reading, Reading]:
    return _reading(pair.question, pair.premise), _reading(pair.question, pair.hypothesis)


def compare_pair(pair: AnswerPair) -> Likeness:
    """The finding for both answers (each read once and remembered); where that is no agreement,
    agreement of a core of one answer with the other or a core of it.

    >>> compare_pair(AnswerPair("How long is it?", "26 miles 385 yards", "42.195 km")).name
    'SAME'
    """
    premise, hypothesis = _readings(pair)
    whole = relate(premise, hypothesis)
    if whole in AGREEING or is_parted(premise, hypothesis):
        return whole
    return _by_cores(premise, hypothesis) or whole


def _by_cores(premise: Reading, hypothesis: Reading) -> Likeness | None:
    adds, added = Likeness.PREMISE_ADDS, Likeness.HYPOTHESIS_ADDS
    person = "PERSON" in premise.question.traits
    mine, theirs = _cores(premise), _cores(hypothesis)

    def agree(one: Reading, other: Reading, *also: Likeness) -> bool:
        return relate(one, other) in (Likeness.SAME, *also)

    here = any(agree(premise, core, added, *[adds] * (person and free)) for core, free in theirs)
    there = any(agree(core, hypothesis, adds, *[added] * (person and free)) for core, free in mine)
    if here or there:
        return Likeness.SAME if here and there else added if here else adds
    pairs = ((a, b) for a, free in mine if free for b, also in theirs if also)
    return Likeness.SAME if any(agree(*pair, *[adds, added] * person) for pair in pairs) else None


@lru_cache(maxsize=65_536)
def _cores(reading: Reading) -> list[tuple[Reading, bool]]:
    """Shorter answers that make the same claim, and whether each may stand beside another such."""
    if reading.is_too_long:
        return []
    question, traits = reading.question.text, reading.question.traits
    texts = cores(reading.claim, traits) | cores(reading.in_order, traits)
    texts |= cores(f"{question} | {reading.claim}", traits | {"ASKED"})
    for core, free in list(texts.items()):
        texts |= {c: free and also for c, also in cores(core, traits).items() if c not in texts}
    read = ((_reading(question, core), free) for core, free in texts.items())
    return [
        (core, free)
        for core, free in read
        if core.telling or core.values or core.plain not in reading.plain
    ]


def certain_relation(pair: AnswerPair) -> str | None:
    """entailment, neutral or contradiction of a pair that needs no judgement; None for any other.

    Certain are equal texts, abstentions, and two values, dates, names with initials or identifiers
    that differ.

    >>> certain_relation(AnswerPair("When was it built?", "in 1998", "1999"))
    'contradiction'
    """
    premise, hypothesis = _readings(pair)
    if premise.abstained or hypothesis.abstained:
        return "neutral"
    if premise.plain.casefold() == hypothesis.plain.casefold():
        return "entailment"
    return "contradiction" if compare_pair(pair) is Likeness.VALUES_DIFFER else None


class AnswerAgreement:
    """Agreement between answers by rules, with the probabilities of `Likeness`.

    >>> pair = AnswerPair("Where is it?", "Oslo", "Oslo, which lies in Norway")
    >>> AnswerAgreement().probabilities([pair]).round(2).tolist()
    [[0.53, 0.45, 0.02]]
    """

    @cached_property
    def model_id(self) -> str:
        """Rules and probabilities: everything that decides a relation."""
        digest = sha256()
        rules = sorted((*Path(__file__).parent.glob("*.py"), *FOLDER.glob("*.tsv*")))
        for file in (*rules, Path(answer_text.__file__)):
            digest.update(file.read_bytes())
        return f"answer-agreement@{digest.hexdigest()[:12]}"

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows that sum to 1: entailment, neutral, contradiction; each pair scored once."""
        if not pairs:
            return np.zeros((0, 3))
        return once_each(self._score, pairs)

    def _score(self, pairs: list[AnswerPair]) -> FloatArray:
        return np.array([compare_pair(pair).value for pair in pairs])
