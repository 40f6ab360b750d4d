"""Paired differences of contenders to the reference, tested and corrected for their number."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from radarstream.pipelines.evaluation.experiment.outcomes import (
    Answers,
    Quantity,
    Questions,
    Values,
)
from radarstream.pipelines.evaluation.experiment.scoreboard import Difference
from radarstream.pipelines.evaluation.statistics.paired_tests import (
    PairedTest,
    holm,
    mcnemar_exact,
    sign_flip,
)
from radarstream.schemas.evidence import FloatArray


def differences(
    pairs: Sequence[tuple[Answers, Answers]], quantity: Quantity, questions: Questions
) -> list[Difference]:
    """One difference per pair of a contender's and the reference's answers, in order.

    Holm's correction takes all of them as one family.
    """
    columns = [_paired(ours, theirs, quantity) for ours, theirs in pairs]
    intervals = questions.intervals(columns, span=(-1.0, 1.0))
    found = [
        _difference(column, bounds, _excluded(*pair), questions)
        for pair, column, bounds in zip(pairs, columns, intervals, strict=True)
    ]
    corrected = iter(holm([d.p_value for d in found if d.p_value is not None]))
    return [d if d.p_value is None else replace(d, p_holm=next(corrected)) for d in found]


def _paired(ours: Answers, theirs: Answers, quantity: Quantity) -> Values:
    """1, 0 or -1 for every answer that both sides were scored on."""
    one, other = ours.values(quantity), theirs.values(quantity)
    return {step: value - other[step] for step, value in one.items() if step in other}


def _excluded(ours: Answers, theirs: Answers) -> int:
    """Answers that failed or are missing on either side."""
    asked = ours.rows.keys() | theirs.rows.keys()
    return len(asked) - len(ours.outcomes.keys() & theirs.outcomes.keys())


def _difference(
    values: Values, bounds: FloatArray, excluded: int, questions: Questions
) -> Difference:
    only_contender = sum(value > 0 for value in values.values())
    only_reference = sum(value < 0 for value in values.values())
    p_value: float | None = None
    test = PairedTest.MCNEMAR if questions.static else PairedTest.SIGN_FLIP
    if values and questions.static:
        p_value = mcnemar_exact(only_contender, only_reference)
    elif values:
        p_value, test = sign_flip(questions.totals(values), seed=questions.seed)
    return Difference(
        value=fmean(values.values()) if values else None,
        low=float(bounds[0]) if values else None,
        high=float(bounds[1]) if values else None,
        p_value=p_value,
        p_holm=None,
        test=test,
        pairs=len(values),
        excluded=excluded,
        only_contender=only_contender,
        only_reference=only_reference,
    )
