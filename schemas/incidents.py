"""Complaints about answers, and the incidents and events that follow."""

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

    UNVERIFIED = "unverified"  # no record shows that the answer was given
    NOTHING_FLAGGED = "nothing_flagged"  # a person blamed no text, or no text stands out
    RESTORED = "restored"  # the answer is the same without the flagged texts
    HUMAN_REVIEW = "human_review"  # flagged and other texts are not clearly apart
    PROPOSED = "proposed"  # clear, but too few trusted people complained
    QUARANTINED = "quarantined"  # clear, and enough trusted people complained
    APPROVED = "approved"  # a person approved the removal
    DISMISSED = "dismissed"  # a person said that the answer is not wrong


class Decision(StrEnum):
    """A person's decision about an incident."""

    APPROVED = "approved"  # it is wrong, and the flagged texts taught it
    DISMISSED = "dismissed"  # it is not wrong
    MODEL_ERRED = "model_erred"  # it is wrong, and no text is to blame


MODEL_ERRED: Final = "a person said that the model erred"  # the detail of such an event
REMOVING: Final = frozenset({Status.QUARANTINED, Status.APPROVED})
CLEARING: Final = frozenset({Status.DISMISSED, Status.RESTORED})  # no text is to blame


class ComplaintState(StrEnum):
    """The state of one complaint."""

    OPEN = "open"  # waits for the attribution
    JUDGED = "judged"  # see the status of its incident
    UNUSABLE = "unusable"  # waited too long, or the documents are gone, or the models kept failing


@dataclass(frozen=True, slots=True)
class SenderRecord:
    """How many incidents of a sender a person confirmed or dismissed.

    Others are `waiting` for their attribution or for a person, or ended `unconfirmed`. Not counted:
    incidents whose texts are in quarantine without a person's decision, and complaints that came
    after a person's decision.
    """

    confirmed: int = 0
    dismissed: int = 0
    unconfirmed: int = 0
    waiting: int = 0

    def trusted(self, trusted_after: int) -> bool:
        """Whether the sender is bad with a probability of at most 1 in 2^(trusted_after + 1).

        A bad sender is wrong more often than right. After c confirmed and u dismissed or
        unconfirmed complaints and a flat prior, that is the Beta(c + 1, u + 1) distribution up to
        1/2, or P(X > c) for X heads in c + u + 1 throws of a coin. `trusted_after` confirmed
        complaints without others are enough. `waiting` ones do not count.
        """
        others = self.dismissed + self.unconfirmed
        if self.confirmed < trusted_after or others > self.confirmed:
            return False
        throws = self.confirmed + others + 1
        rare = ways = 1  # throws with at most, and with exactly, 0 heads
        for heads in range(others):
            ways = ways * (throws - heads) // (heads + 1)
            rare += ways
        return rare << (trusted_after + 1) <= 1 << throws

    def without_waiting(self) -> "SenderRecord":
        """Count waiting complaints as unconfirmed, for decisions that remove texts."""
        others = self.unconfirmed + self.waiting
        return SenderRecord(self.confirmed, self.dismissed, others)


@dataclass(frozen=True, slots=True)
class Complaint(Strict):
    """A message that an answer is wrong.

    It names its query by `query_id` or else by `question`. `answer` is the wrong answer, None for
    the latest stored one; `step` is the snapshot that it answers, None for the latest.
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
        """Id of the query, derived from the question if no id is given."""
        return self.query_id or Query.from_text(self.question or "").id

    @property
    def id(self) -> str:
        """Deterministic identity: 32 hexadecimal digits over query, step, answer and sender.

        Without a step or an answer, the time is hashed too, so that a later complaint about a lie
        that comes back is another one.
        """
        identity: tuple[object, ...] = (self.query, self.step, self.answer, self.sender)
        if self.answer is None or self.step is None:
            identity = (*identity, milliseconds(self.sent_at))
        return sha256(repr(identity).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class AttributedText(Strict):
    """One text that may have taught a wrong answer.

    `rank` is its place by similarity, `search_rank` its place in the search results, None for a
    text of the corpus that the search did not return. Scores as in `TextScore`. `text_key` is its
    `text_key`, "" in older events.
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
    complaint, an approval) is a new event with the next `revision`. `senders` is the number of
    people who complained. `answer_without` is the answer without the flagged texts, `persists`
    whether it means the same as the wrong answer; both are None if no text is flagged.
    `reproduced` is whether the answer is on record or was given again, None if not checked.
    `left_in` has the ids of flagged texts that a person did not approve, or restored later.
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
        """Whether a decision, or the answer without the texts, shows that no text is to blame."""
        return self.model_erred or self.status in CLEARING

    @property
    def flagged(self) -> tuple[AttributedText, ...]:
        """The texts that taught the answer, in rank order."""
        return tuple(text for text in self.texts if text.flagged)


def incident_id(query_id: str, step: int, answer: str) -> str:
    """Return the id of an answer of a query at a step: 16 hexadecimal digits."""
    identity = repr((query_id, step, answer))
    return sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def text_key(document: Document) -> str:
    """Return a key of the words of a document, title and text, whatever its address.

    It includes the title, so that the copy of an honest page under a lying title has another key
    than the honest page. A document without words has its `content_id`.

    >>> one, other = Document(1, "It  is ROME.", url="a"), Document(2, "it is Rome.", url="b")
    >>> text_key(one) == text_key(other)
    True
    """
    words = " ".join(normalize("NFKC", document.passage).casefold().split())
    if not words:
        return document.content_id
    return f"t-{sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
