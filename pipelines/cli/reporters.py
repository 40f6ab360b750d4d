"""Who reported an answer: how many are trusted, and who."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import report_standing
from radarstream.connectors.state_table.incidents.report_standing import Standing
from radarstream.defenses.attribution.protection import Rules
from radarstream.pipelines.cli.terminal import printable
from radarstream.pipelines.job.incidents.reporting import trust_to_decide
from radarstream.schemas.reports import PIPELINE

NAMED = 20  # reporters shown by name
NAMED_IN_JSON = 1_000


@dataclass(frozen=True, slots=True)
class Reporters:
    """Everybody who reported an answer of a query, at whichever step, trusted ones first."""

    trusted: Mapping[str, Standing]
    others: Mapping[str, Standing]
    pipeline: bool

    @property
    def parts(self) -> list[str]:
        """How many of each kind there are, in words; nothing of a kind that is missing."""
        counts = ((len(self.trusted), "trusted"), (len(self.others), "other"))
        told = [f"{count} {kind}" for count, kind in counts if count]
        return told + ([PIPELINE] if self.pipeline else [])

    @property
    def counts(self) -> dict[str, Any]:
        """How many there are as JSON values."""
        counts = {"trusted": len(self.trusted), "other": len(self.others)}
        return counts | {"pipeline": self.pipeline}

    @property
    def names(self) -> list[dict[str, Any]]:
        """The first of them as JSON values, with what people's words say of them."""
        everybody = [
            (name, kind is self.trusted, standing)
            for kind in (self.trusted, self.others)
            for name, standing in sorted(kind.items())
        ]
        return [
            {
                "name": name,
                "trusted": trusted,
                "confirmed": standing.confirmed,
                "dismissed": standing.dismissed,
                "unconfirmed": standing.unconfirmed + standing.waiting,
            }
            for name, trusted, standing in everybody[:NAMED_IN_JSON]
        ]

    def line(self) -> str:
        """The first of them by name, and how many more there are."""
        names = [*sorted(self.trusted), *sorted(self.others)]
        told = [printable(name, 40) for name in names[:NAMED]]
        told += [f"and {len(names) - NAMED} more"] if names[NAMED:] else []
        return f"{', '.join(self.parts)}: {', '.join(told)}" if told else ", ".join(self.parts)


def reporters_of(engine: Engine, query_id: str, answer: str, rules: Rules) -> Reporters:
    """Look up who reported this answer of the query."""
    with engine.connect() as connection:
        found = report_standing.reporters_of(connection, query_id, answer)
    pipeline = found.pop(PIPELINE, None) is not None
    trusted = {n: s for n, s in found.items() if trust_to_decide(s).trusted(rules)}
    others = {name: s for name, s in found.items() if name not in trusted}
    return Reporters(trusted, others, pipeline)
