"""What an attack is, and the list injection that all of them share.

An attack is a pure function from what the attacker knows, an `Aim`, to texts. List injection puts
them in the place of documents of a fixed result list: nothing but the named ranks changes
(RobustRAG, ReliabilityRAG, RADAR section 5.1). Corpus injection adds them to the documents that a
retriever searches (PoisonedRAG, RAGOrigin): see `corpus`. The two are never compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b

from radarstream.lab.attacks.timing import Moment, Timing, generator
from radarstream.lab.study.rows import BENIGN as BENIGN
from radarstream.lab.study.scoring import is_correct
from radarstream.schemas.answer_text import normalised
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot

TOP, RANDOM, CORPUS = "top", "random", "corpus"
_LISTED = 3  # ranks in a row that a name lists one by one


class Surface(StrEnum):
    """Where an attack's texts go."""

    LIST = "list"
    CORPUS = "corpus"


@dataclass(frozen=True, slots=True)
class Condition:
    """What the attacker does: one attack at some places, on the steps that `schedule` says.

    `positions` are 1-based ranks, attacked together; without any, `place` says where the texts go:
    `top` or `random` ranks, or into the corpus that is searched, `m5` five of them. An empty
    schedule attacks every step. `benign` in the place `corpus` is a search of the clean corpus.
    Each planted page has a site of its own, or, with `one_site`, all of a question share one.
    """

    attack: str = BENIGN
    positions: tuple[int, ...] = ()
    schedule: str = ""
    place: str = ""
    one_site: bool = False

    @property
    def name(self) -> str:
        """Such as `benign`, `pia@1`, `poison@9+10`, `pia@top:late-3-4`, `poisonedrag@m5`. More than
        three ranks in a row are written as the first and the last.

        >>> Condition("poison", (9, 10)).name
        'poison@9+10'
        >>> Condition("poison", (1, 2, 3, 4), "late-1", one_site=True).name
        'poison@1..4/one-site:late-1'
        """
        if self.attack == BENIGN:
            return BENIGN
        place = "+".join(map(str, self.positions)) or self.place
        first, last = self.positions[:1], self.positions[-1:]
        if len(self.positions) > _LISTED and self.positions == (*range(first[0], last[0] + 1),):
            place = f"{first[0]}..{last[0]}"
        place += "/one-site" if self.one_site else ""
        return f"{self.attack}@{place}" + (f":{self.schedule}" if self.schedule else "")

    @property
    def surface(self) -> Surface:
        """Where the texts go."""
        on_list = self.positions or self.place in ("", TOP, RANDOM)
        return Surface.LIST if on_list else Surface.CORPUS

    @property
    def timing(self) -> Timing:
        """The schedule, parsed."""
        return Timing.parse(self.schedule)

    @property
    def peak(self) -> int:
        """The most texts planted at one step."""
        if self.attack == BENIGN:
            return 0
        if (peak := self.timing.peak) is not None:
            return peak
        if self.positions:
            return len(self.positions)
        return int(self.place[1:]) if self.surface is Surface.CORPUS else 1

    def check_depth(self, k: int) -> None:
        """Raise ConfigurationError when ranks beyond the first k are needed."""
        deepest = max(self.positions, default=0)
        if self.place in (TOP, RANDOM):
            deepest = self.peak
        if deepest > k:
            raise ConfigurationError(
                f"positions of {self.name} reach rank {deepest}, beyond k = {k}"
            )

    def ranks(self, moment: Moment, count: int, k: int, seed: int) -> list[int]:
        """The ranks of `count` texts on a list at this moment, distinct, from 1 to k."""
        if self.positions:
            return list(self.positions[:count])
        if self.place == TOP:
            return list(range(1, count + 1))
        drawn = generator(seed, moment, "places").choice(k, size=count, replace=False)
        return sorted(int(rank) + 1 for rank in drawn)


class UnattackableError(ConfigurationError):
    """An attack means nothing for this question, or the data lack what it needs."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What an attacker knows and wants about one question at one moment; never a defence.

    `relevant` are benign passages about the question, best first; `former` are answers that were
    right at earlier moments and no longer are, newest first; `elsewhere` is another question that
    the same attacker, or a second one, is after.
    """

    question: str
    target: str
    answers: tuple[str, ...] = ()
    all_answers_required: bool = False
    false_passages: tuple[str, ...] = ()
    observed_at: datetime | None = None
    relevant: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    elsewhere: "Aim | None" = None


