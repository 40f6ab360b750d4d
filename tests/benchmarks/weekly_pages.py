"""Real pages for `docs/results.md`: RealTimeQA's weeks, and what is read of them without a model.

    python -m tests.benchmarks.weekly_pages WEEKS development questions.jsonl

writes the questions of one half that have at least `PAGES` pages, the first so many of each, of
which one or more name the right answer. Of all pages of the half that name it, prints in how many
what is read still names it, how many characters that are, and the CPU time of choosing.
"""

import sys
from dataclasses import replace
from pathlib import Path
from time import process_time

from radarstream.pipelines.build import build_embedder
from radarstream.pipelines.cli.terminal import say
from radarstream.pipelines.evaluation.datasets import load_dataset
from radarstream.pipelines.evaluation.halves import half_of
from radarstream.pipelines.evaluation.scoring import is_correct
from radarstream.pipelines.settings import ReadingSettings, SentenceEmbedder
from radarstream.pipelines.signals.reading import as_read
from radarstream.schemas.codec import encode
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot

PAGES = 5
SHOWN = 1_200  # characters of a page that a prompt has room for
# Windows, their characters, and how many candidates the embedder compares.
GRID = [
    (0, 220, 0),
    (1, 440, 0),
    (2, 220, 0),
    (3, 150, 0),
    (3, 220, 0),
    (2, 300, 0),
    (3, 300, 0),
    (5, 220, 0),
    (2, 220, 12),
    (3, 220, 12),
]


def names_answer(document: Document, snapshot: SearchSnapshot) -> bool:
    return is_correct(document.passage, snapshot.labels or Labels())


def first_pages(snapshots: list[SearchSnapshot]) -> list[SearchSnapshot]:
    """The questions to ask, with the pages to read."""
    cut = [replace(s, documents=s.documents[:PAGES]) for s in snapshots]
    return [
        s for s in cut if len(s.documents) == PAGES and any(names_answer(d, s) for d in s.documents)
    ]


def main(weeks: str, half: str, out: str) -> None:
    histories = load_dataset(Path(weeks)).histories
    snapshots = [h[0] for h in histories if half_of(h[0].query.text) == half]
    asked = first_pages(snapshots)
    Path(out).write_bytes(b"".join(encode(snapshot) + b"\n" for snapshot in asked))
    naming = [
        replace(s, documents=tuple(d for d in s.documents if names_answer(d, s))) for s in snapshots
    ]
    pages = sum(len(s.documents) for s in snapshots)
    held = sum(len(s.documents) for s in naming)
    say(f"{len(asked)} questions; {held} of the half's {pages} pages name the answer")
    say("| windows | candidates | still named | characters read | ms of CPU a page |")
    say("|:--|--:|--:|--:|--:|")
    embedder = build_embedder(SentenceEmbedder())
    for windows, characters, candidates in GRID:
        reading = ReadingSettings(
            windows=windows, window_characters=characters, candidates=candidates
        )
        started = process_time()
        read = as_read(naming, reading, embedder)
        milliseconds = 1_000 * (process_time() - started) / held
        shown = [
            (replace(d, text=d.passage[:SHOWN], title=""), s) for s in read for d in s.documents
        ]
        named = sum(names_answer(d, s) for d, s in shown)
        mean = sum(len(d.text) for d, _ in shown) / held
        what = f"{windows} × {characters}"
        say(f"| {what} | {candidates} | {named} | {mean:.0f} | {milliseconds:.1f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
