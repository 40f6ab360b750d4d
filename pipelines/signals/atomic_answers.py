"""One answer per document, from that document alone."""

from collections.abc import Sequence
from itertools import islice

from radarstream.pipelines.signals.parsing import parse_answer
from radarstream.pipelines.signals.ports import Generator
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.pipelines.signals.responses import all_answered, completion_texts
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import Prompt, Task
from radarstream.schemas.snapshot import SearchSnapshot


def answer_documents(
    generator: Generator, snapshots: Sequence[SearchSnapshot]
) -> list[tuple[AtomicAnswer, ...]]:
    """Answer every document of every snapshot in one model batch, order preserved.

    Raises PartialModelError, one outcome per snapshot, when single documents were not answered.
    """
    prompts = [prompt for snapshot in snapshots for prompt in document_prompts(snapshot)]
    texts = iter(completion_texts(generator, prompts))
    return all_answered([parse_all(list(islice(texts, len(s.documents)))) for s in snapshots])


def document_prompts(snapshot: SearchSnapshot) -> list[Prompt]:
    """What is asked to answer each document of a snapshot by itself."""
    question = snapshot.query.text
    return [build_prompt(Task.ATOMIC_ANSWER, question, (d.passage,)) for d in snapshot.documents]


def parse_all(texts: Sequence[str | ModelError]) -> tuple[AtomicAnswer, ...] | ModelError:
    """Parse the answers of one snapshot; the first failure among them stands for it."""
    answers = []
    for text in texts:
        if isinstance(text, ModelError):
            return text
        answers.append(parse_answer(text))
    return tuple(answers)
