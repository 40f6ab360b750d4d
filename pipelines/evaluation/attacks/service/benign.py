"""No attack: readers ask their questions."""

from dataclasses import dataclass
from typing import ClassVar

from radarstream.pipelines.evaluation.attacks.service.protocol import READER, Ask, Stream, World
from radarstream.schemas.snapshot import Labels, SearchSnapshot


@dataclass(frozen=True, slots=True)
class Benign:
    """One reader asks every question once, one a minute."""

    needs_masks: ClassVar[bool] = False

    def stream(self, world: World) -> Stream:
        """The questions in their order."""
        return Stream(tuple(map(reader_asks, world.questions.asked)))


def reader_asks(snapshot: SearchSnapshot, user: str = READER) -> Ask:
    """A reader's question as the data have it."""
    query, known = snapshot.query, snapshot.labels or Labels()
    labels = Labels(known.answers, known.all_answers_required)
    return Ask(f"{user}/{query.id}", query.text, query.id, user, labels=labels)
