"""Investigates a wrong answer: was it given, which texts taught it, what is answered without them?

Like a defence, an investigation is a generator that yields requests, so that `drive` runs several
in lockstep.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from radarstream.defenses.protocol import Attributor, Embed, Relate, Request
from radarstream.defenses.vanilla import undefended_answer
from radarstream.pipelines.signals.evidence import entails
from radarstream.schemas.attribution import Attribution, Case, Finding, RankedText
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.incidents import text_key
from radarstream.schemas.snapshot import Document, SearchSnapshot

PASSAGE_CHARACTERS = 4_000  # of a text that are embedded


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A wrong answer and its snapshot.

    `recorded` are the answers of the pipeline for that snapshot. `further` are texts of the corpus,
    nearest first, that the search did not return. `read` has the documents as models read them, by
    content id. With `insist`, texts are examined even if the answer cannot be reproduced.
    """

    snapshot: SearchSnapshot
    answer: str
    recorded: tuple[str, ...] = ()
    further: tuple[RankedText, ...] = ()
    read: Mapping[str, Document] = field(default_factory=dict)
    insist: bool = False

    def as_read(self, document: Document) -> Document:
        """Return a document as models read it, with its rank."""
        return replace(self.read.get(document.content_id, document), rank=document.rank)


@dataclass(frozen=True, slots=True)
class Investigation:
    """The result of an investigation.

    `attribution` is None if the answer could not be reproduced. `answer_without` is the answer
    without the flagged texts, None if there is none or no text is flagged; `persists` is whether it
    means the same.
    """

    reproduced: bool
    attribution: Attribution | None = None
    texts: tuple[RankedText, ...] = ()
    answer_without: str | None = None
    persists: bool | None = None


Investigating = Generator[Request, Any, Investigation]


def investigating(inquiry: Inquiry, attributor: Attributor) -> Investigating:
    """Investigate one wrong answer.

    The answer was given if it is a recorded answer, entails one or is entailed by one, or if the
    undefended answer from all documents agrees with it. It persists if the answer without the
    flagged texts means the same, by the relation scorer.
    """
    reproduced = yield from was_given(inquiry)
    if not reproduced and not inquiry.insist:
        return Investigation(reproduced=False)
    texts = yield from by_similarity(inquiry)
    asked = Case(
        query=inquiry.snapshot.query,
        answer=inquiry.answer,
        texts=tuple(replace(text, document=inquiry.as_read(text.document)) for text in texts),
        k=max(1, len(inquiry.snapshot.documents)),
    )
    attribution = yield from attributor.attribute(asked)
    found = Investigation(reproduced, attribution, texts)
    if attribution.finding is not Finding.TEXTS_FLAGGED or not attribution.flagged:
        return found
    flagged = {text_key(t.document) for t in texts if t.id in set(attribution.flagged)}
    documents = inquiry.snapshot.documents
    left = [inquiry.as_read(d) for d in documents if text_key(d) not in flagged]
    answer = yield from undefended_answer(inquiry.snapshot.query.text, left)
    if answer.abstained:
        return replace(found, persists=False)
    persists = yield from agrees(inquiry, (answer.text,), both_ways=True)
    return replace(found, answer_without=answer.text, persists=persists)


def was_given(inquiry: Inquiry) -> Generator[Request, Any, bool]:
    """Whether the pipeline gave this answer, by its records or by asking again."""
    if inquiry.answer.casefold() in {answer.casefold() for answer in inquiry.recorded}:
        return True
    on_record = yield from agrees(inquiry, inquiry.recorded)
    if on_record:
        return True
    snapshot = inquiry.snapshot
    documents = [inquiry.as_read(document) for document in snapshot.documents]
    again = yield from undefended_answer(snapshot.query.text, documents)
    if again.abstained:
        return False
    given = yield from agrees(inquiry, (again.text,))
    return given


def agrees(
    inquiry: Inquiry, others: Sequence[str], *, both_ways: bool = False
) -> Generator[Request, Any, bool]:
    """Whether the wrong answer entails or is entailed by any of the others; `both_ways`: and."""
    said = tuple(other for other in others if other)
    if not said:
        return False
    wrong = (inquiry.answer,) * len(said)
    question = inquiry.snapshot.query.text
    rows: FloatArray = yield Relate(question, wrong + said, said + wrong)
    ways = entails(rows)
    return bool((ways.all(axis=0) if both_ways else ways.any(axis=0)).any())


def by_similarity(inquiry: Inquiry) -> Generator[Request, Any, tuple[RankedText, ...]]:
    """Return the snapshot's distinct texts, nearest to the question first, then further ones of the
    corpus. Ranks are places in this list.
    """
    distinct = {d.content_id: d for d in reversed(inquiry.snapshot.documents)}
    documents = sorted(distinct.values(), key=lambda document: document.rank)
    if not documents:
        return ()
    passages = tuple(inquiry.as_read(d).passage[:PASSAGE_CHARACTERS] for d in documents)
    rows: FloatArray = yield Embed((inquiry.snapshot.query.text, *passages))
    near = [float(similarity) for similarity in rows[1:] @ rows[0]]
    own = [RankedText(d.content_id, d, s) for d, s in zip(documents, near, strict=True)]
    own.sort(key=lambda text: -(text.similarity or 0.0))
    others = [text for text in inquiry.further if text.id not in distinct]
    return tuple(
        replace(text, document=replace(text.document, rank=place))
        for place, text in enumerate((*own, *others), start=1)
    )
