"""What keeps a false report from doing harm: may it be taken in, and what may follow from it?

Ours, beyond the paper of RAGOrigin, which leaves this to a person in the loop. Pure rules over
what is known; nothing here reads a clock, a table or a model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from schemas.attribution import Finding
from schemas.reports import PIPELINE, Decision, OriginEvent
from schemas.snapshot import STRICT


@dataclass(frozen=True, slots=True)
class Rules:
    """How much it takes.

    Reports of `min_reporters` different trusted people have texts quarantined. `min_gap` is the
    least distance of the mean scores of flagged and other texts, in standard deviations.
    `reports_per_day` of one reporter are taken in, and strangers' only while fewer than
    `open_reports` wait.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    min_reporters: Annotated[int, Field(ge=2)] = 2
    min_gap: Annotated[float, Field(ge=0.0)] = 1.0
    reports_per_day: Annotated[int, Field(ge=1)] = 20
    open_reports: Annotated[int, Field(ge=1)] = 1_000


@dataclass(frozen=True, slots=True)
class Trust:
    """A reporter's record: how many of their reports people confirmed, and dismissed."""

    confirmed: int = 0
    dismissed: int = 0

    @property
    def mean(self) -> float:
        """Mean of the Beta posterior over a flat prior: 1/2 for a stranger."""
        return (1 + self.confirmed) / (2 + self.confirmed + self.dismissed)

    @property
    def trusted(self) -> bool:
        """Whether people confirmed more than they dismissed; a stranger is not trusted."""
        return self.confirmed > self.dismissed


def refusal(rules: Rules, trust: Trust, *, in_a_day: int, waiting: int) -> str:
    """Why a report is not taken in, in words; "" if it is.

    `in_a_day` counts what the reporter sent in the last 24 hours, `waiting` all open reports of
    people. Who was dismissed more often than confirmed gets a quarter of the rate.
    """
    distrusted = trust.dismissed > trust.confirmed
    rate = max(1, rules.reports_per_day // 4) if distrusted else rules.reports_per_day
    if in_a_day >= rate:
        return f"{rate} reports of this reporter in a day are enough"
    if waiting >= rules.open_reports and not trust.trusted:
        return f"{waiting} reports wait already"
    return ""


def decide(
    event: OriginEvent,
    reporters: Mapping[str, Trust],
    word: Decision | None,
    rules: Rules,
) -> tuple[Decision, str]:
    """What is done about the flagged texts, and why in words.

    `event` holds what was found out; its decision is not looked at. `reporters` are all who
    reported this answer of the query, `word` is a person's: APPROVED, DISMISSED or None.

    In order: a person's no ends it. What cannot be shown to have been answered, without a flagged
    text, or answered the same without them, removes nothing, whoever asks. A person's yes comes
    next; then the two groups must be apart, something must be left to answer from, and enough
    trusted people must agree. The pipeline is no person, however sure.
    """
    if word is Decision.DISMISSED:
        return Decision.DISMISSED, "a person dismissed it"
    if event.finding is None:
        return Decision.UNVERIFIED, "the answer is on no record and was not given again"
    if event.finding is not Finding.TEXTS_FLAGGED or not event.flagged:
        return Decision.NOTHING_FLAGGED, event.finding.value.replace("_", " ")
    if event.persists:
        return Decision.RESTORED, "the answer stays the same without the flagged texts"
    if word is Decision.APPROVED:
        return Decision.APPROVED, "a person approved it"
    if reason := doubt(event, rules):
        return Decision.HUMAN_REVIEW, reason
    trusted = sum(t.trusted for name, t in reporters.items() if name != PIPELINE)
    told = f"{trusted} of {rules.min_reporters} trusted reporters"
    enough = trusted >= rules.min_reporters
    return (Decision.QUARANTINED if enough else Decision.PROPOSED), told


def doubt(event: OriginEvent, rules: Rules) -> str:
    """Why a person must look at flagged texts; "" when they stand out clearly."""
    if not event.reproduced:
        return "the answer is on no record and was not given again"
    if event.gap is None or event.generation_gap is None:
        return "the attributor does not tell how far flagged and other texts are apart"
    if event.gap < rules.min_gap:
        return f"flagged and other texts are only {event.gap:.2f} apart"
    if event.generation_gap <= 0.0:
        return "the flagged texts do not make the answer likelier than the others"
    if event.answer_without is None:
        return "without the flagged texts there is no answer"
    return ""
