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
from radarstream.lab.attacks.registry import ATTACKS, attack_named
from radarstream.lab.attacks.whitebox.crafting import WhiteBox
from radarstream.lab.attacks.whitebox.registry import WHITE_BOX, white_box
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
        """The corpus under an attack, the question as it is asked, and the labels. Raises
        UnattackableError.
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
