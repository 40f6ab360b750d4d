"""Checks the support and the status of an answer event, as far as the event tells."""

from dataclasses import dataclass

from radarstream.defenses.recheck.checks import Check, Outcome
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import AGREEMENT
from radarstream.schemas.sites import owner_of
from radarstream.schemas.support import AnswerStatus, Support, lacks_support, status_of
from radarstream.schemas.verdict import Abstention

TOLERANCE = 1e-6
UNSUPPORTED = (Abstention.THIN_EVIDENCE, Abstention.OUTWEIGHED)
MOST_SUPPORT = 100  # the largest min_support that settings take
UNCONFIRMED = (AnswerStatus.ABSTAINED, AnswerStatus.REMEMBERED)


@dataclass(frozen=True, slots=True)
class Counted:
    """The owners of the documents that count: of all, of those that surely say the answer, and of
    those that may. A document without an address has an owner of its own.
    """

    all: tuple[str, ...]
    surely: tuple[str, ...]
    maybe: tuple[str, ...]


def support_check(event: AnswerEvent) -> Check:
    """Whether the figures fit each other, and what the documents say and where they are."""
    if event.status is None:
        return Check("support", Outcome.ABSENT, "events of version 1 have none")
    support, due = event.support, event.abstention is None or event.abstention in UNSUPPORTED
    if support is None:
        if due:
            return Check("support", Outcome.WRONG, "an answer has none")
        return Check("support", Outcome.RIGHT, "no answer")
    if not due:
        return Check("support", Outcome.WRONG, f"{event.abstention} has none")
    for detail in (*_torn(support), *_unlike_the_documents(event, support)):
        return Check("support", Outcome.WRONG, detail)
    return Check(
        "support", Outcome.RIGHT, f"{support.sites_for} for, {support.sites_against} against"
    )


def _torn(support: Support) -> list[str]:
    """What no figures of one answer can be."""
    found = []
    for side, documents, sites, weight in (
        ("for", support.documents_for, support.sites_for, support.weight_for),
        ("against", support.documents_against, support.sites_against, support.weight_against),
    ):
        if not min(1, documents) <= sites <= documents:
            found.append(f"{documents} documents {side} it cannot be of {sites} sites")
        if not AGREEMENT * sites - TOLERANCE <= weight <= documents + TOLERANCE:
            found.append(f"{documents} documents {side} it cannot have weight {weight:.6f}")
    least = AGREEMENT if support.documents_against else 0.0
    if not least - TOLERANCE <= support.rival <= support.weight_against + TOLERANCE:
        found.append(f"a rival cannot have weight {support.rival:.6f}")
    for name, recorded, computed in (
        ("margin", support.margin, support.balance.margin),
        ("confidence", support.confidence, support.balance.confidence),
    ):
        if abs(recorded - computed) > TOLERANCE:
            found.append(f"{name} {recorded:.6f} is recorded, {computed:.6f} computed")
    return found


def _unlike_the_documents(event: AnswerEvent, support: Support) -> list[str]:
    """What the recorded atomic answers and addresses rule out."""
    found = []
    counted, previous = counted_documents(event), event.verdict.memory.previous_answer
    surely, documents = len(counted.surely), support.documents_for
    if not surely <= documents <= len(counted.maybe):
        found.append(f"{documents} documents for it, where {surely} to {len(counted.maybe)} can be")
    if support.documents_against > len(counted.all) - max(surely, documents):
        found.append(f"{support.documents_against} documents against it are too many")
    most = min(len(set(counted.maybe)), len(set(counted.surely)) + documents - surely)
    if support.sites_for > most:
        found.append(f"{support.sites_for} sites for it, where at most {most} can be")
    if support.sites_against > len(set(counted.all)):
        found.append(f"{support.sites_against} sites against it, of {len(set(counted.all))}")
    said = {document.atomic_answer for document in event.seen}
    if support.rival_answer is not None and support.rival_answer not in said:
        found.append("no document gives the rival answer")
    known = 0.0 if previous is None else 1.0 if previous == event.answer else support.memory
    if abs(support.memory - known) > TOLERANCE:
        found.append(f"the memory adds {support.memory:.6f}, where it can add only {known:.0f}")
    return found


def counted_documents(event: AnswerEvent) -> Counted:
    """The documents with an atomic answer; all that were seen if no defence asked for those.

    How one agrees with the answer is known if it is in the very words of the answer.
    """
    seen = event.seen
    documents = [d for d in seen if d.atomic_answer is not None] or list(seen)
    url_of = {source.rank: source.url for source in event.sources}
    agreement = {d.rank: (0.0, 1.0) for d in documents}
    agreement |= {
        d.rank: (1.0, 1.0) for d in documents if event.answer and d.atomic_answer == event.answer
    }
    owners = {d.rank: owner_of(url_of.get(d.rank, "")) or f"/{d.rank}" for d in documents}
    return Counted(
        tuple(owners.values()),
        tuple(owners[rank] for rank, (low, _) in agreement.items() if low >= AGREEMENT),
        tuple(owners[rank] for rank, (_, high) in agreement.items() if high >= AGREEMENT),
    )


def status_check(event: AnswerEvent) -> Check:
    """Whether the status follows from the support, and an answer is given only if it has enough."""
    if event.status is None:
        return Check("status", Outcome.ABSENT, "events of version 1 have none")
    support = None if event.abstention is not None else event.support
    found = status_of(support)
    if event.status is not found:
        return Check("status", Outcome.WRONG, f"{event.status} is recorded, it is {found}")
    if event.standing is not None and found not in UNCONFIRMED:
        return Check("status", Outcome.WRONG, "another answer stands beside a confirmed one")
    if event.support is not None and event.abstention is not None:
        possible = (lacks_support(event.support, least) for least in (1, MOST_SUPPORT))
        if event.abstention not in possible:
            detail = f"no min_support leads to {event.abstention}"
            return Check("status", Outcome.WRONG, detail)
    return Check("status", Outcome.RIGHT, str(found))