Texts = Callable[[Aim, int], tuple[str, ...]]


def wanted(aim: Aim) -> str:
    """The target that the evaluator's labels name."""
    return aim.target


def always(_: Aim) -> bool:
    """Most attacks can start at once."""
    return True


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack by its name in schedules and reports.

    `texts(aim, count)` makes `count` texts, the same ones every time; `target` is the answer it
    works towards; `ready` tells whether it has anything to plant at this moment; `asked` is what
    the user asks instead of the question the attacker expects; `removes_answers` deletes the texts
    that hold a right answer from a corpus; `several` is how many texts one attack on a corpus
    plants, M in the papers.
    """

    name: str
    texts: Texts
    surface: Surface = Surface.LIST
    target: Callable[[Aim], str] = wanted
    ready: Callable[[Aim], bool] = always
    asked: Callable[[str], str] = str
    removes_answers: bool = False
    several: int = 5

    def poison(
        self,
        snapshot: SearchSnapshot,
        *,
        positions: Sequence[int],
        aim: Aim,
        one_site: bool = False,
    ) -> SearchSnapshot:
        """A copy of the snapshot with planted documents at `positions`, distinct ranks from 1.

        A position after the last document appends. The labels of the copy name the attack, its
        target and the ranks the planted documents really got. Raises UnattackableError for a
        snapshot without a target or attacked before, for a target that would count as a right
        answer, and where the attack lacks what it plants.
        """
        labels = self.prepared(snapshot, aim)
        texts = self.texts(aim, len(positions))
        documents = {document.rank: document for document in snapshot.documents}
        planted: list[int] = []
        for number, (position, text) in enumerate(zip(sorted(positions), texts, strict=True), 1):
            rank = min(position, max(documents, default=0) + 1)
            documents[rank] = self.page(number, text, rank, snapshot, one_site=one_site)
            planted.append(rank)
        return replace(
            snapshot,
            query=replace(snapshot.query, text=self.asked(snapshot.query.text)),
            documents=tuple(documents[rank] for rank in sorted(documents)),
            labels=replace(labels, poisoned_ranks=tuple(planted)),
        )

    def prepared(self, snapshot: SearchSnapshot, aim: Aim) -> Labels:
        """Labels that name attack and target. Raises UnattackableError."""
        labels = snapshot.labels or Labels()
        if labels.attack is not None:
            raise UnattackableError(f"{snapshot.id} is already attacked ({labels.attack})")
        target = self.target(aim)
        if not normalised(target):
            raise UnattackableError(f"{snapshot.id} has no target answer to attack with")
        if is_correct(target, labels, strict=False):
            raise UnattackableError(f"the target of {snapshot.id} contains the right answer")
        return replace(labels, attack=self.name, target=target)

    def page(
        self, number: int, text: str, rank: int, snapshot: SearchSnapshot, *, one_site: bool = False
    ) -> Document:
        """A planted page. Each has a site of its own, as an attacker would see to, with a name
        that tells a defence nothing, and where the other pages carry dates it claims to be as new
        as can be. With `one_site` they are pages of the first one's site.
        """
        site = 1 if one_site else number
        name = blake2b(f"{self.name}/{site}/{snapshot.query.id}".encode(), digest_size=6)
        page = str(number) if one_site else ""
        dated = any(document.published_at for document in snapshot.documents)
        return Document(
            rank=rank,
            text=text,
            url=f"https://{name.hexdigest()}.example/{page}",
            published_at=snapshot.observed_at if dated else None,
        )


def aim_of(
    snapshot: SearchSnapshot, *, former: tuple[str, ...] = (), elsewhere: Aim | None = None
) -> Aim:
    """What the snapshot and its labels tell an attacker; without a target, the target is blank."""
    labels = snapshot.labels or Labels()
    return Aim(
        question=snapshot.query.text,
        target=labels.target or "",
        answers=labels.answers,
        all_answers_required=labels.all_answers_required,
        false_passages=labels.false_passages,
        observed_at=snapshot.observed_at,
        relevant=tuple(document.passage for document in snapshot.documents),
        former=former,
        elsewhere=elsewhere,
    )
