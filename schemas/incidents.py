"""Complaints about answers, and what follows: an incident with its status, and its event."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Final
from unicodedata import normalize

from pydantic import Field

from radarstream.schemas.attribution import Finding
from radarstream.schemas.snapshot import Document, Query, Strict
from radarstream.schemas.times import Moment, milliseconds


class Status(StrEnum):
    """The status of an incident: what was done about the texts.

    Only QUARANTINED and APPROVED remove texts, and both can be taken back.
    """

    UNVERIFIED = "unverified"  # nobody can tell that the answer was ever given
    NOTHING_FLAGGED = "nothing_flagged"  # no text is to blame, as a person said, or none stands out
    RESTORED = "restored"  # models find the answer to be the same without the flagged texts
    HUMAN_REVIEW = "human_review"  # flagged and other texts are not clearly apart
    PROPOSED = "proposed"  # clear, but too few trusted people complained
    QUARANTINED = "quarantined"  # clear, and enough trusted people complained
    APPROVED = "approved"  # a person approved the removal
    DISMISSED = "dismissed"  # a person said that the answer is not wrong


class Decision(StrEnum):
    """What a person says about an incident."""

    APPROVED = "approved"  # it is wrong, and the flagged texts taught it
    DISMISSED = "dismissed"  # it is not wrong
    MODEL_ERRED = "model_erred"  # it is wrong, and no text is to blame


MODEL_ERRED: Final = "a person said that the model erred"  # the detail of such an event
REMOVING: Final = frozenset({Status.QUARANTINED, Status.APPROVED})
CLEARING: Final = frozenset({Status.DISMISSED, Status.RESTORED})  # no text is to blame


class ComplaintState(StrEnum):
    """What became of one complaint."""

    OPEN = "open"  # waits for the attribution
    JUDGED = "judged"  # the status of the incident says the rest
    UNUSABLE = "unusable"  # waited too long, or the documents are gone, or the models kept failing


@dataclass(frozen=True, slots=True)
class SenderRecord:
    """How many incidents of a sender a person confirmed or dismissed, and the others.

    The others are `waiting`, for their attribution or for a person, or ended `unconfirmed`. Not
    counted: incidents whose texts are in quarantine without a person's decision, and complaints
    that came after a person's decision.
    """

    confirmed: int = 0
    dismissed: int = 0
    unconfirmed: int = 0
    waiting: int = 0

    def trusted(self, trusted_after: int) -> bool:
        """Whether the record leaves at most 1 in 2^(trusted_after + 1) that it is bad.

        Bad: that whoever made it is wrong more often than right. With c confirmed complaints and u
        others, a flat prior leaves P(X > c) of that, X the heads of c + u + 1 throws of a coin:
        the Beta(c + 1, u + 1) distribution up to 1/2. `trusted_after` confirmed ones alone do. What
        waits does not count.
        """
        others = self.dismissed + self.unconfirmed
        if self.confirmed < trusted_after or others > self.confirmed:
            return False
        throws = self.confirmed + others + 1
        rare = ways = 1  # ways to throw that many heads, 0 at first
        for heads in range(others):
            ways = ways * (throws - heads) // (heads + 1)
            rare += ways
        return rare << (trusted_after + 1) <= 1 << throws

    def without_waiting(self) -> "SenderRecord":
        """As it is when texts may be removed: what still waits counts against the sender."""
        others = self.unconfirmed + self.waiting
        return SenderRecord(self.confirmed, self.dismissed, others)


@dataclass(frozen=True, slots=True)
class Complaint(Strict):
    """Somebody says that an answer is wrong.

    It names its query by `query_id` or, where that is not known, by `question`. `answer` is the
    wrong answer as it was seen, None for the latest one that is stored. `step` says which snapshot
    it was given on, None for the latest.
    """

    sender: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            description="letters of one script that show as they are; single spaces between words",
        ),
    ]
    sent_at: Moment
    query_id: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    question: Annotated[str | None, Field(min_length=1, max_length=2_000)] = None
    answer: Annotated[str | None, Field(min_length=1, max_length=4_000)] = None
    step: Annotated[int | None, Field(ge=0)] = None
    comment: Annotated[str, Field(max_length=2_000)] = ""

    @property
    def query(self) -> str:
        """Id of the query, derived from the question where no id is given."""
        return self.query_id or Query.from_text(self.question or "").id

    @property
    def id(self) -> str:
        """Deterministic identity: 32 hexadecimal digits over query, step, answer and sender.

        A complaint that leaves step or answer open is told from a later one by its time: a lie that
        comes back can be complained about anew.
        """
        identity: tuple[object, ...] = (self.query, self.step, self.answer, self.sender)
        if self.answer is None or self.step is None:
            identity = (*identity, milliseconds(self.sent_at))
        return sha256(repr(identity).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class AttributedText(Strict):
    """One text that may have taught a wrong answer, as the attributor saw it.

    `rank` is its place by similarity, `search_rank` its place in the search results; None for a
    text of the corpus that the search did not return. Scores as in `TextScore`. `text_key` names
    its words, as `text_key` below; "" in events that were written before there was one.
    """

    id: str
    rank: Annotated[int, Field(ge=1)]
    flagged: bool
    url: str
    title: str
    excerpt: str
    search_rank: Annotated[int | None, Field(ge=1)] = None
    score: float | None = None
    similarity: float | None = None
    semantic: float | None = None
    generation: float | None = None
    text_key: Annotated[str, Field(exclude_if=lambda key: not key)] = ""


@dataclass(frozen=True, slots=True)
class TaughtEvent(Strict):
    """Which texts taught a wrong answer, and what was done about them.

    Identity: `query_id/step/taught/incident/revision`. Each change of the incident (a second
    complaint, an approval) is a new event with the next `revision`. `senders` counts the people who
    complained. `answer_without` is the answer without the flagged texts, `persists` whether it
    means the same as the wrong answer; both are None where nothing was flagged. `reproduced` says
    whether the answer is on record or was given again; None where that was not asked. `left_in`
    are the ids of flagged texts that a person left out of an approval, or let back in later.
    """

    query_id: str
    question: str
    step: Annotated[int, Field(ge=0)]
    snapshot_id: str
    observed_at: Moment
    incident: str
    revision: Annotated[int, Field(ge=0)]
    answer: str
    defended_answer: str
    undefended_answer: str | None
    senders: Annotated[int, Field(ge=0)]
    status: Status
    attributor: str
    reproduced: bool | None
    finding: Finding | None = None
    texts: tuple[AttributedText, ...] = ()
    gap: float | None = None
    generation_gap: float | None = None
    answer_without: str | None = None
    persists: bool | None = None
    detail: str = ""
    tags: tuple[str, ...] = ()
    left_in: Annotated[tuple[str, ...], Field(exclude_if=lambda ids: not ids)] = ()

    @property
    def model_erred(self) -> bool:
        """Whether a person said that the answer is wrong and that no text is to blame."""
        return self.status is Status.NOTHING_FLAGGED and self.detail == MODEL_ERRED

    @property
    def cleared(self) -> bool:
        """Whether a decision, or the answer without them, shows that no text is to blame."""
        return self.model_erred or self.status in CLEARING

    @property
    def flagged(self) -> tuple[AttributedText, ...]:
        """The texts that taught the answer, in rank order."""
        return tuple(text for text in self.texts if text.flagged)


def incident_id(query_id: str, step: int, answer: str) -> str:
    """Return 16 hexadecimal digits that name one answer of one query at one step."""
    identity = repr((query_id, step, answer))
    return sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def text_key(document: Document) -> str:
    """Name the words of a document, title and text as a model reads them, whoever publishes them.

    The title belongs to them: whoever copies an honest page under a title that lies must not have
    the honest page withheld. A document without words of its own is named by all it has.

    >>> one, other = Document(1, "It  is ROME.", url="a"), Document(2, "it is Rome.", url="b")
    >>> text_key(one) == text_key(other)
    True
    """
    words = " ".join(normalize("NFKC", document.passage).casefold().split())
    if not words:
        return document.content_id
    return f"t-{sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
