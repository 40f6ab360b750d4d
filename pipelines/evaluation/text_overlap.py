"""How much of a right answer's wording a response has: exact match, token F1, ROUGE-L F1.

All in [0, 1], the best over the right answers. The first two compare normalised texts.
"""

from collections import Counter
from collections.abc import Iterable

from radarstream.defenses.kernels.rouge import rouge_l
from radarstream.schemas.answer_text import normalised


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
    """ROUGE-L: F1 of the longest common subsequence of stemmed words (C.-Y. Lin, 2004).

    >>> rouge_l_f1("police killed the gunman", ["the gunman police killed"])
    0.5
    """
    return float(rouge_l([text, *answers])[0].max())


def _words(text: str) -> list[str]:
    return normalised(text).split()


def _bag_f1(ours: list[str], theirs: list[str]) -> float:
    """2PR / (P + R) with P = common / ours and R = common / theirs; 0 without a common word."""
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0
