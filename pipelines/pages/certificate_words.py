"""A certificate in words: how many documents change an answer, and under which assumptions."""

from typing import Final

from radarstream.schemas.certificate import (
    Assumption,
    Certificate,
    Change,
    Enough,
    FlipBound,
    Needed,
)

ASSUMPTIONS: Final = {
    Assumption.WRITTEN: "The written answer is that of the largest group of agreeing kept answers.",
    Assumption.KEYWORDS: "The answer depends on the shown words alone.",
    Assumption.FIXED: "Answers of present documents, and relations between them, stay as they are.",
    Assumption.OPPOSED: "An added document hardly entails those that support the answer.",
    Assumption.PROPER: "Entailment and contradiction of a pair sum to at most 1.",
    Assumption.NOT_ISOLATED: "The similarity check drops none of those that support the answer.",
    Assumption.SILENCE: "Giving no answer is not counted as a change.",
}
_HOW: Final = {Change.ADDED: "more", Change.REPLACED: "replaced"}


def flip_sentences(certificate: Certificate) -> tuple[str, ...]:
    """What it takes to change an answer, a sentence for each kind of attack.

    >>> needed, enough = Needed(3, 2), None
    >>> flip_sentences(Certificate("{}", (FlipBound(Change.ADDED, False, needed, enough),)))
    ('At least 3 more documents on 2 sites are needed to change this; no attack was found.',)
    """
    if certificate.reason:
        return (f"Nothing is proved: {certificate.reason}.",)
    remembered = any(bound.remembering for bound in certificate.bounds)
    sentences = [
        ("Without the memory: at least " if remembered and not bound.remembering else "At least ")
        + _sentence(bound)
        for bound in certificate.bounds
    ]
    if certificate.deceived is not None and not _found_without(certificate, certificate.deceived):
        documents = _counted(certificate.deceived.documents, "more")
        sentences.append(f"{documents} can do it by deceiving the relation scorer.")
    return tuple(sentences)


def _found_without(certificate: Certificate, deceived: Enough) -> bool:
    """Whether as few added documents are enough without deceiving the relation scorer."""
    added = [b.enough for b in certificate.bounds if b.change is Change.ADDED and b.remembering]
    added = added or [b.enough for b in certificate.bounds if b.change is Change.ADDED]
    return any(e is not None and e.documents <= deceived.documents for e in added)


def _sentence(bound: FlipBound) -> str:
    needed, enough = bound.needed or Needed(1), bound.enough
    documents = _counted(needed.documents, _HOW[bound.change])
    place = f" on {needed.sites} sites" if needed.sites > 1 else ""
    verb = "is" if needed.documents == 1 else "are"
    return f"{documents}{place} {verb} needed to change this; {_found(enough)}."


def _found(enough: Enough | None) -> str:
    if enough is None:
        return "no attack was found"
    verb = "is" if enough.documents == 1 else "are"
    site = "" if enough.sites == 1 else f" on {enough.sites} sites"
    return f"{enough.documents}{site} {verb} enough"


def _counted(count: int, how: str) -> str:
    return f"{count} {how} document" + ("" if count == 1 else "s")
