"""How sure an answer is: what the accuracy-coverage curve orders answers by."""

from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.verdict import Reason, Verdict


def status_of(event: AnswerEvent) -> str | None:
    """The status of an answer event; None for an event without one."""
    status = getattr(event, "status", None)
    return None if status is None else str(status)


def confidence_of(event: AnswerEvent) -> float | None:
    """The confidence of an answer in [0, 1]: of its support, or else `kept_share`; None where it is
    abstained or nothing tells.
    """
    if event.verdict.abstained:
        return None
    support = getattr(event, "support", None)
    return kept_share(event.verdict) if support is None else float(support.confidence)


def kept_share(verdict: Verdict) -> float | None:
    """The share of the documents that were kept, each with the evidence for keeping it.

    A kept document counts S / (S + F) where the defence has these, else 1. None where the defence
    does not select, and without documents.
    """
    judged = [d for d in verdict.documents if d.reason is not Reason.NOT_JUDGED]
    if verdict.abstained or not judged:
        return None
    shares = []
    for document in judged:
        keep, reject = document.keep_evidence or 0.0, document.reject_evidence or 0.0
        share = keep / (keep + reject) if keep + reject > 0.0 else 1.0
        shares.append(share if document.kept else 0.0)
    return sum(shares) / len(shares)
