"""RobustRAG with keyword aggregation: answers from words that enough isolated answers share."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, ClassVar, Final

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.answering import Stateless, answers_of, concluded, judged
from radarstream.defenses.keywords import phrases
from radarstream.defenses.protocol import Complete, Defending, Signal, ask
from radarstream.schemas.evidence import AtomicAnswer, Evidence
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Abstention, Reason

Phrases = frozenset[str]  # of one document's answer; empty if it does not count
COUNTING_SLACK: Final = 1e-9  # for rounding errors of a count that should equal the threshold


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RobustRag(Stateless):
    """Answers from words and phrases that enough isolated answers have in common.

    From "Certifiably Robust RAG against Retrieval Corruption" (RobustRAG, Algorithm 1: secure
    keyword aggregation). An atomic answer that abstains or contains "I don't" does not count, as in
    the authors' code, although that excludes "I don't think it is Paris". Each phrase counts once
    per answer. The generator gets the phrases of at least mu = min(beta, alpha n) of n answers,
    longest first. As mu is at most beta, the phrases of beta poisoned documents always get in.

    `defenses.keywords` extracts the phrases, without the tagger and lemmatiser of the paper;
    they are compared without case.

    Parameters
    ----------
    alpha, beta
        Relative and absolute threshold. The authors use .4 and 4 for long answers.
    gamma
        Weighs the document at place i (0 = first) by gamma**i, rescaled so that the answers that
        count weigh 1 on average: the rank-aware variant of ReliabilityRAG. None weighs all alike.
    long_form
        Whether to drop single words, as the authors do if the answer is a paragraph.
    """

    alpha: Annotated[float, Field(gt=0.0, le=1.0)] = 0.3
    beta: Annotated[float, Field(gt=0.0)] = 3.0
    gamma: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    long_form: bool = False

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.ATOMIC_ANSWERS})

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Judge one snapshot: a document is kept if its answer has a phrase that reached mu.

        Raises EvidenceError if the answers are missing.
        """
        answers = answers_of(evidence)
        phrase_sets = [self.phrases_of(answer) for answer in answers]
        heard = self.heard(phrase_sets)
        silent = {False: Reason.UNINFORMATIVE, True: Reason.OUTVOTED}
        reasons = [
            silent[bool(v)] if v.isdisjoint(heard) else Reason.SUPPORTED for v in phrase_sets
        ]
        documents = judged(evidence, reasons, answers)
        if not heard:
            return concluded(documents, _why_nothing(phrase_sets)), state
        answer = yield from ask(Complete(Task.ANSWER_FROM_KEYWORDS, evidence.query.text, heard))
        return concluded(documents, answer), state

    def phrases_of(self, answer: AtomicAnswer) -> Phrases:
        """Return the phrases of an answer; none if it does not count."""
        if answer.abstained or "I don't" in answer.text.replace("’", "'"):
            return frozenset()
        return phrases(answer.text)

    def heard(self, phrase_sets: Sequence[Phrases]) -> tuple[str, ...]:
        """Return the phrases that reach the threshold, in the order of the prompt."""
        counts = self.counts(phrase_sets)
        least = self.threshold(sum(map(bool, phrase_sets))) - COUNTING_SLACK
        heard = [(len(phrase), phrase) for phrase, count in counts.items() if count >= least]
        return tuple(phrase for _, phrase in sorted(heard, reverse=True))  # the longest first

    def counts(self, phrase_sets: Sequence[Phrases]) -> dict[str, float]:
        """Count the answers with each phrase, weighted by `gamma`."""
        counts = tally(phrase_sets, self.gamma)
        return {p: count for p, count in counts.items() if not self.long_form or " " in p}

    def threshold(self, answers: int) -> float:
        """Return how many of n answers must share a phrase: mu = min(beta, alpha n).

        >>> [RobustRag().threshold(n) for n in (5, 10, 50)]
        [1.5, 3.0, 3.0]
        """
        return min(self.beta, self.alpha * answers)


def tally(phrase_sets: Sequence[Phrases], gamma: float | None = None) -> dict[str, float]:
    """Count the answers with each phrase, weighted by `increments`."""
    counts: dict[str, float] = defaultdict(float)
    for held, weight in zip(phrase_sets, increments(phrase_sets, gamma), strict=True):
        for phrase in held:
            counts[phrase] += weight
    return dict(counts)


def increments(phrase_sets: Sequence[Phrases], gamma: float | None) -> list[float]:
    """Return the weight of each answer; 0 for one without phrases.

    gamma**i n / (sum of the weights of the n others), where i is the place among all documents.
    """
    if gamma is None:
        return [float(bool(held)) for held in phrase_sets]
    weights = [gamma**place if held else 0.0 for place, held in enumerate(phrase_sets)]
    total = sum(weights)
    if total == 0.0:  # no phrases, or only at places whose weight underflows
        return [float(bool(held)) for held in phrase_sets]
    return [weight * sum(map(bool, phrase_sets)) / total for weight in weights]


def _why_nothing(phrase_sets: Sequence[Phrases]) -> Abstention:
    if not phrase_sets:
        return Abstention.NO_DOCUMENTS
    return Abstention.NO_CONSENSUS if any(phrase_sets) else Abstention.NO_EVIDENCE
