"""Protection against false complaints: which are accepted, and what may follow from them.

These rules are our own; the paper of RAGOrigin leaves the decision to a person. They are pure
functions.
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
    """Limits of what complaints can do; `SenderRecord` says when a sender is trusted."""

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
    """Say why a complaint is not accepted; "" if it is.

    `in_a_day` is the number of complaints that the sender sent in the last 24 hours, `waiting` that
    of all open complaints of people, `own_waiting` that of the sender. A sender with more dismissed
    than confirmed complaints may send a quarter of the usual number.
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

    `event` has the attribution; its status is ignored. `senders` are all who complained about this
    answer, `decision` is a person's, if any.

    The first rule that applies counts. Nothing is removed if a person said that the answer is right
    or that the model erred, if the answer is on no record, or if no text is flagged. If a person
    approved, the texts are removed, even if a model finds the same answer without them. Without a
    decision, texts are removed only if the answer changes, the two groups are apart, most pages and
    sites stay, an answer is left, and enough trusted people agree.
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
    """Say why a person must decide about flagged texts; "" if they stand out clearly."""
    if not event.reproduced:
        return "the answer is on no record and was not given again"
    nothing_left = event.answer_without is None
    return (
        indistinct(event.gap, event.generation_gap, event.texts, rules)
        or too_many(event.texts)
        or ("without the flagged texts there is no answer" if nothing_left else "")
    )


def too_many(texts: Sequence[AttributedText]) -> str:
    """Say why a person must decide about so many flagged texts; "" if they are few.

    They are too many if they are half of the snapshot's pages, or are on half of its sites, if it
    has several.
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
    """Say why flagged texts do not stand out among the `texts` in scope; "" if they do."""
    if gap is None or generation_gap is None:
        return "the attributor does not measure how far flagged and other texts are apart"
    if gap < rules.min_gap:
        return f"flagged and other texts are only {gap:.2f} apart"
    if generation_gap <= 0.0:
        return "the flagged texts do not make the answer likelier than the others"
    if rules.max_chance < 1.0:
        chance = chance_of(texts)
        if chance > rules.max_chance:
            return f"scores at random are as clear in {chance:.0%} of cases"
        if chance_of([text for text in texts if text.flagged]) <= rules.max_chance:
            # One outlier can make two-means flag honest pages with those that lie.
            return "the flagged texts are two groups themselves"
    return ""


def chance_of(texts: Sequence[TextScore | AttributedText]) -> float:
    """Return the probability that unrelated scores separate the texts as clearly, in [0, 1]."""
    names = ("similarity", "semantic", "generation")
    rows = (tuple(getattr(text, name) for text in texts) for name in names)
    return _chance(tuple(row for row in rows if None not in row))


@lru_cache(maxsize=64)  # computed again for every complaint about the same answer
def _chance(rows: tuple[tuple[float | None, ...], ...]) -> float:
    return chance_of_separation(np.array(rows, dtype=np.float64)) if rows else 1.0
