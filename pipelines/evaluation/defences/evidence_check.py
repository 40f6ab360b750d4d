"""Evidence that is stored must be the evidence that contenders are given now."""

from radarstream.pipelines.evaluation.defences.records import EvidenceRow
from radarstream.pipelines.evaluation.study.record import WAYS_OUT, shown
from radarstream.schemas.errors import ConfigurationError


def check_evidence(stored: EvidenceRow, found: EvidenceRow) -> None:
    """Raise ConfigurationError, naming the first difference, unless both show contenders the same.

    Answers count where both have them: a call that failed, or was not needed, has none.
    """
    seen, now = shown_to_all(stored), shown_to_all(found)
    both = stored.answers and found.answers
    for what in dict.fromkeys((*seen, *now)):
        answer = what.startswith("answer")
        if (both or not answer) and seen.get(what) != now.get(what):
            raise ConfigurationError(
                f"the evidence there is not the evidence now: {stored.condition}, "
                f"{stored.query_id}, step {stored.step}: {what}: {shown(seen.get(what))!r} there, "
                f"{shown(now.get(what))!r} here. {WAYS_OUT}"
            )


def shown_to_all(row: EvidenceRow) -> dict[str, object]:
    """What contenders are given, by what it is called in an error message."""
    found: dict[str, object] = {"question": row.question}
    for number, d in enumerate(row.documents, start=1):
        parts = {"rank": d.rank, "title": d.title, "address": d.url, "text": d.text}
        found |= {f"document {number}, its {part}": value for part, value in parts.items()}
    return found | {
        f"answer of document {number}": answer for number, answer in enumerate(row.answers, start=1)
    }
