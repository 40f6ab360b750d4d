"""Selection on simulated evidence: who is fooled, and how late news is learned.

    python -m tests.benchmarks.grid --seeds 0-1
    python -m tests.benchmarks.grid --seeds 0 --contenders "radar;radar_plus:sharpness=8"

`docs/protocol.md` says what a world is, how it is scored and what the table decides. Answers are
claims and relations are drawn, so no model is needed; the defences are those of the registry.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np

from radarstream.defenses.protocol import Complete, Defense, Embed, Relate, Request
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.evaluation.defences.contenders import parse_contenders
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.snapshot import Document, Query
from tests.builders import OBSERVED_AT

STEPS, EVENT, WEEK = 6, 2, timedelta(days=7)
TRUTH, NEWS, LIE = "truth", "news", "lie"
STRAY = 0.1  # honest pages that state a wrong answer of their own
SAME, NEUTRAL, OTHER = (0.95, 0.01), (0.05, 0.05), (0.02, 0.95)  # entails, contradicts
QUERY = Query("grid", "What holds?")

Pair = tuple[float, float]


@dataclass(frozen=True)
class World:
    """One combination of the grid. `lies` or `knowing` is a share of n, the other is 0."""

    n: int
    honest_sites: str  # "own", "two", "one"
    error: float
    lies: float = 0.0
    lying_sites: str = "own"
    when: str = "never"  # "pulse", "constant", "ramp"
    knowing: float = 0.0
    seed: int = 0

    @cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(crc32(repr(self).encode()))

    def planted(self, step: int) -> int:
        """How many lies a snapshot holds."""
        if step < EVENT or self.when == "never" or (self.when == "pulse" and step > EVENT):
            return 0
        grown = self.lies + 0.1 * (step - EVENT) if self.when == "ramp" else self.lies
        return min(self.n, max(1, round(grown * self.n)))

    def truth(self, step: int) -> str:
        return NEWS if self.knowing and step >= EVENT else TRUTH

    @cached_property
    def pages(self) -> list[tuple[str, str, str]]:
        """Address, claim before the event and claim after it: honest pages, then lies."""
        stray = self.rng.random(self.n) < STRAY
        knows = self.rng.permutation(self.n) < round(self.knowing * self.n)
        sites = {"own": self.n, "two": 2, "one": 1}[self.honest_sites]
        honest = []
        for i in range(self.n):
            before = f"stray {i}" if stray[i] else TRUTH
            after = NEWS if knows[i] and not stray[i] else before
            honest.append((f"https://honest{i % sites}.example/{i}", before, after))
        liars = [i if self.lying_sites == "own" else 0 for i in range(self.n)]
        return honest + [(f"https://liar{at}.example/{i}", LIE, LIE) for i, at in enumerate(liars)]

    @cached_property
    def draws(self) -> np.ndarray:
        """One number in [0, 1) per pair of pages, symmetric: below `error` it is scored wrongly."""
        upper = np.triu(self.rng.random((2 * self.n, 2 * self.n)), 1)
        return upper + upper.T

    def draws_of(self, claim: str) -> np.ndarray:
        """The same for an answer that is no page: as if it were one more."""
        rng = np.random.default_rng(crc32(f"{self!r} {claim}".encode()))
        return rng.random(2 * self.n)

    def scored(self, same: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Entailment and contradiction of pairs that are the same claim or not."""
        wrong, half = draws < self.error, draws < self.error / 2
        rows = np.where(
            same[..., None],
            np.where(wrong[..., None], NEUTRAL, SAME),
            np.where(half[..., None], SAME, np.where(wrong[..., None], NEUTRAL, OTHER)),
        )
        return rows[..., 0], rows[..., 1]


