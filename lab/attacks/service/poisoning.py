"""False texts in the corpus, as studies of defences and rerankers plant them."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.lab.attacks.corpus import Corpus, inject
from radarstream.lab.attacks.protocol import Aim, Attack, Surface, UnattackableError
from radarstream.lab.attacks.registry import attack_named
from radarstream.lab.attacks.service.benign import reader, reader_asks
from radarstream.lab.attacks.service.protocol import Ask, Planted, Stream, World
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import STRICT, SearchSnapshot


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Poisoning:
    """Plants texts for every question; then readers ask. All texts are there at once.

    Parameters
    ----------
    texts
        An attack on a corpus that writes them.
    several
        How many per question: ten in "Adaptive Defense Orchestration for RAG".
    """

    texts: str = "poisonedrag"
    several: Annotated[int, Field(ge=1)] = 10

    needs_masks: ClassVar[bool] = False

    def stream(self, world: World) -> Stream:
        """The readers' questions that can be attacked. Raises ConfigurationError."""
        attack = attack_named(self.texts)
        if attack.surface is not Surface.CORPUS or attack.removes_answers:
            raise ConfigurationError(f"{self.texts} does not add texts to a corpus")
        asks: list[Ask] = []
        planted: list[Planted] = []
        left_out: dict[str, str] = {}
        for snapshot in world.questions.asked:
            try:
                found = planting(attack, snapshot, world.questions.aim(snapshot), self.several)
            except UnattackableError as error:
                left_out[snapshot.query.id] = str(error)
                continue
            asks.append(replace(found.ask, user=reader(len(asks))))
            planted += found.planted
        return Stream(tuple(asks), tuple(planted), left_out)


@dataclass(frozen=True, slots=True)
class Planting:
    """A reader's question, and the texts that are planted for it."""

    ask: Ask
    planted: tuple[Planted, ...]


def planting(attack: Attack, snapshot: SearchSnapshot, aim: Aim, several: int) -> Planting:
    """What an attack plants for one question. Raises UnattackableError."""
    query = snapshot.query
    corpus = inject(Corpus(()), attack, snapshot, count=several, aim=aim)
    labels, _ = attack.prepared(snapshot, aim)
    ask = reader_asks(snapshot)
    asked = Ask(ask.id, attack.asked(query.text), ask.about, ask.user, labels=labels)
    texts = tuple(Planted(query.id, entry.document) for entry in corpus.entries)
    return Planting(asked, texts)
