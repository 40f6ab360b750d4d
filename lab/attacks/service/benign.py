"""No attack: readers ask their questions."""

from dataclasses import dataclass
from typing import ClassVar, Final

from radarstream.lab.attacks.service.protocol import READER, Ask, Stream, World
from radarstream.schemas.snapshot import Labels, SearchSnapshot

# So few that noisy retrieval does not spend a reader's budget (100, of which a question
# takes 3): what that refuses is another matter than what the noise costs.
QUESTIONS_EACH: Final = 20


@dataclass(frozen=True, slots=True)
class Benign:
    """Readers ask every question once, one a minute, each reader some of them."""

    needs_masks: ClassVar[bool] = False

    def stream(self, world: World) -> Stream:
        """The questions in their order."""
        return Stream(tuple(reader_asks(s, reader(n)) for n, s in enumerate(world.questions.asked)))


def reader(place: int) -> str:
    """Who asks the question at a place."""
    return f"{READER}-{place // QUESTIONS_EACH + 1}"


def reader_asks(snapshot: SearchSnapshot, user: str = READER) -> Ask:
    """A reader's question as the data have it."""
    query, known = snapshot.query, snapshot.labels or Labels()
    labels = Labels(known.answers, known.all_answers_required)
    return Ask(f"{user}/{query.id}", query.text, query.id, user, labels=labels)
