"""RobustRAG with keyword aggregation: only words that enough isolated answers share are heard."""

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

Voice = frozenset[str]  # the phrases of one document's answer; empty if it is not heard
COUNTING_SLACK: Final = 1e-9  # of a count that should equal the threshold but for rounding


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RobustRag(Stateless):
    """Answers from words and phrases that enough isolated answers have in common.

    From "Certifiably Robust RAG against Retrieval Corruption" (RobustRAG, Algorithm 1: secure
    keyword aggregation). Each document is answered alone; an answer that abstains or contains
    "I don't" is not heard, as in the authors' code, although that also silences "I don't think
    it is Paris". Each phrase counts once per answer, and those with at least
    mu = min(beta, alpha n) of n answers are shown to the generator, longest first. Since mu never
    exceeds beta, beta poisoned documents are always heard, however many are retrieved.

    Phrases are found by `defenses.keywords`, without the tagger and lemmatiser of the paper, and
    compared without case.

    Parameters
    ----------
    alpha, beta
        Relative and absolute threshold. The authors use .4 and 4 for long answers.
    gamma
        Weighs the document at place i (0 = first) by gamma**i, rescaled so that the heard answers
        weigh 1 on average: the rank-aware variant of ReliabilityRAG. None counts all alike.
    long_form
        Drops single words, as the authors do where the answer is a paragraph.
    """

    alpha: Annotated[float, Field(gt=0.0, le=1.0)] = 0.3
    beta: Annotated[float, Field(gt=0.0)] = 3.0
    gamma: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    long_form: bool = False

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.ATOMIC_ANSWERS})

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Judge one snapshot: a document is kept if its answer holds a phrase that is heard.

        Raises EvidenceError when the answers are missing.
        """
        answers = answers_of(evidence)
        voices = [self.voice(answer) for answer in answers]
        heard = self.heard(voices)
        silent = {False: Reason.UNINFORMATIVE, True: Reason.OUTVOTED}
        reasons = [silent[bool(v)] if v.isdisjoint(heard) else Reason.SUPPORTED for v in voices]
        documents = judged(evidence, reasons, answers)
        if not heard:
            return concluded(documents, _why_nothing(voices)), state
        answer = yield from ask(Complete(Task.ANSWER_FROM_KEYWORDS, evidence.query.text, heard))
        return concluded(documents, answer), state

    def voice(self, answer: AtomicAnswer) -> Voice:
        """The phrases of an answer; none if it is not heard."""
        if answer.abstained or "I don't" in answer.text.replace("’", "'"):
            return frozenset()
        return phrases(answer.text)

    def heard(self, voices: Sequence[Voice]) -> tuple[str, ...]:
        """Phrases that reach the threshold, in the order to show them."""
        counts = self.counts(voices)
        least = self.threshold(sum(map(bool, voices))) - COUNTING_SLACK
        heard = [(len(phrase), phrase) for phrase, count in counts.items() if count >= least]
        return tuple(phrase for _, phrase in sorted(heard, reverse=True))  # the longest first

    def counts(self, voices: Sequence[Voice]) -> dict[str, float]:
        """How many answers hold each phrase that may be shown, weighted as `gamma` says."""
        counts = tally(voices, self.gamma)
        return {p: count for p, count in counts.items() if not self.long_form or " " in p}

    def threshold(self, answers: int) -> float:
        """How many of n answers must share a phrase: mu = min(beta, alpha n).

        >>> [RobustRag().threshold(n) for n in (5, 10, 50)]
        [1.5, 3.0, 3.0]
        """
        return min(self.beta, self.alpha * answers)


def tally(voices: Sequence[Voice], gamma: float | None = None) -> dict[str, float]:
    """How many answers hold each phrase, each answer weighing as `increments` says."""
    counts: dict[str, float] = defaultdict(float)
    for voice, weight in zip(voices, increments(voices, gamma), strict=True):
        for phrase in voice:
            counts[phrase] += weight
    return dict(counts)


def increments(voices: Sequence[Voice], gamma: float | None) -> list[float]:
    """What each answer adds to the count of its phrases; 0 for one that is not heard.

    gamma**i n / (sum of the weights of the n heard answers), places i counting every document.
    """
    if gamma is None:
        return [float(bool(voice)) for voice in voices]
    weights = [gamma**place if voice else 0.0 for place, voice in enumerate(voices)]
    total = sum(weights)
    if total == 0.0:  # nobody is heard, or only places whose weight underflows
        return [float(bool(voice)) for voice in voices]
    return [weight * sum(map(bool, voices)) / total for weight in weights]


def _why_nothing(voices: Sequence[Voice]) -> Abstention:
    if not voices:
        return Abstention.NO_DOCUMENTS
    return Abstention.NO_CONSENSUS if any(voices) else Abstention.NO_EVIDENCE
