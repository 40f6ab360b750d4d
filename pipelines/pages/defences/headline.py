"""Which defence to run on this data, in words that claim no more than the intervals allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.ranking import Pooled, Ranking, covered_cells
from radarstream.pipelines.evaluation.defences.records import DefencesRecord
from radarstream.pipelines.evaluation.defences.scoreboard import (
    Estimate,
    Scoreboard,
    Summary,
    pooled_cost,
)
from radarstream.pipelines.evaluation.halves import Half
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.pages.defences.plots import UNDEFENDED
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.studies import cautions

NAMED = 5  # contenders in one sentence
NAME_CHARACTERS = 60
ROUNDED = 0.005  # below this a difference is 0 points
ENOUGH = "scored answers to at least four in five of all questions and conditions that count"


@dataclass(frozen=True, slots=True)
class Headline:
    """One sentence to remember and the sentences that qualify it, all plain text."""

    verdict: str
    sentences: tuple[str, ...]


def headline(record: DefencesRecord, scoreboard: Scoreboard, ranking: Ranking) -> Headline:
    """Words for the top of the page."""
    best = ranking.best
    if best is None:
        return Headline(
            "No contender can be recommended.",
            (f"No contender gave {ENOUGH}.", *_cautions(record, scoreboard, ranking)),
        )
    tied = [one for one in ranking.contenders if one.eligible and one.tied]
    tied.sort(key=lambda one: one.contender != UNDEFENDED)
    sentences = (
        _what_it_does(best, scoreboard, ranking),
        *_what_ties_mean(best, tied, scoreboard, ranking),
        *_without_attack(best, record, scoreboard),
        *_cautions(record, scoreboard, ranking),
    )
    return Headline(_verdict(best, tied, ranking), sentences)


def _verdict(best: Pooled, tied: Sequence[Pooled], ranking: Ranking) -> str:
    quality = "trade-off between accuracy and attack success" if ranking.attacked else "accuracy"
    name = _name(best.contender)
    if len(ranking.contenders) == 1:
        return f"{name} ran alone: there is nothing to compare it with."
    beaten = [one.contender for one in ranking.contenders if one.eligible and one.beaten]
    if not tied and not beaten:
        return f"No other contender can be compared with {name}."
    if not tied:
        everyone = len(beaten) == sum(not one.perturbed for one in ranking.contenders) - 1
        others = "every other" if everyone else _listed(beaten)
        return f"Run {name}: it has the best {quality}, ahead of {others} by more than chance."
    others = _listed([one.contender for one in tied]) if beaten else "the others"
    if tied[0].contender == UNDEFENDED:  # the first of the list, so that it is never left out
        others += f", no defence ({UNDEFENDED}) among them,"
    but = "; its lead" if beaten else ", but its lead"
    return f"{name} has the best {quality}{but} over {others} is not significant."


def _undefended(ranking: Ranking) -> Pooled | None:
    return next((one for one in ranking.contenders if one.contender == UNDEFENDED), None)


def _better(one: Pooled, bare: Pooled) -> bool:
    """Whether the intervals tell a contender apart from no defence, as the better one."""
    right, fooled = one.accuracy, one.attack_success
    apart = right.low > bare.accuracy.high or fooled.high < bare.attack_success.low
    return apart and (one.trade_off or 0.0) > (bare.trade_off or 0.0)


def _what_it_does(best: Pooled, scoreboard: Scoreboard, ranking: Ranking) -> str:
    if not ranking.attacked:
        return f"It is right in {_rate(best.accuracy)} of its answers."
    where = "Under attack" if scoreboard.static else "In attacked histories"
    said = (
        f"{where}, {_name(best.contender)} is right in {_rate(best.accuracy)} of its answers "
        f"and states what the attacker wants in {_rate(best.attack_success)}"
    )
    bare = _undefended(ranking)
    if bare is None or bare is best or not bare.covered:
        return f"{said}."
    success = f" and {_rate(bare.attack_success)}" if bare.attack_success.trials else ""
    return f"{said}; without a defence it is {_rate(bare.accuracy)}{success}."


def _what_ties_mean(
    best: Pooled, tied: Sequence[Pooled], scoreboard: Scoreboard, ranking: Ranking
) -> Iterator[str]:
    if not tied:
        return
    most = max(one.behind_best[1] for one in tied if one.behind_best)
    yield (
        "A lead is significant when the 95 % interval of the difference in accuracy minus attack "
        "success, over the same answers, lies above zero"
        + (f"; here a lead of {100 * most:.0f} points is not ruled out (200 are possible)."
           if most >= ROUNDED else ".")
    )  # fmt: skip
    bare = _undefended(ranking)
    if bare is not None and not bare.beaten:
        return  # where the best is no better than no defence, no price speaks for any
    rivals = [one.contender for one in tied if bare is None or _better(one, bare)]
    compared = (best.contender, *rivals)
    calls = {name: pooled_cost(scoreboard.of(name)).get("calls") or 0.0 for name in compared}
    cheapest = min(calls, key=lambda name: calls[name])
    if calls[cheapest] < 0.95 * calls[best.contender]:
        yield (
            f"Of these, {_name(cheapest)} costs least: {calls[cheapest]:.1f} model calls an answer "
            f"against {calls[best.contender]:.1f}."
        )


def _without_attack(best: Pooled, record: DefencesRecord, scoreboard: Scoreboard) -> Iterator[str]:
    benign = next((c.name for c in record.conditions if c.attack == BENIGN), None)
    if benign is None or all(c.attack == BENIGN for c in record.conditions):
        return
    cells = [c for c in covered_cells(scoreboard, benign) if c.accuracy.value is not None]
    own = next((cell for cell in cells if cell.contender == best.contender), None)
    if own is None:
        return
    said = f"Without an attack it is right in {_rate(own.accuracy)}"
    most = max(cells, key=_accuracy)
    if _accuracy(most) - _accuracy(own) < ROUNDED:
        yield f"{said}, and no other contender in more."
    elif most.accuracy.low <= own.accuracy.high:
        yield f"{said}, and no other contender in more by more than chance."
    else:
        yield f"{said}; the most accurate is {_name(most.contender)} with {_rate(most.accuracy)}."


def _accuracy(cell: Summary) -> float:
    return cell.accuracy.value or 0.0


def _cautions(record: DefencesRecord, scoreboard: Scoreboard, ranking: Ranking) -> Iterator[str]:
    errors = sum(cell.errors for cell in scoreboard.cells)
    if errors:
        total = errors + sum(cell.answers for cell in scoreboard.cells)
        yield f"{errors} of {total} answers failed; they are shown, and scored nowhere."
    barred = [one.contender for one in ranking.contenders if not one.eligible and not one.perturbed]
    if barred and ranking.best is not None:
        yield f"Not comparable: {_listed(barred)}, without {ENOUGH}."
    yield from _missing(record, scoreboard)
    held = record.statistics.get("questions")
    if record.half is not Half.ALL:
        yield f"Asked was the {record.half.described(record.questions)}."
    elif isinstance(held, int) and record.questions < held:
        yield f"Of {held} questions of the data set the first {record.questions} were asked."
    yield from cautions(record)
    if len(ranking.contenders) > 1 and ranking.best is not None:
        yield (
            "The best of several was chosen on the questions it is measured on, so expect it to "
            "do a little worse on new ones."
        )


def _missing(record: DefencesRecord, scoreboard: Scoreboard) -> Iterator[str]:
    """How much of the table there is, where that is not all of it."""
    unmet = [c.name for c in record.conditions if not covered_cells(scoreboard, c.name)]
    none = f", none under {_listed(unmet)}" if unmet else ""
    there = sum(cell.answers + cell.errors for cell in scoreboard.cells)
    owed = len(record.contenders) * sum(record.owed.get(c.name, 0) for c in record.conditions)
    if set(record.owed) == {c.name for c in record.conditions} and there < owed:
        yield (
            f"Only {there} of {owed} answers of this table are there{none}: a run that was "
            "interrupted goes on with the same command."
        )
    elif unmet:
        yield f"Nothing was answered yet under {_listed(unmet)}: the same command goes on."


def _rate(estimate: Estimate) -> str:
    if estimate.value is None:
        return "an unknown share"
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.value:.0f} % ({low:.0f} to {high:.0f})"


def _name(contender: str) -> str:
    return shorten(contender, NAME_CHARACTERS)


def _listed(names: Sequence[str]) -> str:
    """Names in words, at most `NAMED` of them.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    shown = [_name(name) for name in names[:NAMED]]
    if len(names) > NAMED:
        return f"{', '.join(shown)} and {counted_noun(len(names) - NAMED, 'other')}"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1] if shown else ""]))
