"""Deterministic yearly search histories over the facts, in the format of RADAR's Appendix P."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from math import floor
from pathlib import Path
from random import Random
from typing import Any

from radarstream.lab.simulation.facts import Fact, bare, bundled_facts, invented_facts
from radarstream.lab.simulation.genres import (
    Genre,
    Scene,
    Stance,
    WrittenPage,
    false_passages,
    genres,
    write_page,
)
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Provenance

_MARGIN = timedelta(days=14)
_FRESH, _RECENT, _SETTLED = 2.0, 1.0, 0.5  # stale pages multiply right after a change, then fade
_STALE, _NOISE, _OFF_TOPIC = 0.1, 0.15, 0.2  # shares of the pages of a snapshot
_MOST_OFF_TOPIC = 0.6  # so that some page states the truth, also in the year of a change
YEARS = range(2012, 2025)
_ATTEMPTS = 50


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """What to simulate.

    `questions` beyond the bundled facts are about invented places. Each question gets
    `min_snapshots` to `max_snapshots` successive years (observed on 31 December), each with `k`
    documents. A tenth of them are stale, twice as many in the year of a change and half as many two
    years after it; 0.15 are noise. Of each question a share is off the topic that is drawn between
    0.2 and `off_topic`. What remains states the truth. Raises ConfigurationError when a value is
    out of range.
    """

    questions: int = 40
    k: int = 10
    min_snapshots: int = 4
    max_snapshots: int = 8
    off_topic: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.questions < 1 or self.k < 1:
            raise ConfigurationError("a history needs at least 1 question and k >= 1")
        if not 1 <= self.min_snapshots <= self.max_snapshots or self.min_snapshots > len(YEARS):
            raise ConfigurationError("need 1 <= min_snapshots <= max_snapshots, and 13 at most")
        if not _OFF_TOPIC <= self.off_topic <= _MOST_OFF_TOPIC:
            raise ConfigurationError(f"need {_OFF_TOPIC} <= off_topic <= {_MOST_OFF_TOPIC}")


def simulate_history(options: SimulationOptions) -> list[dict[str, Any]]:
    """One entry per question: {"question", "provenance", "yearly_contexts": {year: {...}}}. Entries
    about invented places carry "synthetic": true; a year with several joint answers carries
    "all_answers_required": true.
    """
    return [_entry(fact, options) for fact in _chosen_facts(options)]


def write_history(path: Path, options: SimulationOptions) -> None:
    """Write the history as JSON; the same options give the same bytes."""
    text = json.dumps(simulate_history(options), ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def observation_day(year: int) -> date:
    """The day whose truth a yearly snapshot is judged by."""
    return date(year, 12, 31)


def _chosen_facts(options: SimulationOptions) -> list[Fact]:
    enough = [f for f in bundled_facts() if len(_usable_years(f)) >= options.min_snapshots]
    Random(f"questions {options.seed}").shuffle(enough)
    missing = max(0, options.questions - len(enough))
    pool = enough[: options.questions]
    for fact in invented_facts(4 * missing, options.seed) if missing else ():
        if len(pool) == options.questions:
            break
        if len(_usable_years(fact)) >= options.min_snapshots:
            pool.append(fact)
    if len(pool) < options.questions:
        raise ConfigurationError(f"only {len(pool)} questions have enough settled years")
    return pool


def _usable_years(fact: Fact) -> list[int]:
    return [year for year in YEARS if fact.settled_on(observation_day(year), _MARGIN)]


def _entry(fact: Fact, options: SimulationOptions) -> dict[str, Any]:
    rng = Random(f"{options.seed} {fact.question}")
    years = _observed_years(fact, options, rng)
    entry: dict[str, Any] = {
        "question": fact.question,
        "provenance": Provenance.SIMULATED.value,
        "yearly_contexts": {str(year): _yearly_context(fact, year, options) for year in years},
    }
    return entry | ({"synthetic": True} if fact.synthetic else {})


def _observed_years(fact: Fact, options: SimulationOptions, rng: Random) -> list[int]:
    """Consecutive usable years, over a change of the answer where there is one."""
    usable = _usable_years(fact)
    count = min(len(usable), rng.randint(options.min_snapshots, options.max_snapshots))
    windows = [usable[start : start + count] for start in range(len(usable) - count + 1)]
    index = {year: fact.index_on(observation_day(year)) for year in usable}
    changing = [window for window in windows if len({index[year] for year in window}) > 1]
    return rng.choice(changing or windows)


def _yearly_context(fact: Fact, year: int, options: SimulationOptions) -> dict[str, Any]:
    day = observation_day(year)
    index = fact.index_on(day)
    assert index is not None  # only settled years are simulated
    holding = fact.holdings[index]
    false_answer = Random(f"{options.seed} {fact.question} {year} false").choice(fact.false_answers)
    context: dict[str, Any] = {
        "answer": list(fact.accepted(holding)),
        "docs": [asdict(page) for page in _results(fact, index, day, false_answer, options)],
        "incorrect_answer": bare(false_answer),
        "incorrect_context": false_passages(fact, false_answer, year),
    }
    if len(holding.answers) > 1:
        context["all_answers_required"] = True
    return context


def _results(
    fact: Fact, index: int, day: date, false_answer: str, options: SimulationOptions
) -> list[WrittenPage]:
    """The ranked pages: relevance is a page's own, plus a yearly jitter."""
    guesses = tuple(name for name in fact.false_answers if name != false_answer)
    ranked: dict[str, tuple[float, WrittenPage]] = {}
    for genre, believed, turn in _assignments(fact, index, day, options):
        scene = Scene(fact, believed, day, guesses)
        place = _circumstances(fact, genre, believed, day)
        variant = Random(place).randrange(12) + turn  # pages of one genre take turns
        for attempt in range(_ATTEMPTS):
            rng = Random(f"{options.seed} {attempt} {place} {turn}")
            page = write_page(genre, scene, variant + attempt, rng)
            if page.content not in ranked:
                jitter = Random(f"{options.seed} {page.url} {day}").uniform(-0.3, 0.3)
                ranked[page.content] = (rng.random() + jitter, page)
                break
        else:
            raise ConfigurationError(f"k={options.k} is more pages than can be told apart")
    return [page for _, page in sorted(ranked.values(), key=lambda pair: (-pair[0], pair[1].url))]


