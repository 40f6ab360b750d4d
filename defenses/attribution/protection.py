"""Protection against false complaints: may one be taken in, and what may follow from it?

Our own rules: the paper of RAGOrigin leaves this to a person. They are pure functions; nothing here
reads a clock, a table or a model.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from pydantic import Field

from radarstream.defenses.kernels.responsibility import chance_of_separation
from radarstream.schemas.attribution import Finding, TextScore
from radarstream.schemas.incidents import (
    MODEL_ERRED,
    AttributedText,
    Decision,
    SenderRecord,
    Status,
    TaughtEvent,
)
from radarstream.schemas.section import Section
from radarstream.schemas.sites import site_of


class Rules(Section):
    """Limits of what complaints can do.

    A person is trusted from `trusted_after` confirmed complaints on, if there are no others (see
    `SenderRecord`). `max_chance` is the greatest probability that unrelated scores separate the
    texts as clearly. Half of the room for `open_complaints` is for senders without an open
    complaint.
    """

    min_senders: int = Field(default=2, ge=2)
    """number of trusted senders whose agreement puts texts in quarantine"""
    trusted_after: int = Field(default=3, ge=1)
    """confirmed complaints after which a person is trusted; with others that are not confirmed,
    more (see docs/incidents.md)"""
    min_gap: float = Field(default=1.0, ge=0.0)
    """least distance between flagged and other texts, in z-scores"""
    max_chance: float = Field(default=0.05, gt=0.0, le=1.0)
    """an operator decides when chance alone would separate the texts as clearly with a higher
    probability than this; 1 = never ask"""
    complaints_per_day: int = Field(default=20, ge=1)
    """most complaints of one sender per day; further ones are refused"""
    open_complaints: int = Field(default=1_000, ge=1)
    """most complaints that may wait; further ones of untrusted senders are refused, from half of it
    on if the sender already has one waiting"""


def refusal(
    rules: Rules, record: SenderRecord, *, in_a_day: int, waiting: int, own_waiting: int = 0
) -> str:
    """Say why a complaint is not taken in; "" if it is.

    `in_a_day` counts what the sender sent in the last 24 hours, `waiting` all open complaints of
    people, `own_waiting` those of the sender. Who was dismissed more often than confirmed gets a
    quarter of the rate.
    """
    distrusted = record.dismissed > record.confirmed
    rate = max(1, rules.complaints_per_day // 4) if distrusted else rules.complaints_per_day
    if in_a_day >= rate:
        return f"{rate} complaints of this sender in a day are enough"
    room = rules.open_complaints // 2 if own_waiting else rules.open_complaints
    if waiting >= room and not record.trusted(rules.trusted_after):
        some = ", some of this sender" if own_waiting else ""
        return f"{waiting} complaints wait already{some}"
    return ""


def status_of(
    event: TaughtEvent, senders: Mapping[str, SenderRecord], decision: Decision | None, rules: Rules
) -> tuple[Status, str]:
    """Return the status of an incident, and the reason in words.

    `event` holds what was found out; its status is not read. `senders` are all who complained
    about this answer of the query, `decision` is a person's, if any.

    The first rule that applies counts. A person said that the answer is right or that the model
    erred: nothing is removed. Nobody can show that the answer was given, or no text is flagged:
    nothing is removed, whoever asks. A person approved: the texts are removed, for whether the
    answer stays the same without them is a model's opinion, and a person may know better. Without
    a decision, the answer must change, the two groups must be apart, most pages and sites must
    stay, something must be left to answer from, and enough trusted people must agree.
    """
    if decision == Decision.DISMISSED:
        return Status.DISMISSED, "a person dismissed it"
    if decision == Decision.MODEL_ERRED:
        return Status.NOTHING_FLAGGED, MODEL_ERRED
    if event.finding is None:
        return Status.UNVERIFIED, "the answer is on no record and was not given again"
    if event.finding is not Finding.TEXTS_FLAGGED or not event.flagged:
        return Status.NOTHING_FLAGGED, event.finding.value.replace("_", " ")
    if decision == Decision.APPROVED:
        return Status.APPROVED, "a person approved it"
    if event.persists:
        return Status.RESTORED, "the answer stays the same without the flagged texts"
    if reason := doubt(event, rules):
        return Status.HUMAN_REVIEW, reason
    trusted = sum(one.trusted(rules.trusted_after) for one in senders.values())
    detail = f"{trusted} of {rules.min_senders} trusted senders"
    enough = trusted >= rules.min_senders
    return (Status.QUARANTINED if enough else Status.PROPOSED), detail


def doubt(event: TaughtEvent, rules: Rules) -> str:
    """Say why a person must look at flagged texts; "" when they stand out clearly."""
    if not event.reproduced:
        return "the answer is on no record and was not given again"
    nothing_left = event.answer_without is None
    return (
        indistinct(event.gap, event.generation_gap, event.texts, rules)
        or too_many(event.texts)
        or ("without the flagged texts there is no answer" if nothing_left else "")
    )


def too_many(texts: Sequence[AttributedText]) -> str:
    """Say why flagged texts are too many to be removed without a person; "" when they are not.

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
    texts: Sequence[TextScore | AttributedText],
    rules: Rules,
) -> str:
    """Say why flagged texts do not stand out among the `texts` in scope; "" when they do."""
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


def chance_of(texts: Sequence[TextScore | AttributedText]) -> float:
    """Return how often unrelated scores separate the texts as clearly; 1 for fewer than two."""
    names = ("similarity", "semantic", "generation")
    rows = (tuple(getattr(text, name) for text in texts) for name in names)
    return _chance(tuple(row for row in rows if None not in row))


@lru_cache(maxsize=64)  # a finding is settled anew with every complaint of the same answer
def _chance(rows: tuple[tuple[float | None, ...], ...]) -> float:
    return chance_of_separation(np.array(rows, dtype=np.float64)) if rows else 1.0
