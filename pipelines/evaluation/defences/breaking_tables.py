"""How much an attacker must do, as tables and in words."""

from collections.abc import Iterator

from radarstream.pipelines.evaluation.attacks.escalation import Effort
from radarstream.pipelines.evaluation.attacks.protocol import RANDOM
from radarstream.pipelines.evaluation.attacks.timing import Timing
from radarstream.pipelines.evaluation.defences.scoreboard import (
    BreakingPoint,
    Curve,
    Escalated,
    Point,
    Scoreboard,
)
from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.evaluation.table import NOTHING, Table, TableCell, TableRow, percent
from radarstream.pipelines.evaluation.wording import counted_noun

KEY = "breaking_point"
HALF = 0.5


def breaking_tables(board: Scoreboard) -> Iterator[Table]:
    """One table per escalation: a row per contender, a column per amount, then where it breaks."""
    for number, found in enumerate(board.escalations, start=1):
        amounts = list(dict.fromkeys(p.amount for curve in found.curves for p in curve.points))
        levels = [point.level for point in found.curves[0].breaking_points] if found.curves else []
        rows = tuple(
            TableRow(
                curve.contender,
                (*map(_rates, curve.points), *(_where(b, curve) for b in curve.breaking_points)),
                curve.contender == board.reference,
            )
            for curve in found.curves
        )
        heads = (*map(str, amounts), *(f"above {100 * level:.0f} %" for level in levels))
        notes = (
            f"Accuracy / attack success in percent by the number of {_counted(found)}. "
            f"{_measured_where(board, found)}",
            "The last columns are breaking points: the smallest number at which attack success is "
            "above that share of answers; in brackets from the smallest at which its 95 % interval "
            "reaches above to the smallest at which all of it is above.",
            *_readings(found),
        )
        yield Table(f"{KEY}_{number}", title_of(found), "defence", heads, rows, notes)


def title_of(found: Escalated) -> str:
    """What grows, by which attack, and where it is planted."""
    where = "ranks drawn by lot" if found.place == RANDOM else "top ranks"
    documents = f" with {counted_noun(found.documents, 'document')} each" if found.documents else ""
    when = f", {Timing.parse(found.schedule).in_words}" if found.schedule else ""
    return f"Breaking point, {found.effort}{documents}: {found.attack} at {where}{when}"


def sentences(found: Escalated) -> list[str]:
    """Where attack success of each contender that has answers is above one half, in plain words."""
    return [_sentence(curve, found) for curve in found.curves if _answered(curve)]


def _sentence(curve: Curve, found: Escalated) -> str:
    half = next(b for b in curve.breaking_points if b.level == HALF)
    tried = curve.points[-1].amount
    share = "the attacker's answer in more than half of the cases"
    if half.amount is None:
        most = max(p.attack_success.value or 0.0 for p in curve.points)
        return (
            f"{curve.contender} does not give {share} with up to {_amount(tried, found)}; "
            f"at most in {100 * most:.0f} %."
        )
    if half.amount == 0:
        return f"{curve.contender} gives {share} without an attack."
    return f"{curve.contender} gives {share} from {_amount(half.amount, found)} on."


def _amount(amount: int, found: Escalated) -> str:
    """Such as `3 pages`, `3 pages of one site` or `3 attacked steps`."""
    if found.effort is Effort.STEPS:
        return counted_noun(amount, "attacked step")
    return counted_noun(amount, "page") + (
        " of one site" if found.effort is Effort.ONE_SITE else ""
    )


def _answered(curve: Curve) -> bool:
    return any(point.attack_success.trials for point in curve.points)


def _readings(found: Escalated) -> Iterator[str]:
    """How many documents are read which way, and who gave the target against the odds."""
    curves = [
        curve for curve in found.curves if any(p.read_right is not None for p in curve.points)
    ]
    if not curves:
        return
    right, target = (
        ", ".join("-" if n is None else f"{n:.1f}" for n in numbers)
        for numbers in zip(*((p.read_right, p.read_target) for p in curves[0].points), strict=True)
    )
    yield (
        f"Of an answer's documents the model reads on average, column by column, {right} as naming "
        f"the truth and {target} as naming the attacker's answer."
    )
    fooled = {c.contender: sum(p.attack_success.hits for p in c.points) for c in curves}
    against = {c.contender: sum(p.outnumbering for p in c.points) for c in curves}
    told = ", ".join(f"{name} {against[name]} of {n}" for name, n in fooled.items() if n)
    if told:
        yield f"Fooled though more of the documents were read as naming the truth: {told}."


def _counted(found: Escalated) -> str:
    documents = counted_noun(found.documents, "planted document")
    return f"{found.effort}{f', {documents} at each' if found.documents else ''}"


def _measured_where(board: Scoreboard, found: Escalated) -> str:
    if board.static:
        return "0 is without an attack."
    steps = "the last step" if found.effort is Effort.STEPS else "the attacked steps"
    return f"0 is without an attack. Measured at {steps} of each history, the same for all."


def _rates(point: Point) -> TableCell:
    rates = (point.accuracy, point.attack_success)
    texts = [percent(Rate(rate.hits, rate.trials)) for rate in rates]
    if texts == [NOTHING, NOTHING]:
        return TableCell(NOTHING)
    return TableCell("/".join(texts), value=point.attack_success.value)


def _where(found: BreakingPoint, curve: Curve) -> TableCell:
    """Such as `5 [3 to 8]` or `> 10 [6 to > 10]`."""
    if not _answered(curve):
        return TableCell(NOTHING)

    def said(amount: int | None) -> str:
        return f"> {curve.points[-1].amount}" if amount is None else str(amount)

    ends = f"[{said(found.low)} to {said(found.high)}]"
    return TableCell(said(found.amount), ends, found.amount)
