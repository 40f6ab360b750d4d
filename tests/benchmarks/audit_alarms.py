"""What the audit finds in answers that are right, for `docs/orchestration.md`.

    python -m tests.benchmarks.audit_alarms DATASET...

audits the right answers of the development half's questions against the documents of each question,
with several numbers of words in a row, and looks for personal data in all their documents.
"""

import sys
from collections import Counter
from pathlib import Path

from radarstream.defenses.orchestration.audit import MOST_CHARACTERS, OutputAudit
from radarstream.defenses.orchestration.personal_data import personal_data
from radarstream.pipelines.cli.terminal import say
from radarstream.pipelines.evaluation.datasets import load_dataset
from radarstream.pipelines.evaluation.halves import half_of
from radarstream.schemas.snapshot import SearchSnapshot

LEAST_TOKENS = (12, 16, 20, 30)


def alarms(snapshot: SearchSnapshot, answer: str, audit: OutputAudit) -> set[str]:
    """What is wrong with one right answer."""
    passages = [document.passage for document in snapshot.documents]
    return {one.kind for one in audit.findings(answer, passages, snapshot.query.text)}


def main(*paths: str) -> None:
    for path in paths:
        histories = load_dataset(Path(path)).histories
        snapshots = [s for h in histories for s in h[:1] if half_of(s.query.text) == "development"]
        answers = [(s, a) for s in snapshots for a in (s.labels.answers if s.labels else ())]
        say(f"{Path(path).name}: {len(answers)} right answers of {len(snapshots)} questions")
        for least in LEAST_TOKENS:
            audit = OutputAudit(least_tokens=least)
            found = Counter(kind for s, a in answers for kind in alarms(s, a, audit))
            say(f"  {least} words in a row: {dict(sorted(found.items()))}")
        pages = [d.passage[:MOST_CHARACTERS] for s in snapshots for d in s.documents]
        kinds = Counter(found.kind.value for page in pages for found in personal_data(page))
        say(f"  personal data in {len(pages)} documents: {dict(sorted(kinds.items()))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
