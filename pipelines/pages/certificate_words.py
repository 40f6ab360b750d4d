"""A certificate in words: how many documents change an answer, and under which assumptions."""

from collections.abc import Sequence
from typing import Final

from radarstream.schemas.certificate import (
    Assumption,
    Certificate,
    Change,
    Enough,
    FlipBound,
    Needed,
    SilenceBound,
)

ASSUMPTIONS: Final = {
    Assumption.WRITTEN: "The written answer is that of the largest group of agreeing kept answers.",
    Assumption.KEYWORDS: "The answer depends on the shown words alone.",
    Assumption.FIXED: "Answers of present documents, and relations between them, stay as they are.",
    Assumption.OPPOSED: "An added document hardly entails those that support the answer.",
    Assumption.PROPER: "Entailment and contradiction of a pair sum to at most 1.",
    Assumption.NOT_ISOLATED: "The similarity check drops none of those that support the answer.",
    Assumption.SILENCE: "Giving no answer is not counted as another answer.",
}
_HOW: Final = {Change.ADDED: "more", Change.REPLACED: "replaced"}


def flip_sentences(certificate: Certificate) -> tuple[str, ...]:
    """How many documents it takes to change this answer: the proved number to the one found.

    >>> added = FlipBound(Change.ADDED, False, Needed(3, 2), None)
    >>> silence = SilenceBound(Change.REPLACED, 1, 2)
    >>> flip_sentences(Certificate("{}", (added,), silence=(silence,)))
    ('Another answer: at least 3 more (on 2 sites).', 'No answer: 1 to 2 replaced.')
    """
    if certificate.reason:
        return (f"Nothing is proved: {certificate.reason}.",)
    sentences = []
    remembering = [bound for bound in certificate.bounds if bound.remembering]
    plain = [bound for bound in certificate.bounds if not bound.remembering]
    if remembering:
        sentences.append(f"Another answer: {_listed(remembering)}.")
    if plain:
        start = "Without the memory" if remembering else "Another answer"
        sentences.append(f"{start}: {_listed(plain)}.")
    if certificate.silence:
        sentences.append(f"No answer: {_listed(certificate.silence)}.")
    if certificate.deceived is not None and not _found_without(certificate, certificate.deceived):
        count = certificate.deceived.documents
        sentences.append(f"{count} more can do it by deceiving the relation scorer.")
    return tuple(sentences)


def _listed(bounds: Sequence[FlipBound | SilenceBound]) -> str:
    return ", or ".join(map(_counted, bounds))


def _counted(bound: FlipBound | SilenceBound) -> str:
    """The proved number to the one that was found, and how they come into the snapshot."""
    how = _HOW[bound.change]
    if isinstance(bound, SilenceBound):
        return f"{_span(bound.needed, bound.enough)} {how}"
    needed, enough = bound.needed or Needed(1), bound.enough
    place = f" (on {needed.sites} sites)" if needed.sites > 1 else ""
    return f"{_span(needed.documents, enough.documents if enough else None)} {how}{place}"


def _span(low: int, high: int | None) -> str:
    if high is None:
        return f"at least {low}"
    return str(low) if low == high else f"{low} to {high}"


def _found_without(certificate: Certificate, deceived: Enough) -> bool:
    """Whether as few added documents are enough without deceiving the relation scorer."""
    added = [b.enough for b in certificate.bounds if b.change is Change.ADDED and b.remembering]
    added = added or [b.enough for b in certificate.bounds if b.change is Change.ADDED]
    return any(e is not None and e.documents <= deceived.documents for e in added)
