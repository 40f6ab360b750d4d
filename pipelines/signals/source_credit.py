"""Credits the sources of answers that a later snapshot bore out."""

from collections.abc import Callable
from functools import partial

from sqlalchemy import Connection

from radarstream.connectors.state_table.sources.ledger import agree
from radarstream.pipelines.settings import SourceSettings
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.sites import Granularity, key_of
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.verdict import MemoryDecision

SOURCES = 2  # that must agree: a source alone with its word does not bear itself out


def credit_sources(
    settings: SourceSettings,
) -> Callable[[AnswerEvent, SearchSnapshot], Callable[[Connection], None]]:
    """Count, in the fold's transaction, what speaks for the sources of this snapshot."""

    def credit(event: AnswerEvent, snapshot: SearchSnapshot) -> Callable[[Connection], None]:
        domains = borne_out(event, snapshot, settings.granularity)
        return partial(agree, domains=domains, at_ms=snapshot.observed_at_ms, rules=settings)

    return credit


def borne_out(
    event: AnswerEvent, snapshot: SearchSnapshot, granularity: Granularity
) -> tuple[str, ...]:
    """The sources of the kept documents, if they confirm the previous answer; else none.

    They do when the memory of it was retained, the new answer means the same, and at least
    `SOURCES` different sources were kept.
    """
    retained = event.verdict.memory.decision is MemoryDecision.RETAINED
    if not retained or event.changed is not False:
        return ()
    kept = set(event.verdict.kept_ranks)
    keys = {key_of(d, granularity) for d in snapshot.documents if d.rank in kept} - {""}
    return tuple(sorted(keys)) if len(keys) >= SOURCES else ()
