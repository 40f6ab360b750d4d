"""Whether an answer says yes or no, and whether it takes back what it says."""

import re

from radarstream.connectors.models.answer_agreement.opposites import are_opposites
from radarstream.connectors.models.answer_agreement.question import Asked, Question
from radarstream.connectors.models.answer_agreement.synonyms import alike
from radarstream.connectors.models.answer_agreement.words import read_words

CLAUSE = re.compile(r"(?<=\w\w)[;.!?](?=\s|$)|,\s|\bbut\b", re.IGNORECASE)
DENIED_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\s+"
    r"(?:not|never)\b(?!\s+only)|n't\b(?!\s+only)"
    r"|\bno longer\b|\bnever\b|\bneither\b|\bthere (?:is|are|was|were) no\b|\bcannot\b",
    re.IGNORECASE,
)
DENIED_REST = re.compile(r"\bnot\s+(?!only\b)", re.IGNORECASE)
# "No" before a noun is no answer: "no doubt it is safe".
_GOES_ON = (
    r"(?=\W*$|\s*[,.;:!?()-]|\s+(?:it|its|they|he|she|there|this|that|these|those|you|we|i|the|not"
    r"|both)\b)"
)
LEADING = re.compile(
    rf"^\W*(?:(?P<yes>yes|yeah|yep|true|correct)|no|nope|false)\b(?!\.\s*\d){_GOES_ON}",
    re.IGNORECASE,
)
_YES_AND_NO = re.compile(r"^\W*(?:yes\W+(?:and|or|but)\W+no|no\W+(?:and|or|but)\W+yes)\b", re.I)
_NOBODY = re.compile(r"\b(?:no[ -]one|nobody|none|nothing)\b", re.IGNORECASE)
_NO = re.compile(r"\bno (\w+)", re.IGNORECASE)
_NON = re.compile(r"\bnon-(?=[a-z]{4})", re.IGNORECASE)
_SO = re.compile(
    r"^\W*(?:it|they|he|she|we|i|you|that|this|there) (?:is|are|am|was|were|do|does|did|has|have"
    r"|had|can"
    r"|could|will|would|should|may|must)\W*$",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:used to|formerly|previously|once was|was once)\b", re.IGNORECASE)
_FAILS = re.compile(
    r"\b(?:unable|fail(?:s|ed)?|refus(?:es?|ed)|declin(?:es?|ed))"
    r" to\b",
    re.IGNORECASE,
)
_UN = re.compile(r"^(?:un|in|im|il|ir|non-?|dis)(?=\w{3})")
_DOUBTED = re.compile(r"\?\W*$")
_IS_A_QUESTION = re.compile(
    r"^\W*(?:who|whom|whose|what|where|when|why|how|which|is|are|was|do|does|did|can|could|will"
    r"|would|shall|should|quo)\b",
    re.IGNORECASE,
)


def read_polarity(text: str, question: Question) -> tuple[bool | None, bool]:
    """Whether a text with its marks spelt alike says yes (None: neither), and whether it leaves
    that open: "Yes and no", "Yes, it is unsafe".
    """
    text = _NON.sub("not ", text)
    if _YES_AND_NO.match(text):
        return None, True
    leading = LEADING.match(text)
    said: set[bool] = {bool(leading["yes"])} if leading else set()
    if question.asked is Asked.YES_NO:
        rest = LEADING.sub("", text)
        told = [_of_clause(clause, question) for clause in CLAUSE.split(rest) if clause]
        said |= {told_so for told_so in told if told_so is not None}
    if len(said) == 1:
        return said.pop(), False
    return None, len(said) > 1


def is_doubted(plain: str) -> bool:
    """Whether an answer asks back: "Lima?"; titles such as "Who Framed Roger Rabbit?" do not."""
    return bool(_DOUBTED.search(plain)) and not _IS_A_QUESTION.match(plain)


def _of_clause(clause: str, question: Question) -> bool | None:
    """Whether one clause answers the question with yes: denials and opposites turn it round."""
    words = [word.surface.casefold() for word in read_words(clause)]
    opposite = any(_turns_round(word, question) for word in words)
    if _PAST.search(clause):
        return None
    if _SO.match(clause):
        return True
    denying = (DENIED_CLAUSE, DENIED_REST, _NOBODY, _FAILS)
    denies = any(pattern.search(clause) for pattern in denying)
    nothing = _NO.search(clause)
    if denies or (nothing and _is_said(nothing[1].casefold(), question)):
        return opposite
    if opposite:
        return False
    return True if any(_is_said(word, question) for word in words) else None


def _is_said(word: str, question: Question) -> bool:
    return any(alike(word, said) for said in question.said)


def _turns_round(word: str, question: Question) -> bool:
    """Whether a word is the opposite of one of the question: "undamaged", "closed"."""
    said = question.said
    if word in said:
        return False
    bare = _UN.sub("", word)
    if bare != word and any(alike(bare, other) for other in said):
        return True
    return any(are_opposites(word, other) for other in said)
