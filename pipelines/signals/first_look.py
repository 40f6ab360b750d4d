"""A look at some documents of a snapshot, which may confirm the standing answer and nothing else.

Most snapshots say what the one before said. Of a snapshot, first only a few documents are read, and
then a few more. If those that repeat the standing answer lead those that say something else by
enough, the snapshot is calm: the answer is given again and the memory of the defence stays as it
was, to the bit. Otherwise the rest is read too, and the defence decides as if there had been no
look before. So what an attacker can reach is that a change is noticed later, never a new answer.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from hashlib import blake2b
from random import Random
from typing import Any, Final

from radarstream.defenses.protocol import Relate
from radarstream.defenses.responses import Asking, ask
from radarstream.pipelines.signals.support import (
    Known,
    means_the_same,
    pairs_in,
    said_by,
    support_of,
)
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, FloatArray
from radarstream.schemas.memory import Belief, LastAnswer, Memory
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.support import (
    CORROBORATING_SITES,
    AnswerStatus,
    Support,
    lacks_support,
    status_of,
)
from radarstream.schemas.verdict import (
    DocumentVerdict,
    MemoryDecision,
    MemoryVerdict,
    Reason,
    Verdict,
)

# At the last look at all documents, this much contradiction is still calm (mean over documents).
MOST_CONFLICT: Final = 0.5
LEAST_HONESTY: Final = 0.7  # of a source; one confirmed lie is less
GROWTH: Final = (1.0, 1.5, 2.0, 3.0, 4.0)  # documents read after each look, in those of the first
SETTLED: Final = ModelError("the first look settled it")  # in place of evidence that nobody needs
Confirmation = tuple[Verdict, Support]


@dataclass(frozen=True)
class FirstLook:
    """Which documents are read first, and what they must say for a snapshot to be calm.

    `documents` are read first, drawn among the ranks, and more look by look, as `GROWTH` says,
    while they decide nothing. By `lead` documents more must repeat the standing answer than say
    something else. Were p < 1/2 of a snapshot's informative documents to repeat it, that would
    happen with a probability of at most (p / (1 - p)) ** lead. `full_share` of all snapshots are
    read as a whole whatever they say.

    Both draws depend on `seed`, the query and the time of the search, and on no text: nobody can
    write a document that is drawn, and who does not know the seed cannot tell the ranks. The same
    snapshot is read alike again.
    """

    documents: int = 2
    lead: int = 2
    full_share: float = 0.05
    seed: str = ""

    def part_of(self, snapshot: SearchSnapshot, looks: int = 1) -> SearchSnapshot:
        """The snapshot with what is read at so many looks; itself, if those are all documents."""
        found, read = snapshot.documents, int(GROWTH[looks - 1] * self.documents)
        named = f"{snapshot.query.id}\0{snapshot.observed_at_ms}".encode("utf-8", "surrogatepass")
        digest = blake2b(named, key=blake2b(self.seed.encode()).digest()).digest()
        draw = Random(int.from_bytes(digest))  # noqa: S311 - the key is the secret
        if snapshot.query.long_form or len(found) <= read or draw.random() < self.full_share:
            return snapshot
        places = sorted(draw.sample(range(len(found)), len(found))[:read])
        return replace(snapshot, documents=tuple(found[place] for place in places))


def unread(snapshot: SearchSnapshot, evidence: Evidence) -> tuple[Document, ...]:
    """The documents of a snapshot that are not in the evidence."""
    read = {document.rank for document in evidence.documents}
    return tuple(document for document in snapshot.documents if document.rank not in read)


def only(evidence: Evidence, snapshot: SearchSnapshot) -> Evidence:
    """The evidence of the documents that this part of a snapshot has, without relations."""
    ranks = {document.rank for document in snapshot.documents}
    places = [i for i, document in enumerate(evidence.documents) if document.rank in ranks]
    return Evidence(
        evidence.query,
        evidence.observed_at,
        tuple(evidence.documents[i] for i in places),
        tuple(evidence.answers[i] for i in places) if evidence.answers is not None else None,
    )


def is_settled(memory: Memory[Any]) -> bool:
    """Whether there is an answer to confirm, which was not much contradicted when all was read."""
    if memory.standing is None:
        return False
    state = memory.state.inner if isinstance(memory.state, LastAnswer) else memory.state
    return not isinstance(state, Belief) or state.conflict <= MOST_CONFLICT


def confirming(
    evidence: Evidence,
    left: Sequence[Document],
    memory: Memory[Any],
    lead: int,
    min_support: int,
    honesty: FloatArray | None,
) -> Asking[Confirmation | None]:
    """What the documents read first confirm: the standing answer with its support, or None.

    `evidence` is that of the first look, `left` are the other documents, `honesty` how
    honest the sources of those read were, (documents,). Confirmed is where more informative answers
    mean the same as the standing one than do not, by `lead`; where independent sites enough say so,
    and none that was read has a bad record.
    """
    if memory.standing is None or not is_settled(memory):
        return None
    if honesty is not None and (honesty < LEAST_HONESTY).any():
        return None
    answer = memory.standing.answer
    said = [text for text in dict.fromkeys(said_by(evidence)) if text != answer]
    known: Known = {}
    if said:
        pairs = [pair for text in said for pair in ((answer, text), (text, answer))]
        premises, hypotheses = zip(*pairs, strict=True)
        request = Relate(evidence.query.text, premises, hypotheses)
        known = pairs_in(request, (yield from ask(request)))
    repeating = {answer, *(text for text in said if means_the_same(answer, text, known))}
    verdict = verdict_on(evidence, left, answer, repeating)
    informative = [one for one in verdict.documents if one.atomic_answer is not None]
    if 2 * len(verdict.kept_ranks) - len(informative) < lead:
        return None
    support = support_of(evidence, verdict, known)
    least = max(CORROBORATING_SITES, min_support)
    if support.sites_for < least or lacks_support(support, least) is not None:
        return None
    return (verdict, support) if status_of(support) is AnswerStatus.CORROBORATED else None


def verdict_on(
    evidence: Evidence, left: Sequence[Document], answer: str, repeating: Set[str]
) -> Verdict:
    """The verdict of a calm snapshot, in which the answers of `repeating` mean the answer."""
    read = [
        judged(document, said, repeats=said.text in repeating)
        for document, said in zip(evidence.documents, evidence.answers or (), strict=True)
    ]
    others = [DocumentVerdict(d.rank, kept=False, reason=Reason.NOT_READ) for d in left]
    documents = tuple(sorted((*read, *others), key=lambda one: one.rank))
    kept = MemoryVerdict(MemoryDecision.RETAINED, previous_answer=answer)
    return Verdict(answer, documents, memory=kept)


def judged(document: Document, said: AtomicAnswer, *, repeats: bool) -> DocumentVerdict:
    """What becomes of one document that was read."""
    if said.abstained:
        return DocumentVerdict(document.rank, kept=False, reason=Reason.UNINFORMATIVE)
    reason = Reason.SUPPORTED if repeats else Reason.CONTRADICTED
    return DocumentVerdict(document.rank, repeats, reason, said.text)
