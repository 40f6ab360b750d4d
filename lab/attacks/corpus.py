"""Attacks on the corpus that a retriever searches (PoisonedRAG, RAGOrigin).

A corpus is the documents that all questions of a data set were given at one step. An attacker adds
texts, or deletes some, and the retriever decides what becomes of them. The clean condition of such
a run is retrieval from the clean corpus, never the result list of the data set.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from radarstream.connectors.models.wrapping import Call, Wrapped
from radarstream.lab.attacks.protocol import Aim, Attack
from radarstream.pipelines.signals.ports import Embedder
from radarstream.schemas.answer_text import contains
from radarstream.schemas.attribution import RankedText
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot


@dataclass(frozen=True, slots=True)
class Injection:
    """Exactly what an attack on one question did to a corpus."""

    attack: str
    query_id: str
    target: str
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts with distinct ids, whose ranks mean nothing here, and what attackers did to them,
    oldest first.
    """

    entries: tuple[RankedText, ...]
    injections: tuple[Injection, ...] = ()

    def poison_of(self, query_id: str) -> frozenset[str]:
        """Ids of the texts that were added to mislead about that question."""
        mine = (i.added for i in self.injections if i.query_id == query_id)
        return frozenset(id_ for added in mine for id_ in added)


def corpus_of(documents: Iterable[Document]) -> Corpus:
    """The distinct documents, in order of first appearance, keyed by what they say and where."""
    entries: dict[str, RankedText] = {}
    for document in documents:
        entries.setdefault(document.content_id, RankedText(document.content_id, document))
    return Corpus(tuple(entries.values()))


def inject(
    corpus: Corpus,
    attack: Attack,
    snapshot: SearchSnapshot,
    *,
    count: int,
    aim: Aim,
    one_site: bool = False,
) -> Corpus:
    """A copy of the corpus attacked on one question: `count` texts more, and some deleted. Raises
    UnattackableError like `Attack.poison`, ConfigurationError when the question was attacked before
    with the same attack.
    """
    labels = attack.prepared(snapshot, aim)
    query = snapshot.query.id
    if any(i.attack == attack.name and i.query_id == query for i in corpus.injections):
        raise ConfigurationError(f"the corpus already holds {attack.name} on {query}")
    right = labels.answers if attack.removes_answers else ()
    kept = tuple(
        entry
        for entry in corpus.entries
        if not any(contains(entry.document.passage, answer, strict=True) for answer in right)
    )
    added = tuple(
        RankedText(
            f"{attack.name}/{query}/{number}",
            attack.page(number, text, 1, snapshot, one_site=one_site),
        )
        for number, text in enumerate(attack.texts(aim, count), start=1)
    )
    ids = tuple(entry.id for entry in added)
    injection = Injection(attack.name, query, labels.target or "", ids)
    return Corpus(kept + added, (*corpus.injections, injection))


def ranked(corpus: Corpus, question: str, k: int, embedder: Embedder) -> tuple[RankedText, ...]:
    """The k texts nearest to the question by cosine, best first; ties keep the corpus's order.
    Raises ModelError when the embedder fails.
    """
    if not corpus.entries:
        return ()
    rows = embedder.embed([question, *(entry.document.passage for entry in corpus.entries)])
    similarities = rows[1:] @ rows[0]
    order = np.argsort(-similarities, kind="stable")[:k]
    found = [(corpus.entries[place], float(similarities[place])) for place in order]
    return tuple(
        RankedText(entry.id, replace(entry.document, rank=rank), similarity)
        for rank, (entry, similarity) in enumerate(found, start=1)
    )


def searched(
    snapshot: SearchSnapshot, corpus: Corpus, k: int, embedder: Embedder
) -> SearchSnapshot:
    """The snapshot with the corpus's k best texts in place of its documents. Where the corpus was
    attacked on this question, the labels name the last such attack, its target and the ranks at
    which texts planted for this question were retrieved.
    """
    found = ranked(corpus, snapshot.query.text, k, embedder)
    labels = snapshot.labels
    mine = [i for i in corpus.injections if i.query_id == snapshot.query.id]
    if mine:
        poison = corpus.poison_of(snapshot.query.id)
        labels = replace(
            labels or Labels(),
            attack=mine[-1].attack,
            target=mine[-1].target,
            poisoned_ranks=tuple(text.document.rank for text in found if text.id in poison),
        )
    return replace(snapshot, documents=tuple(text.document for text in found), labels=labels)


class RememberingEmbedder(Wrapped):
    """Embeds every text once: the texts of a corpus are searched for many questions."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder, self._remembered)
        self._rows: dict[str, FloatArray] = {}

    def _remembered(self, call: Call) -> list[FloatArray]:
        missing = [text for text in dict.fromkeys(call.requests) if text not in self._rows]
        if missing:
            self._rows.update(zip(missing, call.ask(missing), strict=True))
        return [self._rows[text] for text in call.requests]
