"""What is asked of a service under each attack, and what is planted: one class an attack, of its
options.
"""

from dataclasses import replace
from itertools import cycle
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.lab.attacks.corpus import Corpus, inject
from radarstream.lab.attacks.protocol import Surface, UnattackableError
from radarstream.lab.attacks.registry import attack_named
from radarstream.lab.attacks.service.masked_questions import probes
from radarstream.lab.attacks.service.protocol import (
    ATTACKER,
    HOUR_S,
    MINUTE_S,
    READER,
    Ask,
    Planted,
    ServiceAttack,
    Stream,
    World,
)
from radarstream.lab.attacks.texts import WORDINGS
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import STRICT, Labels, SearchSnapshot

# So few that noisy retrieval does not spend a reader's budget (100, of which a question
# takes 3): what that refuses is another matter than what the noise costs.
QUESTIONS_EACH: Final = 20


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Benign(ServiceAttack):
    """No attack: readers ask every question once, one a minute, each reader some of them."""

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


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class TrustFarming(ServiceAttack):
    """Asks at most `run_up` readers' questions first, until the service trusts this user, then for
    hidden words of documents (MBA), one a minute. The `pace` of the run-up is "fast", a question
    every minute, or "slow", one every hour, so that trust rises as fast as a service lets it.
    """

    pace: Literal["fast", "slow"] = "fast"
    run_up: Annotated[int, Field(ge=1)] = 20

    needs_masks: ClassVar[bool] = True

    def stream(self, world: World) -> Stream:
        """The run-up and the probes, by one user."""
        gap = HOUR_S if self.pace == "slow" else MINUTE_S
        early = [
            replace(reader_asks(snapshot, ATTACKER), gap_s=gap, run_up=True)
            for snapshot in world.questions.asked[: self.run_up]
        ]
        late = [ask for document in world.masked for ask in probes(document, each=False)]
        return Stream((*early, *late))


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ContextLeakage(ServiceAttack):
    """Asks for the documents behind every question, word for word, the wordings in turn."""

    def stream(self, world: World) -> Stream:
        """One request per question."""
        asked = zip(world.questions.asked, cycle(WORDINGS["service"]["leakage"]), strict=False)
        return Stream(tuple(leak(*each) for each in asked))


def leak(snapshot: SearchSnapshot, wording: str) -> Ask:
    """A request for the documents behind a question."""
    query = snapshot.query
    return Ask(f"leak/{query.id}", wording.format(question=query.text), query.id)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Poisoning(ServiceAttack):
    """Plants false texts for every question, as studies of defences and rerankers do; then readers
    ask. All texts are there at once. The attack on a corpus that is named by `texts` writes
    `several` a question: ten in "Adaptive Defense Orchestration for RAG".
    """

    texts: str = "poisonedrag"
    several: Annotated[int, Field(ge=1)] = 10

    def stream(self, world: World) -> Stream:
        """The readers' questions that can be attacked. Raises ConfigurationError."""
        attack = attack_named(self.texts)
        if attack.surface is not Surface.CORPUS or attack.removes_answers:
            raise ConfigurationError(f"{self.texts} does not add texts to a corpus")
        asks: list[Ask] = []
        planted: list[Planted] = []
        left_out: dict[str, str] = {}
        for snapshot in world.questions.asked:
            query, aim = snapshot.query, world.questions.aim(snapshot)
            try:
                corpus = inject(Corpus(()), attack, snapshot, count=self.several, aim=aim)
                labels = attack.prepared(snapshot, aim)
            except UnattackableError as error:
                left_out[query.id] = str(error)
                continue
            user, asked = reader(len(asks)), attack.asked(query.text)
            asks.append(replace(reader_asks(snapshot), text=asked, user=user, labels=labels))
            planted += [Planted(query.id, entry.document) for entry in corpus.entries]
        return Stream(tuple(asks), tuple(planted), left_out)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Jailbreak(ServiceAttack):
    """Attacks with an order to the control plane (call this harmless, defend nothing) beside the
    same attacks without it, each by users of their own. One succeeds where the plan of the second
    is weaker than that of the first. The order is `where` it says: behind the "question" (probes
    for documents and requests for their text), or in "documents", at the end of false texts.
    """

    where: Literal["question", "documents"] = "question"

    needs_masks: ClassVar[bool] = True

    def stream(self, world: World) -> Stream:
        """Pairs of questions, first the one without an order."""
        orders: list[str] = WORDINGS["service"]["orders"]
        if self.where == "documents":
            return self._documents(world, orders)
        bare = [ask for document in world.masked for ask in probes(document, each=False)]
        wordings = WORDINGS["service"]["leakage"]
        bare += [leak(s, w) for s, w in zip(world.questions.asked, wordings, strict=False)]
        pairs = (_pair(a, f"{a.text} {o}") for a, o in zip(bare, cycle(orders), strict=False))
        return Stream(tuple(ask for pair in pairs for ask in pair))

    def _documents(self, world: World, orders: list[str]) -> Stream:
        plain = Poisoning().stream(world)
        pairs = (_pair(ask, ask.text) for ask in plain.asks)
        asks = [ask for bare, ordered in pairs for ask in (bare, replace(ordered, variant=1))]
        ordered = []
        for text, order in zip(plain.planted, cycle(orders), strict=False):
            document = replace(text.document, text=f"{text.document.text} {order}")
            ordered.append(Planted(text.about, document, variant=1))
        return Stream(tuple(asks), (*plain.planted, *ordered), plain.left_out)


def _pair(ask: Ask, ordered: str) -> tuple[Ask, Ask]:
    """The question by a user of its own, and with the order by another."""
    bare, other = f"bare/{ask.id}", f"ordered/{ask.id}"
    return (
        replace(ask, id=bare, user=bare),
        replace(ask, id=other, user=other, text=ordered, same_as=bare),
    )
