"""What the pages of answers show: the watchlist, and the timeline of one query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from radarstream.connectors.state_table.serving.kept_events import KeptEvent, Latest
from radarstream.pipelines.pages.times import minute
from radarstream.pipelines.pages.verdict_words import (
    ABSTENTIONS,
    STATUSES,
    standing_in_words,
    support_in_words,
)
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.times import milliseconds

if TYPE_CHECKING:  # they load the table library of studies
    from radarstream.pipelines.pages.replay.steps import QueryView

PER_PAGE: Final = 50
STEPS: Final = 60  # of a timeline
TONES: Final = {
    AnswerStatus.CORROBORATED: "good",
    AnswerStatus.SINGLE_SOURCE: "other",
    AnswerStatus.DISPUTED: "bad",
    AnswerStatus.REMEMBERED: "",
    AnswerStatus.ABSTAINED: "",
}


@dataclass(frozen=True, slots=True)
class WatchLine:
    """A query with its current answer: what it rests on in words, with a tone; times in UTC."""

    query_id: str
    question: str
    answer: str
    abstains: bool
    status: str
    tone: str
    support: str
    changed: str
    answered: str
    step: int


@dataclass(frozen=True, slots=True)
class Paging:
    """One page of a list; `number` counts from 1."""

    number: int
    total: int
    size: int = PER_PAGE

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-self.total // self.size))

    @property
    def offset(self) -> int:
        """Entries before this page."""
        return (self.number - 1) * self.size

    @property
    def first(self) -> int:
        """Number of the first entry, 0 where there is none."""
        return min(self.total, self.offset + 1)

    @property
    def last(self) -> int:
        """Number of the last entry."""
        return min(self.total, self.offset + self.size)


def page_number(text: str) -> int:
    """The number of a page as an address has it; 1 for nonsense.

    >>> page_number("3"), page_number("-1"), page_number("x")
    (3, 1, 1)
    """
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1


def watch_line(latest: Latest) -> WatchLine:
    """A row of the watchlist from the latest event of a query."""
    event = latest.event
    status = event.status or (AnswerStatus.ABSTAINED if event.abstention else None)
    behind = support_in_words(event.support) if event.support else ""
    if event.standing is not None:
        behind = standing_in_words(event.standing)
    return WatchLine(
        query_id=event.query_id,
        question=event.question,
        answer=answer_in_words(event),
        abstains=event.abstention is not None,
        status=STATUSES[status] if status else "",
        tone=TONES[status] if status else "",
        support=behind,
        changed="" if latest.changed_at is None else minute(milliseconds(latest.changed_at)),
        answered=minute(milliseconds(event.observed_at)),
        step=event.step,
    )


def answer_in_words(event: AnswerEvent) -> str:
    """The answer, or why there is none."""
    if event.abstention is not None:
        return f"No answer: {ABSTENTIONS[event.abstention]}"
    return event.answer


def watch_sentence(paging: Paging, search: str, unanswered: int) -> str:
    """What the watchlist shows, in one sentence."""
    count = f"{paging.total:,} {'query has' if paging.total == 1 else 'queries have'} an answer"
    if search:
        return f"{count} or question with these characters."
    waiting = f"; {unanswered:,} on the watchlist wait for their first one" if unanswered else ""
    return f"{count}{waiting}."


def timeline(
    kept: Sequence[KeptEvent], snapshots: Mapping[str, SearchSnapshot]
) -> "QueryView | None":
    """The steps of a query, oldest first; None without any. `snapshots` are by their ids."""
    from radarstream.pipelines.pages.replay.steps import QueryView, build_step

    events = sorted((one.event for one in kept), key=lambda event: event.step)
    steps = tuple(
        build_step(event, snapshots.get(event.snapshot_id), None, f"step-{event.step}", (), {})
        for event in events
    )
    return QueryView(1, steps, detailed=True) if steps else None


def timeline_sentence(event: AnswerEvent, changes: int, steps: int) -> str:
    """What a timeline says, in one sentence."""
    said = answer_in_words(event)
    ended = "" if said.endswith((".", "!", "?")) else "."
    kept = "the snapshot" if steps == 1 else f"the {steps} snapshots"
    often = {0: "did not change", 1: "changed once"}.get(changes, f"changed {changes} times")
    return (
        f"{said}{ended} The answer {often} over {kept} that {'is' if steps == 1 else 'are'} kept."
    )
