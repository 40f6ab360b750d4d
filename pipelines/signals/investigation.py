"""One wrong answer investigated: was it given, who taught it, what is answered without them?

A generator like a defence: it yields requests and holds no model, so that `drive` can take several
through in lockstep and tests can answer from a script.
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

PASSAGE_CHARACTERS = 4_000  # of a text, for its similarity to the question


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What is asked: a wrong answer, the snapshot it was given on, and what was answered then.

    `recorded` are the answers that the pipeline itself gave on that snapshot. `further` are texts
    of a corpus, nearest first, that may have part in it though the search did not return them.
    `read` has documents with the texts that models read in place of their own, by content id.
    With `insist` texts are looked for although the answer cannot be reproduced.
    """

    snapshot: SearchSnapshot
    answer: str
    recorded: tuple[str, ...] = ()
    further: tuple[RankedText, ...] = ()
    read: Mapping[str, Document] = field(default_factory=dict)
    insist: bool = False

    def shown(self, document: Document) -> Document:
        """A document as models read it, at its own rank."""
        return replace(self.read.get(document.content_id, document), rank=document.rank)


@dataclass(frozen=True, slots=True)
class Investigation:
    """What was found out.

    `attribution` is None when nothing was looked for, because the answer is on no record and was
    not given again. `answer_without` is what the snapshot's other documents lead to, None where
    nothing was flagged or nothing is answered; `persists` whether it means the same.
    """

    reproduced: bool
    attribution: Attribution | None = None
    texts: tuple[RankedText, ...] = ()
    answer_without: str | None = None
    persists: bool | None = None


Investigating = Generator[Request, Any, Investigation]


def investigating(inquiry: Inquiry, attributor: Attributor) -> Investigating:
    """Investigate one wrong answer.

    It counts as given when it is one of the recorded answers, entails one of them or follows from
    it, or is given again from all documents together (undefended); it persists when the answer
    without the flagged texts means the same. Meaning is up to the relation scorer.
    """
    reproduced = yield from was_given(inquiry)
    if not reproduced and not inquiry.insist:
        return Investigation(reproduced=False)
    texts = yield from by_similarity(inquiry)
    asked = Case(
        query=inquiry.snapshot.query,
        answer=inquiry.answer,
        texts=tuple(replace(text, document=inquiry.shown(text.document)) for text in texts),
        k=max(1, len(inquiry.snapshot.documents)),
    )
    attribution = yield from attributor.attribute(asked)
    found = Investigation(reproduced, attribution, texts)
    if attribution.finding is not Finding.TEXTS_FLAGGED or not attribution.flagged:
        return found
    flagged = {text_key(t.document) for t in texts if t.id in set(attribution.flagged)}
    documents = inquiry.snapshot.documents
    left = [inquiry.shown(d) for d in documents if text_key(d) not in flagged]
    answer = yield from undefended_answer(inquiry.snapshot.query.text, left)
    if answer.abstained:
        return replace(found, persists=False)
    persists = yield from agrees(inquiry, (answer.text,), both_ways=True)
    return replace(found, answer_without=answer.text, persists=persists)


def was_given(inquiry: Inquiry) -> Generator[Request, Any, bool]:
    """Whether the pipeline gave this answer, by its record or by asking again."""
    if inquiry.answer.casefold() in {answer.casefold() for answer in inquiry.recorded}:
        return True
    on_record = yield from agrees(inquiry, inquiry.recorded)
    if on_record:
        return True
    snapshot = inquiry.snapshot
    shown = [inquiry.shown(document) for document in snapshot.documents]
    again = yield from undefended_answer(snapshot.query.text, shown)
    if again.abstained:
        return False
    given = yield from agrees(inquiry, (again.text,))
    return given


def agrees(
    inquiry: Inquiry, others: Sequence[str], *, both_ways: bool = False
) -> Generator[Request, Any, bool]:
    """Whether the wrong answer and any of the others entail each other, `both_ways` or either."""
    said = tuple(other for other in others if other)
    if not said:
        return False
    wrong = (inquiry.answer,) * len(said)
    question = inquiry.snapshot.query.text
    rows: FloatArray = yield Relate(question, wrong + said, said + wrong)
    ways = entails(rows)
    return bool((ways.all(axis=0) if both_ways else ways.any(axis=0)).any())


def by_similarity(inquiry: Inquiry) -> Generator[Request, Any, tuple[RankedText, ...]]:
    """The snapshot's texts, nearest to the question first, then what the corpus has besides.

    The same text twice is one text. Ranks are places in this list.
    """
    distinct = {d.content_id: d for d in reversed(inquiry.snapshot.documents)}
    documents = sorted(distinct.values(), key=lambda document: document.rank)
    if not documents:
        return ()
    passages = tuple(inquiry.shown(d).passage[:PASSAGE_CHARACTERS] for d in documents)
    rows: FloatArray = yield Embed((inquiry.snapshot.query.text, *passages))
    near = [float(similarity) for similarity in rows[1:] @ rows[0]]
    own = [RankedText(d.content_id, d, s) for d, s in zip(documents, near, strict=True)]
    own.sort(key=lambda text: -(text.similarity or 0.0))
    others = [text for text in inquiry.further if text.id not in distinct]
    return tuple(
        replace(text, document=replace(text.document, rank=place))
        for place, text in enumerate((*own, *others), start=1)
    )