def _circumstances(fact: Fact, genre: Genre, believed: int, day: date) -> str:
    """What a page depends on: a lasting one on its holding alone, any other on the year as well."""
    written = "" if genre.carries_over else str(day.year)
    silent = genre.stance is Stance.OFF_TOPIC  # says nothing that could change
    since = "" if silent else fact.holdings[believed].start
    return f"{fact.question} {genre.name} {since} {written}"


def _assignments(
    fact: Fact, index: int, day: date, options: SimulationOptions
) -> Iterator[tuple[Genre, int, int]]:
    """The k pages of a snapshot: the genre, the holding that the author believes in, and how many
    pages of the genre come before. A shorter list of a stance begins a longer one.
    """
    rng = Random(f"{options.seed} {fact.question} genres")
    holding = fact.holdings[index]
    outdated = _outdated(fact, index)
    factor = _stale_factor(holding.start, day) if outdated else 0.0
    silent = Random(f"{options.seed} {fact.question} silence").uniform(
        _OFF_TOPIC, options.off_topic
    )
    shares = (_STALE * factor, _NOISE, silent)
    stale, noise, off_topic = (floor(options.k * share + 1e-9) for share in shares)
    partial = (noise + 1) // 2 if len(holding.answers) > 1 else 0
    counts = {
        Stance.TRUTH: options.k - stale - noise - off_topic,
        Stance.OFF_TOPIC: off_topic,
        Stance.PARTIAL: partial,
        Stance.NOISE: noise - partial,
        Stance.STALE: stale,
    }
    for stance, count in counts.items():
        pool = [genre for genre in genres().values() if genre.stance is stance]
        rng.shuffle(pool)
        for place in range(count):
            believed = index
            if stance is Stance.STALE:
                believed = outdated[min(place // 2, len(outdated) - 1)]
            yield pool[place % len(pool)], believed, place // len(pool)


def _outdated(fact: Fact, index: int) -> list[int]:
    """Earlier holdings that no longer are true in any part, latest first."""
    current = set(fact.holdings[index].answers)
    return [
        i
        for i in range(index - 1, -1, -1)
        if fact.holdings[i].answers and not current & set(fact.holdings[i].answers)
    ]


def _stale_factor(start: date, day: date) -> float:
    age = (day - start).days
    return _FRESH if age <= 365 else _RECENT if age <= 730 else _SETTLED
