"""Pools of candidates under attacks: the passages nearest to a question, and all planted texts.

As ProGRank evaluates: a fixed number of clean passages, however near the planted texts are, and
all planted texts with them. The clean passages come from the documents of the whole data set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import ceil

from radarstream.defenses.retrieval.pools import checked_pool
from radarstream.lab.attacks.corpus import Corpus, inject, ranked
from radarstream.lab.attacks.corpus_kind import Questions
from radarstream.lab.attacks.protocol import BENIGN, Attack, Surface, UnattackableError
from radarstream.lab.attacks.registry import ATTACKS, WHITE_BOX, attack_named, white_box
from radarstream.lab.attacks.whitebox.crafting import WhiteBox
from radarstream.lab.retrieval.records import Candidate, PoolRow
from radarstream.lab.study.rows import PassageRow
from radarstream.lab.study.scoring import is_correct
from radarstream.lab.study.specs import ALL, Spec, expanded, heading
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import pools_of
from radarstream.schemas.attribution import RankedText
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Labels, Query, SearchSnapshot

BLACK, WHITE = "black-box", "white-box"  # families of attacks


def parse_conditions(text: str, budget: Mapping[str, int] | None = None) -> tuple[str, ...]:
    """Read a list of attacks on a corpus such as `poisonedrag-benign,hotflip:steps=10`. The words
    `black-box`, `white-box` and `all` stand for families; `benign` comes first and is never left
    out.

    `budget` are options that white-box attacks get which have them and do not say otherwise; they
    are part of the name. Raises ConfigurationError for what is no attack on a corpus, and for
    options that an attack refuses.

    >>> parse_conditions("poisonedrag,hotflip", {"steps": 5})
    ('benign', 'poisonedrag', 'hotflip:steps=5')
    """
    black = [name for name in ATTACKS if on_corpus(name)]
    families = {ALL: [*black, *WHITE_BOX], BLACK: black, WHITE: [*WHITE_BOX]}
    found = []
    for text_ in expanded(text, families, [BENIGN]):
        spec = Spec.of(text_)
        if spec.method in WHITE_BOX:
            found.append(budgeted(spec, budget or {}))
        elif text_ == BENIGN or on_corpus(text_):
            found.append(text_)
        else:
            raise ConfigurationError(
                f"no attack {text_!r} on a corpus; there are {', '.join(families[ALL])}; "
                f"{BLACK}, {WHITE} and {ALL} are families"
            )
    return tuple(dict.fromkeys(found))


def on_corpus(name: str) -> bool:
    """Whether a name is that of an attack that adds texts to a corpus."""
    try:
        return attack_named(name).surface is Surface.CORPUS
    except ConfigurationError:
        return False


def budgeted(spec: Spec, budget: Mapping[str, int]) -> str:
    """The spec of a white-box attack, with the parts of the budget that it has options for. An
    attack in cycles gets as many as hold the steps of the budget.
    """
    known = {field.name for field in fields(WHITE_BOX[spec.method])}  # type: ignore[arg-type]
    if "cycles" in known and "steps" in budget:
        in_a_cycle = max(1, getattr(white_box(spec.method), "retriever_steps", 1))
        budget = {**budget, "cycles": ceil(budget["steps"] / in_a_cycle)}
    options = {n: value for n, value in budget.items() if n in known} | dict(spec.options)
    white_box(spec.method, **options)
    return heading(spec.method, options.items())


def white_box_of(condition: str) -> WhiteBox | None:
    """The white-box attack of a condition; None where it is another."""
    spec = Spec.of(condition)
    return white_box(spec.method, **dict(spec.options)) if spec.method in WHITE_BOX else None


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
        query, aim = snapshot.query, self.questions.aim(snapshot)
        corpus, asked, labels = self.questions.corpus, query.text, snapshot.labels or Labels()
        if attack is not None:
            try:
                corpus = inject(corpus, attack, snapshot, count=attack.several, aim=aim)
                labels, asked = attack.prepared(snapshot, aim), attack.asked(query.text)
            except UnattackableError as error:
                return PoolRow(condition, query.id, query.text, detail=str(error)), []
        mine = corpus.poison_of(query.id)
        planted = tuple(entry for entry in corpus.entries if entry.id in mine)
        clean = Corpus(tuple(entry for entry in corpus.entries if entry.id not in mine))
        near = ranked(clean, asked, self.size, models.embedder)
        texts = in_order(Query(query.id, asked), (*near, *planted), snapshot, models)
        candidates = tuple(
            Candidate(
                text.id,
                text.similarity or 0.0,
                planted=text.id in mine,
                right=text.id not in mine and is_correct(text.document.passage, labels),
            )
            for text in texts
        )
        kept = replace(labels, false_passages=())
        row = PoolRow(condition, query.id, asked, candidates, kept)
        return row, [PassageRow(text.id, text.document) for text in texts]


def in_order(
    query: Query, texts: Sequence[RankedText], asked: SearchSnapshot, models: Models
) -> list[RankedText]:
    """The texts as rerankers are given them: by the retriever's similarity, nearest first. Raises
    ModelError.
    """
    documents = tuple(replace(text.document, rank=n) for n, text in enumerate(texts, start=1))
    snapshot = SearchSnapshot(query, asked.observed_at, documents)
    (found,) = pools_of([snapshot], len(documents), models)
    pool = checked_pool(found)
    return [
        RankedText(texts[one.rank - 1].id, documents[one.rank - 1], near)
        for one, near in zip(pool.documents, pool.similarities, strict=True)
    ]
