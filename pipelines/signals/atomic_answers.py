"""One answer per document, from that document alone."""

from collections.abc import Sequence

from pipelines.signals.parsing import parse_answer
from pipelines.signals.ports import Generator
from pipelines.signals.prompts import build_prompt
from pipelines.signals.responses import completion_texts
from schemas.evidence import AtomicAnswer
from schemas.prompt import Task
from schemas.snapshot import SearchSnapshot


def answer_documents(
    generator: Generator, snapshots: Sequence[SearchSnapshot]
) -> list[tuple[AtomicAnswer, ...]]:
    """Answer every document of every snapshot in one model batch, order preserved."""
    prompts = [
        build_prompt(Task.ATOMIC_ANSWER, snapshot.query.text, (document.passage,))
        for snapshot in snapshots
        for document in snapshot.documents
    ]
    texts = completion_texts(generator.complete(prompts), len(prompts))
    answers = iter([parse_answer(text) for text in texts])
    return [tuple(next(answers) for _ in snapshot.documents) for snapshot in snapshots]
