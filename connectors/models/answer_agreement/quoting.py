"""Where a passage says an answer: in the same words, or value by value and word by word."""

import re
from typing import Final

from radarstream.connectors.models.answer_agreement.question import Question, read_question
from radarstream.connectors.models.answer_agreement.reading import read_answer, take_values
from radarstream.connectors.models.answer_agreement.values import Likeness, Value, compare_value
from radarstream.connectors.models.answer_agreement.words import plain_text, read_words
from radarstream.schemas.answer_text import contains
from radarstream.schemas.evidence import Quote

MOST_CHARACTERS: Final = 5_000  # of a passage that are searched: it is untrusted

_GAP: Final = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])(?<!\b[A-Z]\.)\s+|\s*[\r\n]+\s*")
_INITIALS: Final = re.compile(r"(?<=\b[A-Z]\.)\s+(?=[A-Z]\.)")
_GROUPS: Final = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f](?=\d{3}\b)")
# Thai to Khmer, Japanese, Chinese, Korean: no space parts a word from the next or its ending.
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_SAID: Final = (Likeness.SAME, Likeness.PREMISE_ADDS)


def quote_of(answer: str, question: str, passage: str) -> Quote | None:
    """The sentence of a passage that says most of an answer; None if the passage does not say it.

    A passage says an answer if it has its words in a row, or somewhere all its numbers, dates and
    times and all its words that the question lacks; of a sentence, its names. A bare yes or no is
    in no words: the sentence nearest to the question stands for it, if it shares a word with that.

    >>> passage = "A concert. Her two symphonies were played on 3 May 1999."
    >>> quote_of("2", "How many symphonies did she write?", passage)
    (11, 56)
    >>> quote_of("1998", "In what year were they played?", passage) is None
    True
    """
    passage = passage[:MOST_CHARACTERS]
    places = sentences(passage)
    if (at := _find(answer, passage)) >= 0:
        return next(place for place in places if at < place[1])
    if _contains(passage, answer):
        whole = 0, len(passage)
        return next((at for at in places if _contains(passage[slice(*at)], answer)), whole)
    return _by_parts(answer, read_question(question), passage, places)


def nearest_sentence(question: str, passage: str) -> tuple[Quote, float] | None:
    """The sentence with most words of the question, and their share of these, in [0, 1].

    Of several the first; None in a passage without sentences.
    """
    asked = read_question(question).words
    shared = {
        at: len(asked & _keys(passage[slice(*at)])) for at in sentences(passage[:MOST_CHARACTERS])
    }
    best = max(shared, key=shared.__getitem__, default=None)
    return None if best is None else (best, shared[best] / max(1, len(asked)))


def sentences(text: str) -> list[Quote]:
    r"""The places of the sentences and lines of a text, in order.

    >>> sentences("One. Two by J. Doe?\nThree")
    [(0, 4), (5, 19), (20, 25)]
    """
    gaps = [gap.span() for gap in _GAP.finditer(text)]
    starts, ends = [0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(text)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def _find(answer: str, passage: str) -> int:
    """Where a passage has an answer to the letter, between spaces or marks; -1 where not."""
    at = passage.find(answer) if answer else -1
    before = passage[max(0, at - 1) : at]
    after = passage[at + len(answer) :][:2]
    behind = after.lstrip(".,;:!?)\"'")
    apart = not before or before in " \n(\"'" or _UNSPACED.search(before + answer[:1])
    ends = not behind or behind[0].isspace() or _UNSPACED.search(answer[-1:] + after[:1])
    return at if apart and ends else -1


def _contains(text: str, answer: str) -> bool:
    """Whether a text has an answer as whole words, "J.K." as "J. K." and 1000 as "1 000"."""
    text, answer = (_GROUPS.sub(",", _INITIALS.sub("", t)) for t in (text, answer))
    return contains(text, answer, strict=True)


def _by_parts(answer: str, question: Question, passage: str, places: list[Quote]) -> Quote | None:
    reading = read_answer(answer, question)
    names = frozenset(word.key for word in reading.words if word.is_name)
    words = (names if reading.is_sentence else None) or reading.all_keys
    wanted: list[str | Value] = [*(words - question.words or words), *reading.values]
    if not wanted:
        near = None if reading.says_yes is None else nearest_sentence(question.text, passage)
        return near[0] if near and near[1] else None
    missing, best, most = set(range(len(wanted))), None, 0
    for start, end in places:
        plain = plain_text(passage[start:end])
        keys, (values, _) = _keys(plain), take_values(plain, question)
        said = {at for at, one in enumerate(wanted) if _says(keys, values, one)}
        missing -= said
        if len(said) > most:
            best, most = (start, end), len(said)
    return None if missing else best


def _says(keys: frozenset[str], values: list[Value], one: str | Value) -> bool:
    if isinstance(one, str):
        return one in keys
    return any(compare_value(value, one) in _SAID for value in values)


def _keys(text: str) -> frozenset[str]:
    return frozenset(word.key for word in read_words(text, keep_stopwords=True))
