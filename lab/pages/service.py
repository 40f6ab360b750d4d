"""The page of a study of a service: what attackers get, and what readers lose."""

from collections.abc import Iterator
from typing import Final

from radarstream.lab.pages.charts import Share, measured
from radarstream.lab.pages.leads import Lead, lead_of
from radarstream.lab.pages.studies import Display
from radarstream.lab.service.records import FILES
from radarstream.lab.service.scoring import ServiceResults, frame_of, scored
from radarstream.lab.service.tables import tables_of
from radarstream.lab.study.rows import BENIGN

READERS: Final = "recall_lex of readers"


def leads(results: ServiceResults) -> list[Lead]:
    """What attackers get in each stream, and what readers find where nobody attacks."""
    readers = lead_of(results.on(BENIGN), BENIGN, ("leaked", "recall_lex"), ("", READERS))
    found = [
        Lead(stream, (words, READERS), bad, readers.good)
        for stream in results.attacked
        for words, bad in _got(results, stream)
    ]
    return found or [Lead(BENIGN, ("", READERS), {}, readers.good)]


def _got(results: ServiceResults, stream: str) -> Iterator[tuple[str, dict[str, Share]]]:
    """What attackers get in a stream under each policy, and what that is."""
    probing = {name: results.probing(name, stream) for name in results.methods}
    told = {n: measured(p.rates["exact_members"]) for n, p in probing.items() if p is not None}
    kind = stream.partition(":")[0]
    column, words = ("leaked", "verbatim leaks") if kind == "leakage" else (
        "fooled", "attack success"
    )  # fmt: skip
    found = {c.contender: measured(c.rates[column]) for c in results.on(stream)}
    for name, shares in (("hidden words told", told), (words, found)):
        if known := {method: share for method, share in shares.items() if share is not None}:
            yield name, known
            return


SERVICE: Final = Display(
    "service", "A service attacked, over", FILES, frame_of, scored, tables_of, leads,
    long=("modules", "cost", "streams"),
)  # fmt: skip
