"""A reader that is told by the labels of the data what each page says, in place of models."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final

import numpy as np

from radarstream.connectors.models.answer_agreement.quoting import quote_of
from radarstream.connectors.models.scripted import NoLog, ScriptedEmbedder, ScriptedRelations
from radarstream.connectors.models.scripted_rules import most_frequent
from radarstream.lab.study.datasets import History
from radarstream.lab.study.scoring import answer_set, is_correct
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import MAX_QUESTION_CHARACTERS, plain
from radarstream.schemas.answer_text import normalised
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Completion, Prompt, Task
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot
from radarstream.schemas.tasks import ABSTENTION, TASKS

LABELS: Final = "labels"
SHORTEST: Final = 4  # letters of a word that is said by mistake
# Characters by which a page is known again: in prompts of many passages each is cut short.
KNOWN_BY: Final = 160


@dataclass
class LabelReader:
    """Reads and relates as the labels say: what a perfect reader would say, or one that errs.

    A page says the right answer or the attacker's target, whichever its text names alone, as whole
    words; of a history also the answers and targets of the other steps. Of an answer's spellings it
    says the first that the page says by the rule of production (`quote_of`). Spellings of one
    answer mean the same, all others contradict each other. A planted page says the target, without
    fault. Of the others it invents a share `invents` (they say one of their longer words) and
    misses a share `misses`; `seed` and the page decide which.
    """

    misses: float = 0.0
    invents: float = 0.0
    seed: int = 0
    _said: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    _asked: dict[str, str] = field(default_factory=dict, repr=False)
    _spelt: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not all(0.0 <= share <= 1.0 for share in (self.misses, self.invents)):
            raise ConfigurationError("misses and invents are shares from 0 to 1")

    @staticmethod
    def of(text: str, seed: int) -> "LabelReader":
        """Read `labels` or such as `labels:misses=0.1,invents=0.05`. Raises ConfigurationError."""
        spec = Spec.of(text)
        try:
            if spec.method == LABELS:
                return LabelReader(**dict(spec.options), seed=seed)
        except TypeError:
            pass
        raise ConfigurationError(f"no reader {text!r}; write labels:misses=0.1,invents=0.05")

    @property
    def model_id(self) -> str:
        """What it is, with its faults."""
        faults = f"misses {100 * self.misses:g} %, invents {100 * self.invents:g} %"
        return f"{LABELS}, {faults}, seed {self.seed}" if self.misses or self.invents else LABELS

    @property
    def models(self) -> Models:
        """The reader in the place of all models. Embeddings are drawn by lot from the texts."""
        return Models(self, self, ScriptedEmbedder(model_id=self.model_id, log=NoLog()))

    def learn(self, histories: Iterable[History]) -> None:
        """Learn what the pages of histories say; of equal pages the first one counts."""
        for history in histories:
            meant = meant_in(snapshot.labels or Labels() for snapshot in history)
            for labels in meant:
                same = spellings(labels)
                self._spelt |= {(question_of(history[0]), text): same[0] for text in same}
            for snapshot in history:
                for document in snapshot.documents:
                    key = question_of(snapshot), plain(document.passage, KNOWN_BY)
                    if key not in self._said:
                        self._said[key] = self._reading(snapshot, document, meant)

    def learn_claim(self, claim: str, snapshot: SearchSnapshot, answer: str) -> None:
        """Learn which question a claim answers, and how."""
        question = question_of(snapshot)
        self._asked[plain(claim, TASKS[Task.QUESTION_OF_CLAIM].passage_characters)] = question
        self._said[question, plain(claim, KNOWN_BY)] = answer

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """What the page of each prompt says; of several pages, or answers, most of them."""
        return [Completion(self._reply(prompt)) for prompt in prompts]

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows, as of `ScriptedRelations`."""
        meant = [
            replace(
                pair,
                premise=self._meaning(pair.question, pair.premise),
                hypothesis=self._meaning(pair.question, pair.hypothesis),
            )
            for pair in pairs
        ]
        return ScriptedRelations().probabilities(meant)

    def _reply(self, prompt: Prompt) -> str:
        match prompt.task:
            case Task.ATOMIC_ANSWER | Task.ANSWER_FROM_DOCUMENTS:
                keys = [(prompt.question, plain(p, KNOWN_BY)) for p in prompt.passages]
                said = [self._said.get(key, ABSTENTION) for key in keys]
            case Task.QUESTION_OF_CLAIM:
                return self._asked.get(prompt.passages[0], ABSTENTION)
            case Task.SYNTHESISE_ANSWERS:
                said = list(prompt.passages)
            case _:
                raise ModelError(f"the reader by labels has no reply to {prompt.task}")
        return most_frequent([answer for answer in said if answer != ABSTENTION])

    def _meaning(self, question: str, text: str) -> str:
        return self._spelt.get((plain(question, MAX_QUESTION_CHARACTERS), text), text)

    def _reading(
        self, snapshot: SearchSnapshot, document: Document, meant: Sequence[Labels]
    ) -> str:
        labels = snapshot.labels or Labels()
        if document.rank in labels.poisoned_ranks:
            return labels.target or ABSTENTION
        question, page = snapshot.query.text, document.passage
        key = "\x00".join((str(self.seed), question, page)).encode("utf-8", "surrogatepass")
        source = int.from_bytes(blake2b(key, digest_size=16).digest(), "little")
        invents, misses, which = np.random.default_rng(source).random(3)
        if invents < self.invents:
            known = [question, *(text for labels in meant for text in labels.answers)]
            return invented(page, known, which)
        named = named_in(page, meant)
        if named is None or misses < self.misses:
            return ABSTENTION
        texts = spellings(named)
        return next((text for text in texts if quote_of(text, question, page)), texts[0])


def meant_in(steps: Iterable[Labels]) -> list[Labels]:
    """The right answers and the targets of all steps, each once, as right answers."""
    found: dict[frozenset[str], Labels] = {}
    for labels in steps:
        for one in (labels, Labels(() if labels.target is None else (labels.target,))):
            found.setdefault(answer_set(one.answers), one)
    return [labels for key, labels in found.items() if key]


def named_in(text: str, meant: Sequence[Labels]) -> Labels | None:
    """The answer that a text names alone of several, as whole words; None if there is none."""
    named = [labels for labels in meant if is_correct(text, labels)]
    return named[0] if len(named) == 1 else None


def spellings(labels: Labels) -> tuple[str, ...]:
    """The ways to say a right answer; one where it takes all of the texts."""
    every = " and ".join(labels.answers)
    return (every,) if labels.all_answers_required else labels.answers


def question_of(snapshot: SearchSnapshot) -> str:
    """The question as prompts have it."""
    return plain(snapshot.query.text, MAX_QUESTION_CHARACTERS)


def invented(page: str, known: Sequence[str], which: float) -> str:
    """One of the longer words of a page that no known text has; `which`, in [0, 1), says which."""
    taken = set(normalised(" ".join(known)).split())
    words = [w for w in dict.fromkeys(normalised(page).split()) if len(w) >= SHORTEST]
    fresh = [word for word in words if word not in taken]
    return fresh[int(which * len(fresh))] if fresh else ABSTENTION
