"""What keeps a false report from doing harm: may it be taken in, and what may follow from it?

Ours, beyond the paper of RAGOrigin, which leaves this to a person in the loop. Pure rules over
what is known; nothing here reads a clock, a table or a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field

from radarstream.defenses.kernels.separation import chance_of_separation
from radarstream.schemas.attribution import Finding, TextScore
from radarstream.schemas.reports import (
    MODEL_ERRED,
    PIPELINE,
    Decision,
    OriginEvent,
    OriginText,
    Word,
)
from radarstream.schemas.section import Section
from radarstream.schemas.sites import site_of


class Rules(Section):
    """How much it takes before a report has consequences.

    `trusted_after` confirmed reports make a person trusted, if there are no others (see `Trust`).
    `max_chance` is the most probable that scores which know nothing of each other part the texts as
    clearly. Half of the room for `open_reports` is for reporters of whom nothing waits.
    """

    min_reporters: Annotated[
        int,
        Field(ge=2, description="trusted reporters who together have texts quarantined"),
    ] = 2
    trusted_after: Annotated[
        int,
        Field(
            ge=1,
            description="confirmed reports after which a person is trusted; with others that are"
            " not confirmed, more (see docs/reports.md)",
        ),
    ] = 3
    min_gap: Annotated[
        float,
        Field(ge=0.0, description="least distance between flagged and other texts, in z-scores"),
    ] = 1.0
    max_chance: Annotated[
        float,
        Field(
            gt=0.0,
            le=1.0,
            description="a person looks where unrelated scores would part the texts as clearly"
            " with a greater probability; 1 = do not ask",
        ),
    ] = 0.05
    reports_per_day: Annotated[
        int, Field(ge=1, description="reports of one reporter; more are refused")
    ] = 20
    open_reports: Annotated[
        int,
        Field(
            ge=1,
            description="reports that may wait; strangers' are refused above, and from half of it"
            " on those of strangers of whom some wait",
        ),
    ] = 1_000


@dataclass(frozen=True, slots=True)
class Trust:
    """A reporter's record: how many of their reports a person confirmed, dismissed, or neither.

    `unconfirmed` counts what nobody judged, whatever became of it.
    """

    confirmed: int = 0
    dismissed: int = 0
    unconfirmed: int = 0

    def trusted(self, rules: Rules) -> bool:
        """Whether the record leaves at most 1 in 2^(trusted_after + 1) that it is bad.

        Bad: that whoever made it is wrong more often than right. With c confirmed reports and u
        others, a flat prior leaves P(X > c) of that, X the heads of c + u + 1 throws of a coin:
        the Beta(c + 1, u + 1) distribution up to 1/2. `trusted_after` confirmed ones alone do.
        """
        others = self.dismissed + self.unconfirmed
        if self.confirmed < rules.trusted_after or others > self.confirmed:
            return False
        throws = self.confirmed + others + 1
        rare = ways = 1  # ways to throw that many heads, 0 at first
        for heads in range(others):
            ways = ways * (throws - heads) // (heads + 1)
            rare += ways
        return rare << (rules.trusted_after + 1) <= 1 << throws


def refusal(
    rules: Rules, trust: Trust, *, in_a_day: int, waiting: int, own_waiting: int = 0
) -> str:
    """Why a report is not taken in, in words; "" if it is.

    `in_a_day` counts what the reporter sent in the last 24 hours, `waiting` all open reports of
    people, `own_waiting` those of the reporter. Who was dismissed more often than confirmed gets a
    quarter of the rate.
    """
    distrusted = trust.dismissed > trust.confirmed
    rate = max(1, rules.reports_per_day // 4) if distrusted else rules.reports_per_day
    if in_a_day >= rate:
        return f"{rate} reports of this reporter in a day are enough"
    room = rules.open_reports // 2 if own_waiting else rules.open_reports
    if waiting >= room and not trust.trusted(rules):
        some = ", some of this reporter" if own_waiting else ""
        return f"{waiting} reports wait already{some}"
    return ""


def decide(
    event: OriginEvent,
    reporters: Mapping[str, Trust],
    word: Word | None,
    rules: Rules,
) -> tuple[Decision, str]:
    """What is done about the flagged texts, and why in words.

    `event` holds what was found out; its decision is not looked at. `reporters` are all who
    reported this answer of the query, `word` is a person's, if any.

    In order: a person's no, and that the model erred, end it. What cannot be shown to have been
    answered, or has no flagged text, removes nothing, whoever asks. A person's yes comes next:
    whether an answer stays the same without the flagged texts is a model's opinion, and a person
    may know better. Without that word the answer must change, the two groups must be apart, most
    pages and sites must stay, something must be left to answer from, and enough trusted people must
    agree. The pipeline is no person, however sure.
    """
    if word == Word.DISMISSED:
        return Decision.DISMISSED, "a person dismissed it"
    if word == Word.MODEL_ERRED:
        return Decision.NOTHING_FLAGGED, MODEL_ERRED
    if event.finding is None:
        return Decision.UNVERIFIED, "the answer is on no record and was not given again"
    if event.finding is not Finding.TEXTS_FLAGGED or not event.flagged:
        return Decision.NOTHING_FLAGGED, event.finding.value.replace("_", " ")
    if word == Word.APPROVED:
        return Decision.APPROVED, "a person approved it"
    if event.persists:
        return Decision.RESTORED, "the answer stays the same without the flagged texts"
    if reason := doubt(event, rules):
        return Decision.HUMAN_REVIEW, reason
    trusted = sum(t.trusted(rules) for name, t in reporters.items() if name != PIPELINE)
    told = f"{trusted} of {rules.min_reporters} trusted reporters"
    enough = trusted >= rules.min_reporters
    return (Decision.QUARANTINED if enough else Decision.PROPOSED), told


def doubt(event: OriginEvent, rules: Rules) -> str:
    """Why a person must look at flagged texts; "" when they stand out clearly."""
    if not event.reproduced:
        return "the answer is on no record and was not given again"
    if reason := indistinct(event.gap, event.generation_gap, event.texts, rules):
        return reason
    if reason := too_many(event.texts):
        return reason
    if event.answer_without is None:
        return "without the flagged texts there is no answer"
    return ""


def too_many(texts: Sequence[OriginText]) -> str:
    """Why flagged texts are too many to go without a person; "" when they are not.

    They are half of the snapshot's pages or more, or on half of its sites or more, where it has
    several: most of what was found may be wrong, but then a person should say so.
    """
    pages = [text for text in texts if text.search_rank is not None]
    flagged = [text for text in pages if text.flagged]
    if flagged and 2 * len(flagged) >= len(pages):
        return f"{len(flagged)} of {len(pages)} pages are flagged"
    sites = {site_of(text.url) for text in pages} - {""}
    blamed = {site_of(text.url) for text in flagged} - {""}
    if len(sites) > 1 and 2 * len(blamed) >= len(sites):
        return f"pages of {len(blamed)} of {len(sites)} sites are flagged"
    return ""


def indistinct(
    gap: float | None,
    generation_gap: float | None,
    texts: Sequence[TextScore | OriginText],
    rules: Rules,
) -> str:
    """Why flagged texts do not stand out of the `texts` in scope; "" when they do."""
    if gap is None or generation_gap is None:
        return "the attributor does not tell how far flagged and other texts are apart"
    if gap < rules.min_gap:
        return f"flagged and other texts are only {gap:.2f} apart"
    if generation_gap <= 0.0:
        return "the flagged texts do not make the answer likelier than the others"
    if rules.max_chance < 1.0:
        chance = chance_of(texts)
        if chance > rules.max_chance:
            return f"scores at random are as clear in {chance:.0%} of cases"
        if chance_of([text for text in texts if text.flagged]) <= rules.max_chance:
            # One page far from all others has honest ones flagged with those that lie.
            return "the flagged texts are two groups themselves"
    return ""


def chance_of(texts: Sequence[TextScore | OriginText]) -> float:
    """How often unrelated scores part so many texts as clearly as these; 1 for fewer than two."""
    rows = [
        [text.similarity for text in texts],
        [text.semantic for text in texts],
        [text.generation for text in texts],
    ]
    return _chance(tuple(tuple(row) for row in rows if None not in row))


@lru_cache(maxsize=64)  # a finding is settled anew with every report of the same answer
def _chance(rows: tuple[tuple[float | None, ...], ...]) -> float:
    return chance_of_separation(np.array(rows, dtype=np.float64)) if rows else 1.0
