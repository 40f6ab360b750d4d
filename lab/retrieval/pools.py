"""Pools of candidates: the texts nearest to a question, and everything planted for it.

As ProGRank evaluates: a fixed number of clean passages, however near the planted texts are, and
all planted texts with them. The clean passages come from the documents of the whole data set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from radarstream.defenses.retrieval.pools import checked_pool
from radarstream.lab.attacks.corpus import Corpus, inject, ranked
from radarstream.lab.attacks.protocol import Attack, UnattackableError
from radarstream.lab.attacks.questions import Questions
from radarstream.lab.retrieval.rows import Candidate, PoolRow
from radarstream.lab.study.rows import PassageRow
from radarstream.lab.study.scoring import is_correct
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import pools_of
from radarstream.schemas.attribution import RankedText
from radarstream.schemas.snapshot import Labels, Query, SearchSnapshot

Passages = Mapping[str, PassageRow]


@dataclass(frozen=True)
class Stage:
    """Questions and the corpus that is searched; `size` clean passages are in a pool."""

    questions: Questions
    size: int

    def pool(
        self, condition: str, attack: Attack | None, snapshot: SearchSnapshot, models: Models
    ) -> tuple[PoolRow, list[PassageRow]]:
        """The pool of a question under a condition, and its texts; without an attack nothing is
        planted. Raises ModelError.
        """
        query = snapshot.query
        try:
            corpus, asked, labels = self.attacked(attack, snapshot)
        except UnattackableError as error:
            return PoolRow(condition, query.id, query.text, detail=str(error)), []
        mine = corpus.poison_of(query.id)
        planted = tuple(entry for entry in corpus.entries if entry.id in mine)
        clean = Corpus(tuple(entry for entry in corpus.entries if entry.id not in mine))
        near = ranked(clean, asked, self.size, models.embedder)
        texts = in_order(Query(query.id, asked), (*near, *planted), snapshot, models)
        row = PoolRow(
            condition,
            query.id,
            asked,
            tuple(candidate(text, labels, planted=text.id in mine) for text in texts),
            replace(labels, false_passages=()),
        )
        return row, [PassageRow(text.id, text.document) for text in texts]

    def attacked(
        self, attack: Attack | None, snapshot: SearchSnapshot
    ) -> tuple[Corpus, str, Labels]:
        """The corpus under an attack, the question as it is asked, and the labels.

        Raises UnattackableError.
        """
        if attack is None:
            return self.questions.corpus, snapshot.query.text, snapshot.labels or Labels()
        aim = self.questions.aim(snapshot)
        corpus = inject(self.questions.corpus, attack, snapshot, count=attack.several, aim=aim)
        labels, _ = attack.prepared(snapshot, aim)
        return corpus, attack.asked(snapshot.query.text), labels


def in_order(
    query: Query, texts: Sequence[RankedText], asked: SearchSnapshot, models: Models
) -> list[RankedText]:
    """The texts as rerankers are given them: by the retriever's similarity, nearest first.

    Raises ModelError.
    """
    documents = tuple(replace(text.document, rank=n) for n, text in enumerate(texts, start=1))
    snapshot = SearchSnapshot(query, asked.observed_at, documents)
    (found,) = pools_of([snapshot], len(documents), models)
    pool = checked_pool(found)
    return [
        RankedText(texts[one.rank - 1].id, documents[one.rank - 1], near)
        for one, near in zip(pool.documents, pool.similarities, strict=True)
    ]


def candidate(text: RankedText, labels: Labels, *, planted: bool) -> Candidate:
    """A text of a pool."""
    right = not planted and bool(labels.answers) and is_correct(text.document.passage, labels)
    return Candidate(text.id, text.similarity or 0.0, planted, right)


def snapshot_of(
    pool: PoolRow, passages: Passages, asked: SearchSnapshot, ranks: Sequence[int] | None = None
) -> SearchSnapshot:
    """What a search returned: the whole pool, or the documents at the `ranks` in this order.

    `asked` is the question as the data set has it. Documents are ranked anew from 1.
    """
    places = range(1, len(pool.candidates) + 1) if ranks is None else ranks
    return SearchSnapshot(
        Query(asked.query.id, pool.question),
        asked.observed_at,
        tuple(
            replace(passages[pool.candidates[place - 1].id].document, rank=rank)
            for rank, place in enumerate(places, start=1)
        ),
        asked.provenance,
        pool.labels,
    )
