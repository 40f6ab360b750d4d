"""RelationScorer for answers to the same question: a finding by rules, then its probabilities.

Natural language inference models are trained on sentences; the answers related here are mostly
names, numbers and dates, for which agreement can be read off. Likeness of meaning has no say: over
3,018 of our pairs the area under the curve of MiniLM's cosine is .43, of lies that change one word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

from radarstream.connectors.models.answer_agreement.comparison import (
    AGREEING,
    Likeness,
    compare,
    is_parted,
    understood,
)
from radarstream.connectors.models.answer_agreement.cores import cores
from radarstream.connectors.models.answer_agreement.opposites import opposed
from radarstream.connectors.models.answer_agreement.question import read_question
from radarstream.connectors.models.answer_agreement.reading import Reading, read_answer
from radarstream.connectors.models.answer_agreement.tables import FOLDER
from radarstream.connectors.models.batching import once_each
from radarstream.schemas import answer_text
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair

# Entailment, neutral and contradiction of each finding, set by hand.
PROBABILITIES: Final = {
    Likeness.UNCOMMITTED: (0.0004, 0.9856, 0.0140),
    Likeness.SAME: (0.9979, 0.0015, 0.0006),
    Likeness.PREMISE_ADDS: (0.99, 0.008, 0.002),
    Likeness.HYPOTHESIS_ADDS: (0.53, 0.45, 0.02),  # most of what a page adds is agreement
    Likeness.HYPOTHESIS_LISTS_MORE: (0.0004, 0.9924, 0.0072),
    Likeness.VALUES_DIFFER: (0.0005, 0.0005, 0.999),
    Likeness.WORDS_DIFFER: (0.001, 0.0001, 0.9989),
    Likeness.KINDS_DIFFER: (0.012, 0.003, 0.985),
    Likeness.PHRASES_DIFFER: (0.1, 0.05, 0.85),
    Likeness.PARTLY_SHARED: (0.25, 0.4, 0.35),
    Likeness.UNEXPLAINED: (0.3, 0.65, 0.05),  # what is not understood is no agreement
}


@dataclass(frozen=True)
class Comparison:
    """One ordered pair, read and compared."""

    premise: Reading
    hypothesis: Reading
    finding: Likeness

    @cached_property
    def ruled(self) -> Likeness:
        """The finding, less what opposites and words that nobody understands take from it; where
        that is no agreement, agreement of a core of one answer with the other or a core of it.
        """
        whole = _ruled(self.premise, self.hypothesis)
        if whole in AGREEING or is_parted(self.premise, self.hypothesis):
            return whole
        return _by_cores(self.premise, self.hypothesis) or whole


def _by_cores(premise: Reading, hypothesis: Reading) -> Likeness | None:
    person = "PERSON" in premise.question.traits
    for one, free in [(premise, True), *_cores(premise)]:
        for other, also in [(hypothesis, True), *_cores(hypothesis)]:
            whole, other_whole = one is premise, other is hypothesis
            if not (whole or other_whole or (free and also)) or (whole and other_whole):
                continue
            found = _ruled(one, other)
            if (
                found is Likeness.SAME
                or (found is Likeness.PREMISE_ADDS and (other_whole or (person and also)))
                or (found is Likeness.HYPOTHESIS_ADDS and (whole or (person and free)))
            ):
                if whole:
                    return Likeness.HYPOTHESIS_ADDS
                return Likeness.PREMISE_ADDS if other_whole else Likeness.SAME
    return None


@lru_cache(maxsize=65_536)
def _cores(reading: Reading) -> list[tuple[Reading, bool]]:
    """Shorter answers that make the same claim, and whether each may stand beside another such."""
    if reading.is_too_long:
        return []
    traits = reading.question.traits
    found = cores(reading.told, traits) | cores(reading.in_order, traits)
    found |= cores(f"{reading.question.text} | {reading.told}", traits | {"ASKED"})
    for core, free in list(found.items()):
        found |= {c: free and also for c, also in cores(core, traits).items() if c not in found}
    read = ((_reading(reading.question.text, core), free) for core, free in found.items())
    return [
        (core, free)
        for core, free in read
        if core.telling or core.values or core.plain not in reading.plain
    ]


def _ruled(premise: Reading, hypothesis: Reading) -> Likeness:
    opposite = opposed(premise.in_order, hypothesis.in_order)
    return understood(premise, hypothesis, compare(premise, hypothesis), opposite=opposite)


_question = lru_cache(maxsize=4_096)(read_question)


@lru_cache(maxsize=65_536)
def _reading(question: str, answer: str) -> Reading:
    return read_answer(answer, _question(question))


def compare_pair(pair: AnswerPair) -> Comparison:
    """Read both answers (remembered) and compare them.

    >>> compare_pair(AnswerPair("How long is it?", "26 miles 385 yards", "42.195 km")).ruled
    <Likeness.SAME: 'same'>
    """
    premise = _reading(pair.question, pair.premise)
    hypothesis = _reading(pair.question, pair.hypothesis)
    return Comparison(premise, hypothesis, compare(premise, hypothesis))


def certain_relation(pair: AnswerPair) -> str | None:
    """entailment, neutral or contradiction of a pair that needs no judgement; None for any other.

    Certain are equal texts, abstentions, and two values, dates, names with initials or identifiers
    that differ.

    >>> certain_relation(AnswerPair("When was it built?", "in 1998", "1999"))
    'contradiction'
    """
    comparison = compare_pair(pair)
    if comparison.premise.abstained or comparison.hypothesis.abstained:
        return "neutral"
    if comparison.premise.plain.casefold() == comparison.hypothesis.plain.casefold():
        return "entailment"
    return "contradiction" if comparison.ruled is Likeness.VALUES_DIFFER else None


class AnswerAgreement:
    """Agreement between answers by rules, with the probabilities of `PROBABILITIES`.

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
        return np.array([PROBABILITIES[compare_pair(pair).ruled] for pair in pairs])
