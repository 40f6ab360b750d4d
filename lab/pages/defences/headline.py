"""Which defence to run on this data, in words that claim no more than the intervals allow."""

from collections.abc import Iterator, Sequence
from typing import Final

from radarstream.lab.defences.ranking import Pooled, Ranking
from radarstream.lab.defences.records import DefencesRecord
from radarstream.lab.defences.scoreboard import Estimate, Scoreboard
from radarstream.lab.pages.studies import cautions
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.schemas.wording import counted_noun

UNDEFENDED: Final = "vanilla"
NAMED: Final = 5  # contenders in one sentence
NAME_CHARACTERS: Final = 60
ENOUGH: Final = "scored answers to at least four in five of all questions and conditions that count"


def headline(ranking: Ranking) -> str:
    """The sentence to remember."""
    best = ranking.best
    if best is None:
        return "No contender can be recommended."
    quality = "trade-off between accuracy and attack success" if ranking.attacked else "accuracy"
    rivals = [one for one in ranking.contenders if one.covered]
    rivals.sort(key=lambda one: one.contender != UNDEFENDED)  # never left out of the list
    tied = _listed([one.contender for one in rivals if one.tied])
    beaten = _listed([one.contender for one in rivals if one.beaten])
    name = shorten(best.contender, NAME_CHARACTERS)
    if tied:
        return f"{name} has the best {quality}; its lead over {tied} is not significant."
    if beaten:
        return f"Run {name}: it has the best {quality}, ahead of {beaten} by more than chance."
    return f"There is nothing to compare {name} with."


def qualified(record: DefencesRecord, scoreboard: Scoreboard, ranking: Ranking) -> Iterator[str]:
    """Sentences that say what the best contender does, and how far the figures can be trusted."""
    best = ranking.best
    if best is not None:
        where = "Under attack it" if ranking.attacked else "It"
        yield f"{where} {_rates(best)}."
        bare = next((o for o in ranking.contenders if o.contender == UNDEFENDED), best)
        if bare is not best and bare.covered:
            yield f"Without a defence ({UNDEFENDED}) the system {_rates(bare)}."
    barred = [one.contender for one in ranking.contenders if not one.covered]
    if barred:
        yield f"Not comparable: {_listed(barred)}, without {ENOUGH}."
    errors = sum(cell.errors for cell in scoreboard.cells)
    there = errors + sum(cell.answers for cell in scoreboard.cells)
    if errors:
        yield f"{errors} of {there} answers failed; they are shown, and scored nowhere."
    owed = len(record.contenders) * sum(record.owed.get(c.name, 0) for c in record.conditions)
    if there < owed:
        yield f"Only {there} of {owed} answers are there: the same command goes on."
    held = record.statistics.get("questions", 0)
    if record.questions < held:
        yield f"Of {held} questions of the data set {record.questions} were asked."
    yield from cautions(record)


def _rates(one: Pooled) -> str:
    said = f"is right in {_rate(one.accuracy)} of its answers"
    if one.attack_success.trials:
        said += f" and gives the attacker's in {_rate(one.attack_success)}"
    return said


def _rate(estimate: Estimate) -> str:
    if estimate.value is None:
        return "an unknown share"
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.value:.0f} % ({low:.0f} to {high:.0f})"


def _listed(names: Sequence[str]) -> str:
    """Names in words, at most `NAMED` of them.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    shown = [shorten(name, NAME_CHARACTERS) for name in names[:NAMED]]
    if len(names) > NAMED:
        return f"{', '.join(shown)} and {counted_noun(len(names) - NAMED, 'other')}"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
