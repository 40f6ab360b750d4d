"""What a defence is given of each snapshot: the texts, what each says, and how that relates.

Each step makes one batch per model. Where an item fails stands its error.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from radarstream.defenses.protocol import EVIDENCE, Signal
from radarstream.pipelines.round.values import (
    Answered,
    Chosen,
    Needs,
    Read,
    Ready,
    Stage,
    charging,
    where,
)
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.evidence import answer_documents, relate_answers
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.long_form import in_its_form
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reading import as_read, is_long
from radarstream.pipelines.signals.responses import isolating
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.snapshot import SearchSnapshot


def read(
    items: Sequence[Chosen], reading: ReadingSettings, models: Models, costs: Costs
) -> list[Read]:
    """The texts that models read, long ones by their windows."""

    def work(wanted: Sequence[SearchSnapshot]) -> list[SearchSnapshot]:
        with charging(Stage.READING, models, costs, len(wanted)):
            return as_read(wanted, reading)

    snapshots = [item.snapshot for item in items]
    wanted = [any(is_long(s.query, d, reading) for d in s.documents) for s in snapshots]
    return [
        Read(item, bare(found or item.snapshot))
        for item, found in zip(items, where(wanted, snapshots, work), strict=True)
    ]


def bare(snapshot: SearchSnapshot) -> Evidence:
    """The documents of a snapshot as evidence."""
    return Evidence(snapshot.query, snapshot.observed_at, snapshot.documents)


def answer(
    items: Sequence[Read], needs: Needs, models: Models, costs: Costs
) -> list[Answered | Failure]:
    """Add an answer from every document by itself, where it is needed."""

    def in_one_form(
        part: Sequence[Evidence], asked: Models
    ) -> list[tuple[AtomicAnswer, ...] | ModelError]:
        return isolating(partial(answer_documents, costs.around(asked).generator), part)

    def work(wanted: Sequence[Evidence]) -> list[tuple[AtomicAnswer, ...] | ModelError]:
        with charging(Stage.ANSWERS, models, costs, len(wanted)):
            return in_its_form(wanted, lambda e: e.query.long_form, in_one_form, models)

    evidences = [item.evidence for item in items]
    wanted = [bool(needs(evidence) & EVIDENCE) for evidence in evidences]
    return [
        found
        if isinstance(found, ModelError)
        else Answered(item.chosen, replace(item.evidence, answers=found))
        for item, found in zip(items, where(wanted, evidences, work), strict=True)
    ]


def relate(
    items: Sequence[Answered], needs: Needs, models: Models, costs: Costs
) -> list[Ready | Failure]:
    """Add the relations between the atomic answers of each snapshot, where they are needed."""

    def work(wanted: Sequence[Evidence]) -> list[Relations | ModelError]:
        batches = [(evidence.query.text, evidence.answers or ()) for evidence in wanted]
        with charging(Stage.RELATIONS, models, costs, len(wanted)):
            return isolating(partial(relate_answers, costs.around(models).relations), batches)

    evidences = [item.evidence for item in items]
    wanted = [Signal.RELATIONS in needs(evidence) for evidence in evidences]
    return [
        found
        if isinstance(found, ModelError)
        else Ready(item.chosen, replace(item.evidence, relations=found))
        for item, found in zip(items, where(wanted, evidences, work), strict=True)
    ]