@dataclass(frozen=True)
class Step:
    """One snapshot of a world as defences get it, and what stands in its pages."""

    world: World
    number: int

    @cached_property
    def shown(self) -> list[int]:
        lies, n = self.world.planted(self.number), self.world.n
        return [*range(n, n + lies), *range(n - lies)]

    @cached_property
    def claims(self) -> np.ndarray:
        after = 2 if self.number >= EVENT else 1
        return np.array([self.world.pages[page][after] for page in self.shown])

    @cached_property
    def evidence(self) -> Evidence:
        claims, pages = self.claims, self.world.pages
        documents = tuple(
            Document(rank, claim, url=pages[page][0])
            for rank, (page, claim) in enumerate(zip(self.shown, claims.tolist(), strict=True), 1)
        )
        same = claims[:, None] == claims
        draws = self.world.draws[np.ix_(self.shown, self.shown)]
        relations = Relations(*self.world.scored(same, draws))
        answers = tuple(AtomicAnswer(document.text) for document in documents)
        observed = OBSERVED_AT + self.number * WEEK
        return Evidence(QUERY, observed, documents, answers, relations)

    def respond(self, request: Request) -> Any:
        match request:
            case Embed(texts=texts):
                return np.ones((len(texts), 1))
            case Complete(passages=passages):
                return AtomicAnswer(max(passages, key=passages.count))
            case Relate(premises=premises, hypotheses=hypotheses):
                return self.related(premises, hypotheses)
        raise TypeError(f"no scripted response to {request}")

    def related(self, premises: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
        """An answer beside those of all pages, in both directions; two answers without error."""
        n = len(premises) // 2
        answer, others = premises[0], np.array(hypotheses[:n])
        draws = np.ones(n)
        if n == len(self.claims):
            draws = self.world.draws_of(answer)[self.shown]
        entails, contradicts = self.world.scored(others == answer, draws)
        rows = np.column_stack((entails, 1.0 - entails - contradicts, contradicts))
        return np.vstack((rows, rows))


def worlds(seed: int) -> Iterator[World]:
    """The whole grid once."""
    for n, sites, error in product((3, 10, 50), ("own", "two", "one"), (0.0, 0.01, 0.05, 0.1)):
        for lies, lying, when in product(
            (0.1, 0.3, 0.5, 0.6), ("own", "one"), ("pulse", "constant", "ramp")
        ):
            yield World(n, sites, error, lies, lying, when, seed=seed)
        for knowing in (0.3, 0.6, 0.9):
            yield World(n, sites, error, knowing=knowing, seed=seed)


def answers(defense: Defense[Any], steps: Sequence[Step]) -> list[str | None]:
    """What a defence answers along a history; None where it abstains."""
    state, given = defense.initial_state(), []
    for step in steps:
        defending = defense.defend(step.evidence, state)
        try:
            request = next(defending)
            while True:
                request = defending.send(step.respond(request))
        except StopIteration as stop:
            verdict, state = stop.value
        given.append(None if verdict.abstained else verdict.answer)
    return given


@dataclass(frozen=True)
class Row:
    """One history of one contender."""

    world: World
    given: list[str | None]

    @cached_property
    def attacked(self) -> list[str | None]:
        return [a for step, a in enumerate(self.given) if self.world.planted(step)]

    @cached_property
    def right(self) -> list[bool]:
        return [a == self.world.truth(step) for step, a in enumerate(self.given)]

    @property
    def delay(self) -> int:
        """Steps after the change without the new truth."""
        return self.right[EVENT:].index(True) if any(self.right[EVENT:]) else STEPS - EVENT


def fooled(rows: Sequence[Row]) -> float:
    """Share of attacked steps that answer the lie, in percent."""
    attacked = [answer for row in rows for answer in row.attacked]
    return 100.0 * float(np.mean([answer == LIE for answer in attacked])) if attacked else np.nan


def figures(rows: Sequence[Row]) -> dict[str, float]:
    """The table's line of one contender."""
    clean = [right for row in rows for right in row.right[:EVENT]]
    attacked = [row for row in rows if row.attacked]
    under = [
        right for row in attacked for step, right in enumerate(row.right) if row.world.planted(step)
    ]
    silent = [answer is None for row in attacked for answer in row.attacked]
    line = {
        "benign right": 100.0 * float(np.mean(clean)),
        "fooled": fooled(rows),
        "right": 100.0 * float(np.mean(under)),
        "silent": 100.0 * float(np.mean(silent)),
    }
    for part, chosen in PARTS.items():
        line[part] = fooled([row for row in rows if chosen(row.world)])
    for share in (0.3, 0.6, 0.9):
        late = [row.delay for row in rows if row.world.knowing == share]
        line[f"delay {share:.0%}"] = float(np.mean(late))
    return line


PARTS = {
    "pulse": lambda w: w.when == "pulse",
    "constant": lambda w: w.when == "constant",
    "ramp": lambda w: w.when == "ramp",
    "lies on own sites": lambda w: w.lying_sites == "own",
    "lies on one host": lambda w: w.lying_sites == "one",
    "honest on own sites": lambda w: w.honest_sites == "own",
    "honest on one host": lambda w: w.honest_sites == "one",
    "n=3": lambda w: w.n == 3,
    "n=10": lambda w: w.n == 10,
    "n=50": lambda w: w.n == 50,
    "errors 0 %": lambda w: w.error == 0.0,
    "errors 10 %": lambda w: w.error == 0.1,
}

CONTENDERS = (
    "majority,majority:memory=true,radar:on_empty=abstain,radar,radar_plus,"
    "radar_plus:half_life_days=0,radar_plus:site_cap=false,radar_plus:votes=false"
)


def measured(contenders: str, seeds: Sequence[int], every: int = 1) -> dict[str, list[Row]]:
    """The rows of each contender; all see the same evidence. `every` skips worlds, for a glance."""
    defences = {
        c.name: build_defense(c.defense, dict(c.options)) for c in parse_contenders(contenders)
    }
    rows: dict[str, list[Row]] = {name: [] for name in defences}
    for seed in seeds:
        for world in list(worlds(seed))[seed % every :: every]:
            steps = [Step(world, number) for number in range(STEPS)]
            for name, defense in defences.items():
                rows[name].append(Row(world, answers(defense, steps)))
    return rows


def table(rows: dict[str, list[Row]]) -> str:
    """A Markdown table: a line per figure, a column per contender."""
    columns = {name: figures(found) for name, found in rows.items()}
    lines = [f"| | {' | '.join(columns)} |", "|:--" + "|--:" * len(columns) + "|"]
    for name in next(iter(columns.values())):
        values = " | ".join(f"{column[name]:.1f}" for column in columns.values())
        lines.append(f"| {name} | {values} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0", help="a seed or a range such as 0-3")
    parser.add_argument("--contenders", default=CONTENDERS)
    parser.add_argument("--every", type=int, default=1, help="only every so many-th world")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    print(table(measured(given.contenders, seeds, given.every)))  # noqa: T201 the product


if __name__ == "__main__":
    main()
