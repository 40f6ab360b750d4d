"""A look at some documents of a snapshot, which may confirm the standing answer and nothing else.

Most snapshots say what the one before said. Of a snapshot, first only a few documents are read. If
they and what is known of them leave no doubt that the standing answer still holds, the snapshot is
calm: the answer is given again and the memory of the defence stays as it was, to the bit. Any
doubt, and the other documents are read too and the defence decides as if there had been no first
look. So what an attacker can reach by it is that a change is noticed later, never a new answer.
"""

from collections.abc import Sequence
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
from radarstream.schemas.evidence import Evidence, FloatArray
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
MOST_CONFLICT: Final = 0.34
LEAST_HONESTY: Final = 0.7  # of a source; one confirmed lie is less
SETTLED: Final = ModelError("the first look settled it")  # in place of evidence that nobody needs
Confirmation = tuple[Verdict, Support]


@dataclass(frozen=True)
class FirstLook:
    """Which documents are read first, and what they must say for a snapshot to be calm.

    `documents` are read first, the best ranked and others drawn among the ranks. `full_share` of
    all snapshots are read as a whole whatever they say. Both draws depend on `seed`, the query and
    the time of the search, and on no text: nobody can write a document that is drawn, and who does
    not know the seed cannot tell the ranks. The same snapshot is read alike again.
    """

    documents: int = 3
    full_share: float = 0.1
    seed: str = ""

    def part_of(self, snapshot: SearchSnapshot) -> SearchSnapshot:
        """The snapshot with the documents that are read first; itself, if those are all."""
        found = snapshot.documents
        named = f"{snapshot.query.id}\0{snapshot.observed_at_ms}".encode("utf-8", "surrogatepass")
        digest = blake2b(named, key=blake2b(self.seed.encode()).digest()).digest()
        draw = Random(int.from_bytes(digest))  # noqa: S311 - the key is the secret
        if (
            snapshot.query.long_form
            or len(found) <= self.documents
            or draw.random() < self.full_share
        ):
            return snapshot
        places = [0, *sorted(draw.sample(range(1, len(found)), self.documents - 1))]
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
    min_support: int,
    honesty: FloatArray | None,
) -> Asking[Confirmation | None]:
    """What the documents read first confirm: the standing answer with its support, or None.

    `evidence` is that of the first look, `left` are the other documents, `honesty` how
    honest the sources of those read were, (documents,). Confirmed is where every informative answer
    means the same as the standing one, independent sites enough say so, and none has a bad record.
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
    if not all(means_the_same(answer, text, known) for text in said):
        return None
    verdict = verdict_on(evidence, left, answer)
    support = support_of(evidence, verdict, known)
    least = max(CORROBORATING_SITES, min_support)
    if support.sites_for < least or lacks_support(support, least) is not None:
        return None
    return (verdict, support) if status_of(support) is AnswerStatus.CORROBORATED else None


def verdict_on(evidence: Evidence, left: Sequence[Document], answer: str) -> Verdict:
    """The verdict of a calm snapshot: what was read speaks for the answer or says nothing."""
    read = [
        DocumentVerdict(document.rank, kept=False, reason=Reason.UNINFORMATIVE)
        if said.abstained
        else DocumentVerdict(document.rank, True, Reason.SUPPORTED, said.text)
        for document, said in zip(evidence.documents, evidence.answers or (), strict=True)
    ]
    others = [DocumentVerdict(d.rank, kept=False, reason=Reason.NOT_READ) for d in left]
    documents = tuple(sorted((*read, *others), key=lambda judged: judged.rank))
    kept = MemoryVerdict(MemoryDecision.RETAINED, previous_answer=answer)
    return Verdict(answer, documents, memory=kept)
