"""Texts that climb an objective, a few words a step: the kernel of all white-box attacks.

HotFlip (Ebrahimi et al., ACL 2018): the change of an objective when a word is replaced is, to
first order, the inner product of the gradient at that word with the difference of the two word
embeddings. A step proposes the replacements that promise most, reads every proposed text anew,
and keeps the best one only where it is strictly better than what was there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

import numpy as np

from radarstream.lab.attacks.whitebox.crafting import Written
from radarstream.lab.attacks.whitebox.encoder import OpenEncoder, Vocabulary
from radarstream.schemas.evidence import FloatArray

Slots = tuple[int, ...]
Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that may change, `slots`, within the fixed words around them.

    `contexts` are pairs of what stands before and after; the same slots may stand in several
    texts, such as a trigger behind several questions.
    """

    slots: Slots
    contexts: tuple[tuple[str, str], ...] = (("", ""),)

    def texts(self, encoder: OpenEncoder) -> Texts:
        """One text a context."""
        middle = encoder.text(self.slots)
        return tuple(" ".join(filter(None, (b, middle, a))) for b, a in self.contexts)


class Objective(Protocol):
    """What an attacker wants of the texts of a draft, one a context; higher is better."""

    def directions(self, rows: FloatArray) -> FloatArray:
        """(c, d): the gradient with respect to the unit rows of the texts, (c, d)."""

    def values(self, texts: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """(n,) for n drafts with unit rows (n, c, d); the first one is the present draft."""


# (gradients (slots, d), vocabulary, slots, generator) -> proposed slots, the best first.
Proposals = Callable[[FloatArray, Vocabulary, Slots, np.random.Generator], Sequence[Slots]]


class Climb:
    """A draft on its way; its `values` are before the first step and after each."""

    def __init__(self, draft: Draft, objective: Objective) -> None:
        self.draft = draft
        self.objective = objective
        self.rows = np.empty((0, 0))
        self.values: list[float] = []
        self.idle = 0  # steps without an improvement

    @property
    def known(self) -> int:
        """How many of the drafts to judge have been read: the present one, after the first time."""
        return min(1, len(self.values))

    def take(self, drafts: Sequence[Draft], texts: Sequence[Texts], rows: FloatArray) -> None:
        """Go to the best of the drafts, of which the first is the present one."""
        values = self.objective.values(texts, rows)
        best = int(np.argmax(values))  # the first of equals: an equal draft replaces nothing
        self.idle = 0 if best or not self.values else self.idle + 1
        self.draft, self.rows = drafts[best], rows[best]
        self.values.append(float(values[best]))


def written(climbs: Sequence[Climb], encoder: OpenEncoder, trigger: str = "") -> Written:
    """The texts of drafts, and their values before and after."""
    texts = tuple(climb.draft.texts(encoder)[0] for climb in climbs)
    before, after = (tuple(climb.values[at] for climb in climbs) for at in (0, -1))
    return Written(texts, before, after, trigger)


@dataclass(frozen=True, slots=True)
class Climber:
    """Improves drafts together, with one batch of texts a step. `candidates` bounds the texts that
    are read for each draft and step.
    """

    encoder: OpenEncoder
    vocabulary: Vocabulary
    candidates: int
    rng: np.random.Generator

    def climb(
        self,
        drafts: Sequence[Draft],
        objectives: Sequence[Objective],
        proposals: Proposals,
        steps: int,
        patience: int | None = None,
    ) -> list[Climb]:
        """So many steps, one objective a draft. A draft that did not improve for `patience` steps
        stays as it is. Raises ModelError.
        """
        climbs = [Climb(*each) for each in zip(drafts, objectives, strict=True)]
        self._judge([(climb, [climb.draft]) for climb in climbs])
        for _ in range(steps):
            going = [climb for climb in climbs if climb.idle != patience]
            if not going:
                break
            self._judge(list(zip(going, self._proposed(going, proposals), strict=True)))
        return climbs

    def _proposed(self, climbs: Sequence[Climb], proposals: Proposals) -> list[list[Draft]]:
        """Drafts to read anew: the present one, then those that promise to be better."""
        texts = [climb.draft.texts(self.encoder) for climb in climbs]
        directions = [climb.objective.directions(climb.rows) for climb in climbs]
        flat = [text for each in texts for text in each]
        gradients = iter(self.encoder.gradients(flat, np.concatenate(directions)))
        found = []
        for climb in climbs:
            draft = climb.draft
            pulls = self._at_slots(draft, list(islice(gradients, len(draft.contexts))))
            proposed = proposals(pulls, self.vocabulary, draft.slots, self.rng)
            stable = self._stable([slots for slots in proposed if slots != draft.slots])
            new = [replace(draft, slots=slots) for slots in stable[: self.candidates]]
            found.append([draft, *new])
        return found

    def _at_slots(self, draft: Draft, gradients: Sequence[FloatArray]) -> FloatArray:
        """(slots, d): the gradient at each slot, summed over the contexts."""
        starts = [len(t) for t in self.encoder.tokens([before for before, _ in draft.contexts])]
        count = len(draft.slots)
        total = np.zeros((count, self.vocabulary.rows.shape[1]))
        for start, rows in zip(starts, gradients, strict=True):
            seen = rows[start : start + count]  # a long text may be cut off
            total[: len(seen)] += seen
        return total

    def _stable(self, proposed: Sequence[Slots]) -> list[Slots]:
        """Those that are read as the same tokens after they were written as text."""
        read = self.encoder.tokens([self.encoder.text(slots) for slots in proposed])
        return [slots for slots, again in zip(proposed, read, strict=True) if slots == again]

    def _judge(self, asked: Sequence[tuple[Climb, list[Draft]]]) -> None:
        """Read drafts, the present one first, and keep the best of each climb."""
        texts = [[draft.texts(self.encoder) for draft in drafts] for _, drafts in asked]
        new = [
            text
            for (climb, _), each in zip(asked, texts, strict=True)
            for together in each[climb.known :]
            for text in together
        ]
        rows = iter(self.encoder.embed(new) if new else ())
        for (climb, drafts), each in zip(asked, texts, strict=True):
            count = len(drafts[0].contexts)
            read = [np.array(list(islice(rows, count))) for _ in each[climb.known :]]
            climb.take(drafts, each, np.array([climb.rows, *read] if climb.known else read))


def one_word(most: int, places: Sequence[int] | None = None) -> Proposals:
    """HotFlip: the `most` words that promise most at one random place, of all or of `places`."""

    def propose(
        pulls: FloatArray, vocabulary: Vocabulary, slots: Slots, rng: np.random.Generator
    ) -> list[Slots]:
        if not slots:
            return []
        place = int(rng.choice(len(slots) if places is None else np.asarray(places)))
        (words,) = vocabulary.promising(pulls[[place]], most)
        return [_replaced(slots, place, word) for word in words]

    return propose


def words_by_lot(most: int, places: Sequence[int]) -> Proposals:
    """Any words at one random place: for objectives without a gradient."""

    def propose(
        _: FloatArray, vocabulary: Vocabulary, slots: Slots, rng: np.random.Generator
    ) -> list[Slots]:
        place = int(rng.choice(np.asarray(places)))
        return [_replaced(slots, place, word) for word in vocabulary.drawn(most, rng)]

    return propose


def several_words(most: int, changed: int, top: int) -> Proposals:
    """GCG (Zou et al., 2023): each proposal changes `changed` random places, each to one of the
    `top` words that promise most there.
    """

    def propose(
        pulls: FloatArray, vocabulary: Vocabulary, slots: Slots, rng: np.random.Generator
    ) -> list[Slots]:
        best = vocabulary.promising(pulls, top)
        found = []
        for _ in range(most):
            new = slots
            for place in rng.choice(len(slots), size=min(changed, len(slots)), replace=False):
                new = _replaced(new, int(place), int(rng.choice(best[place])))
            found.append(new)
        return found

    return propose


def _replaced(slots: Slots, place: int, word: int) -> Slots:
    return (*slots[:place], word, *slots[place + 1 :])
