"""The world of a study: a corpus that lacks some documents, and documents to probe for.

Members are documents of the corpus, the others were taken out of it. Both are drawn from the same
documents by the seed, so that nothing but membership tells them apart. No document that names a
right answer is taken out: readers' questions stay as easy as they were.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from radarstream.lab.attacks.corpus import Corpus, corpus_of, ranked
from radarstream.lab.attacks.questions import Questions
from radarstream.lab.attacks.service.masking import (
    MASKS,
    Proxy,
    candidates,
    chosen,
    cut,
)
from radarstream.lab.attacks.service.masking import ranked as ranked_words
from radarstream.lab.attacks.service.protocol import MaskedDocument, Planted
from radarstream.lab.study.scoring import is_correct
from radarstream.pipelines.signals.ports import Embedder
from radarstream.schemas.attribution import RankedText
from radarstream.schemas.snapshot import Document

MOST_PROBED: Final = 0.5  # share of the documents of a corpus that may be probed for


@dataclass(frozen=True, slots=True)
class Probed:
    """A document to probe for, with its id; `member` says whether it stays in the corpus."""

    id: str
    document: Document
    member: bool


def drawn(questions: Questions, members: int, others: int, seed: int) -> list[Probed]:
    """The documents to probe for, members and others mixed; fewer where the corpus is small.

    Only documents with enough words to hide are drawn, and no two with the same words.
    """
    known = [s.labels for s in questions.asked if s.labels and s.labels.answers]
    fit = {
        cut(entry.document.passage): entry
        for entry in questions.corpus.entries
        if len(list(candidates(cut(entry.document.passage)))) >= MASKS
    }
    entries = list(fit.values())
    order = [entries[n] for n in np.random.default_rng((seed, 16)).permutation(len(entries))]
    most = int(len(entries) * MOST_PROBED)
    wanted = members + others
    scale = min(1.0, most / wanted) if wanted else 0.0
    left_out = [
        entry
        for entry in order
        if not any(is_correct(entry.document.passage, labels) for labels in known)
    ][: int(others * scale)]
    gone = {entry.id for entry in left_out}
    staying = [entry for entry in order if entry.id not in gone][: int(members * scale)]
    found = [
        *(Probed(e.id, e.document, True) for e in staying),
        *(Probed(e.id, e.document, False) for e in left_out),
    ]
    return [found[n] for n in np.random.default_rng((seed, 17)).permutation(len(found))]


def without(questions: Questions, probed: Sequence[Probed]) -> Questions:
    """The same questions over a corpus that lacks what is no member."""
    gone = {one.id for one in probed if not one.member}
    kept = tuple(entry for entry in questions.corpus.entries if entry.id not in gone)
    return replace(questions, corpus=Corpus(kept))


def masked(one: Probed, proxy: Proxy, masks: int = MASKS) -> MaskedDocument:
    """The document with its hardest words hidden. Raises ModelError."""
    text = cut(one.document.passage)
    spans = chosen(text, ranked_words(text, proxy), masks)
    return MaskedDocument(one.id, text, spans, one.member)


def with_planted(corpus: Corpus, planted: Sequence[Planted], variant: int) -> Corpus:
    """The corpus with the texts that are planted for a variant of the questions."""
    texts = [text.document for text in planted if text.variant == variant]
    return Corpus((*corpus.entries, *corpus_of(texts).entries))


@dataclass(frozen=True)
class Searcher:
    """Finds documents of a corpus in memory, nearest first."""

    corpus: Corpus
    embedder: Embedder

    def nearest(self, text: str, wanted: int) -> Iterator[Document]:
        """At most `wanted`, ranks from 1. Raises ModelError."""
        found: tuple[RankedText, ...] = ranked(self.corpus, text, wanted, self.embedder)
        return (one.document for one in found)
