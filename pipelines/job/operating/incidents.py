"""Incidents as a person decides about them: who complained, and what an approval would remove."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import quarantine, senders, store
from radarstream.defenses.attribution.protection import Rules, status_of
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from radarstream.schemas.incidents import REMOVING, Decision, SenderRecord
from radarstream.schemas.shown import one_line

MEANING: Final = {
    Decision.APPROVED: "wrong",
    Decision.DISMISSED: "not wrong",
    Decision.MODEL_ERRED: "wrong, and that no source is to blame",
}
NAMED: Final = 20  # senders shown by name
NAMED_IN_JSON: Final = 1_000
NAME_CHARACTERS: Final = 40


@dataclass(frozen=True, slots=True)
class Senders:
    """Everybody who complained about an answer of a query, at any step; trusted ones first."""

    trusted: Mapping[str, SenderRecord]
    others: Mapping[str, SenderRecord]

    @property
    def words(self) -> str:
        """How many there are of each kind; kinds without any are left out."""
        counts = ((len(self.trusted), "trusted"), (len(self.others), "other"))
        return ", ".join(f"{count} {kind}" for count, kind in counts if count)

    @property
    def counts(self) -> dict[str, Any]:
        """How many there are of each kind, as JSON values."""
        return {"trusted": len(self.trusted), "other": len(self.others)}

    @property
    def names(self) -> list[dict[str, Any]]:
        """The first of them as JSON values, each with their record."""
        everybody = [
            {
                "name": name,
                "trusted": kind is self.trusted,
                "confirmed": record.confirmed,
                "dismissed": record.dismissed,
                "unconfirmed": record.unconfirmed + record.waiting,
            }
            for kind in (self.trusted, self.others)
            for name, record in sorted(kind.items())
        ]
        return everybody[:NAMED_IN_JSON]

    def line(self) -> str:
        """The first of them by name, and how many more there are."""
        names = [*sorted(self.trusted), *sorted(self.others)]
        shown = [one_line(name, NAME_CHARACTERS) for name in names[:NAMED]]
        shown += [f"and {len(names) - NAMED} more"] if names[NAMED:] else []
        return f"{self.words}: {', '.join(shown)}" if shown else self.words


def senders_of(engine: Engine, row: Mapping[str, Any], rules: Rules) -> Senders:
    """Look up who complained about the answer of an incident."""
    with engine.connect() as connection:
        found = senders.senders_of(connection, row["query_id"], row["answer"])
    trusted = {n: r for n, r in found.items() if r.without_waiting().trusted(rules.trusted_after)}
    others = {name: record for name, record in found.items() if name not in trusted}
    return Senders(trusted, others)


@dataclass(frozen=True, slots=True)
class Removal:
    """What an approval leaves out: rows of the quarantine, or in `why_none` why it is nothing."""

    texts: tuple[Mapping[str, Any], ...] = ()
    why_none: str = ""


def removal_of(engine: Engine, incident: str, rules: Rules) -> Removal:
    """The texts that an approval of this incident would leave out."""
    known = store.look(engine, incident)
    event = known.event if known else None
    if event is None or event.finding is None:
        return Removal(
            why_none="its texts are not known yet: those that are found later will be left out"
        )
    status, detail = status_of(event, {}, Decision.APPROVED, rules)
    if status not in REMOVING:
        return Removal(why_none=f"this leaves out no text: {detail}")
    with engine.connect() as connection:
        return Removal(tuple(quarantine.texts_of(connection, incident)))


def only_one(engine: Engine, named: str) -> dict[str, Any]:
    """The incident whose id begins so. Raises NotFoundError, ConfigurationError for several."""
    found = store.list_incidents(engine, limit=2, prefix=named) if named else []
    if not found:
        raise NotFoundError(f"no incident has an id that begins with {named!r}")
    if len(found) > 1:
        raise ConfigurationError(f"several incidents have an id that begins with {named!r}")
    return found[0]
