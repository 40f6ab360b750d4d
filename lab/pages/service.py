"""The page of a study of a service: what attackers get, and what readers lose."""

from typing import Final

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
    found = []
    for stream in results.attacked:
        kind, cells = stream.partition(":")[0], results.on(stream)
        got = ("leaked", "verbatim leaks") if kind == "leakage" else ("fooled", "attack success")
        probes = [cell for cell in results.probes if cell.condition == stream]
        told = lead_of(probes, stream, ("exact_members",) * 2, ("hidden words told", READERS))
        lead = told if told.bad else lead_of(cells, stream, (got[0],) * 2, (got[1], READERS))
        found += [Lead(stream, lead.words, lead.bad, readers.good)] if lead.bad else []
    return found or [Lead(BENIGN, ("", READERS), {}, readers.good)]


SERVICE: Final = Display(
    "service", "A service attacked, over", FILES, frame_of, scored, tables_of, leads,
    long=("modules", "cost", "streams"),
)  # fmt: skip
