"""How much of a right answer's wording a response has: exact match, token F1, ROUGE-L F1.

All in [0, 1], after normalisation, and the best over the right answers.
"""

from collections import Counter
from collections.abc import Iterable

from rapidfuzz.distance import LCSseq

from schemas.answer_text import normalised


def exact_match(text: str, answers: Iterable[str]) -> float:
    """1 when the response is one of the answers.

    >>> exact_match("The U.S.A.", ["the usa"])
    1.0
    """
    return float(any(normalised(text) == normalised(answer) for answer in answers))


def token_f1(text: str, answers: Iterable[str]) -> float:
    """Harmonic mean of precision and recall over the bags of words.

    >>> token_f1("barack obama president", ["barack obama"])
    0.8
    """
    return max((_bag_f1(_words(text), _words(answer)) for answer in answers), default=0.0)


def rouge_l_f1(text: str, answers: Iterable[str]) -> float:
    """ROUGE-L: the same over the longest common subsequence of words (C.-Y. Lin, 2004).

    >>> rouge_l_f1("police killed the gunman", ["the gunman police killed"])
    0.5
    """
    return max((_sequence_f1(_words(text), _words(answer)) for answer in answers), default=0.0)


def _words(text: str) -> list[str]:
    return normalised(text).split()


def _bag_f1(ours: list[str], theirs: list[str]) -> float:
    common = (Counter(ours) & Counter(theirs)).total()
    return _f1(common, len(ours), len(theirs))


def _sequence_f1(ours: list[str], theirs: list[str]) -> float:
    return _f1(LCSseq.similarity(ours, theirs), len(ours), len(theirs))


def _f1(common: int, ours: int, theirs: int) -> float:
    """2PR / (P + R) with P = common / ours and R = common / theirs; 0 without a common word."""
    return 2 * common / (ours + theirs) if common else 0.0
