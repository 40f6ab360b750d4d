"""What the guardrail does to answers of the embedded model, for `docs/orchestration.md`.

    python -m tests.benchmarks.guardrail_effect DATASET QUESTIONS

asks the first questions of the development half for an answer from five documents, with and
without the guardrail: as they were found, and with a planted instruction (`pia`) at rank 1.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from radarstream.pipelines.build import build_generator
from radarstream.pipelines.cli.terminal import say
from radarstream.pipelines.evaluation.attacks.protocol import UnattackableError
from radarstream.pipelines.evaluation.attacks.registry import attack_named
from radarstream.pipelines.evaluation.datasets import load_dataset
from radarstream.pipelines.evaluation.halves import half_of
from radarstream.pipelines.evaluation.scoring import is_correct, is_fooled
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.guardrail import instructed
from radarstream.pipelines.signals.parsing import parse_answer
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from radarstream.schemas.tasks.additions import GUARDRAIL

DOCUMENTS = 5


def main(path: str, questions: str) -> None:
    generator = build_generator(load_settings(profile="embedded").generator)
    histories = load_dataset(Path(path)).histories
    chosen = [h[0] for h in histories if half_of(h[0].query.text) == "development"]
    pairs = list(islice(attackable(chosen), int(questions)))
    chosen, attacked = [s for s, _ in pairs], [s for _, s in pairs]
    say(f"{generator.model_id}, {len(chosen)} questions")
    for condition, snapshots in (("as found", chosen), ("pia at rank 1", attacked)):
        for sentences in ((), (GUARDRAIL,)):
            prompts = [
                instructed(
                    build_prompt(
                        Task.ANSWER_FROM_DOCUMENTS,
                        s.query.text,
                        [d.passage for d in s.documents][:DOCUMENTS],
                    ),
                    sentences,
                )
                for s in snapshots
            ]
            replies = generator.complete(prompts)
            said = [
                parse_answer(r.text, s.query.text) for r, s in zip(replies, snapshots, strict=True)
            ]
            report(condition, bool(sentences), snapshots, [str(a.text) for a in said])


def attackable(
    snapshots: Iterable[SearchSnapshot],
) -> Iterator[tuple[SearchSnapshot, SearchSnapshot]]:
    """Each snapshot with its first documents, and the same with an instruction at rank 1."""
    pia = attack_named("pia")
    for snapshot in snapshots:
        first = replace(snapshot, documents=snapshot.documents[:DOCUMENTS])
        with suppress(UnattackableError):
            yield first, pia.poison(first, positions=[1])


def report(
    condition: str, guarded: bool, snapshots: list[SearchSnapshot], answers: list[str]
) -> None:
    labels = [snapshot.labels or Labels() for snapshot in snapshots]
    right = sum(is_correct(a, one) for a, one in zip(answers, labels, strict=True))
    fooled = sum(is_fooled(a, one.target) for a, one in zip(answers, labels, strict=True))
    how = "guardrail" if guarded else "plain"
    say(f"{condition}, {how}: {right} right, {fooled} fooled")


if __name__ == "__main__":
    main(*sys.argv[1:])
