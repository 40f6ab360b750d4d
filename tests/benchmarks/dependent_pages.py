"""How many search results on different sites count as one voice, and why, for `docs/consuming.md`.

    python -m tests.benchmarks.dependent_pages [--show N] DATASET...

compares the documents of each question in pairs, and counts the questions whose right answer is
named by two sites or more, and by two voices or more. `--show` prints so many pairs of each rule,
drawn at random, to be judged by eye.
"""

import random
import sys
from collections import defaultdict
from functools import cache
from itertools import combinations
from pathlib import Path

from radarstream.defenses.kernels.independence import NEARLY_THE_SAME, spans_of, voices_of
from radarstream.pipelines.cli.terminal import say
from radarstream.pipelines.evaluation.datasets import load_dataset
from radarstream.pipelines.signals.support import owners_in
from radarstream.schemas.answer_text import contains
from radarstream.schemas.sites import UNTOLD, owner_of, site_of
from radarstream.schemas.snapshot import Document, SearchSnapshot

spans = cache(spans_of)
Pair = tuple[Document, Document]


def rule_of(one: Document, other: Document) -> str | None:
    """The first rule by which two documents are alike, or None."""
    left, right = owner_of(one.url), owner_of(other.url)
    first, second = spans(one.text), spans(other.text)
    if len(first & second) >= NEARLY_THE_SAME * len(first | second):
        return "nearly the same text"
    if first & second and voices_of([(), ()], [one.text, other.text]).independent == 1:
        return "most of the text"
    if left and left == right and left != UNTOLD:
        return "one owner"
    if UNTOLD in (left, right):
        return "an archive or aggregator"
    cited = set(owners_in(one)), set(owners_in(other))
    if left in cited[1] or right in cited[0]:
        return "names the other as its source"
    return "name the same source" if cited[0] & cited[1] else None


def voices_for(snapshot: SearchSnapshot) -> tuple[int, int]:
    """On how many sites, and by how many voices, a right answer is named."""
    answers = snapshot.labels.answers if snapshot.labels else ()
    said = [d for d in snapshot.documents if any(contains(d.passage, a) for a in answers)]
    voices = voices_of([owners_in(d) for d in said], [d.text for d in said]).independent
    return len({site_of(d.url) or d.rank for d in said}), voices


def main(*arguments: str) -> None:
    shown = int(arguments[1]) if arguments[0] == "--show" else 0
    for path in arguments[2 if shown else 0 :]:
        snapshots = [history[0] for history in load_dataset(Path(path)).histories]
        joined: dict[str, list[Pair]] = defaultdict(list)
        pairs = 0
        for snapshot in snapshots:
            for one, other in combinations(snapshot.documents, 2):
                if site_of(one.url) != site_of(other.url):
                    pairs += 1
                    if rule := rule_of(one, other):
                        joined[rule].append((one, other))
        say(f"{Path(path).name}: {pairs} pairs on different sites")
        for rule, found in sorted(joined.items()):
            say(f"  {rule}: {len(found)}")
            for pair in random.Random(7).sample(found, min(shown, len(found))):  # noqa: S311
                for page in pair:
                    say(f"    {page.url}\n      {page.text[:300]}")
        counted = [voices_for(snapshot) for snapshot in snapshots]
        two = [sum(number > 1 for number in numbers) for numbers in zip(*counted, strict=True)]
        sites, voices = (sum(numbers) for numbers in zip(*counted, strict=True))
        say(f"  right answers: {sites} sites, {voices} voices; two sites {two[0]}, voices {two[1]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
