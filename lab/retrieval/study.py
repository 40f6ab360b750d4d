"""The study of rerankers: condition by condition, pools are searched, every reranker is given them,
and every defence answers from what each reranker keeps.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from radarstream.connectors.models.response_cache import ResponseCache
from radarstream.defenses.protocol import RetrievalDefense
from radarstream.lab.attacks.corpus_kind import NO_CORPUS, CorpusKind, Questions
from radarstream.lab.attacks.protocol import BENIGN, Attack
from radarstream.lab.attacks.registry import attack_named
from radarstream.lab.attacks.whitebox.crafting import Checkpoint, craft
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.methods.gmtp import Gmtp
from radarstream.lab.retrieval.pools import Stage, white_box_of
from radarstream.lab.retrieval.records import FILES, PoolRow, RerankingRow
from radarstream.lab.retrieval.rerankers import (
    REFERENCE,
    answered,
    behind,
    orders,
    relevant_pairs,
    reranker_of,
)
from radarstream.lab.study.costs import Ledger
from radarstream.lab.study.halves import Split
from radarstream.lab.study.kind import AT_ONCE, Keys, Request, Rows, batched
from radarstream.lab.study.rows import PassageRow
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import or_raise
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Query, SearchSnapshot

if TYPE_CHECKING:
    from radarstream.lab.study.harness import Study

NO_PAIRS = "no document answers a question of the tuning split"


class Retrieval(CorpusKind):
    """Every reranker on every pool, every defence on what is kept.

    `k` candidates are kept of a pool with `pool` clean passages. `split` says which questions are
    asked besides the half. `tools` makes the models of white-box attackers, `texts` keeps what they
    wrote. Raises ConfigurationError when there is no question to ask or no document to search.
    """

    name: ClassVar[str] = "retrieval"
    files: ClassVar[Mapping[type[Any], str]] = FILES
    gathers: ClassVar[str] = "searching"

    def __init__(  # noqa: PLR0913 what a study varies
        self,
        request: Request,
        models: Models,
        *,
        conditions: tuple[str, ...],
        rerankers: Sequence[Spec],
        defences: Sequence[str] = (),
        k: int = 5,
        pool: int = 50,
        split: Split = Split.TEST,
        tools: Callable[[], Tools] | None = None,
        texts: ResponseCache | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(request, models, k, split)
        if not self.questions.corpus.entries:
            raise ConfigurationError(NO_CORPUS)
        self.conditions, self.reference, self.notes = conditions, REFERENCE, notes
        guarded = (behind(before, spec.name) for before in defences for spec in rerankers)
        self.methods = (*rerankers, *guarded)
        self.tuning = Questions.of(request.dataset, None, split=Split.TUNING).asked
        self.facts |= {
            "clean passages in a pool": pool,
            "questions for thresholds": len(self.tuning),
        }
        self.places = Stage(self.questions, pool)
        self.tools, self.texts = tools, texts
        self.ledgers: defaultdict[frozenset[str], Ledger] = defaultdict(Ledger)
        self.built: dict[str, RetrievalDefense] = {}

    def begin(self, study: "Study") -> None:
        """Take up the rows."""
        super().begin(study)
        self.pools: dict[Any, PoolRow] = study.store.of(PoolRow)
        self.passages: dict[Any, PassageRow] = study.store.of(PassageRow)
        self.rows: dict[Any, RerankingRow] = study.store.of(RerankingRow)

    def missing(self, condition: str) -> list[str]:
        """The ids of the questions without a pool."""
        return [id_ for id_ in self.asked if (condition, id_) not in self.pools]

    def stage(self, condition: str) -> None:
        """Have the texts of the attack ready, where pools are missing."""
        self.attack = self.attack_of(condition) if self.missing(condition) else None

    def attack_of(self, condition: str) -> Attack | None:
        """The attack of a condition; texts of white-box ones are written now, for all questions.
        Raises ConfigurationError where nothing offers the weights of the retriever, ModelError.
        """
        box = white_box_of(condition)
        if box is None:
            return None if condition == BENIGN else attack_named(condition)
        if self.tools is None:
            raise ConfigurationError(f"{condition} needs the weights of the retriever")
        aims = [self.questions.aim(snapshot) for snapshot in self.questions.asked]

        def show(done: int, parts: int) -> None:
            self.study.progress.doing = f"{condition}: {done} of {parts} questions attacked"

        progress, seed = Checkpoint(self.texts, show), self.request.seed
        made = craft(box, aims, self.tools(), seed=seed, progress=progress)
        return replace(made.attack, name=condition)

    def gather(self, condition: str, items: Sequence[str]) -> Rows:
        """The pools of questions."""
        rows: list[PoolRow | PassageRow] = []
        for id_ in items:
            snapshot = self.snapshots[id_]
            pool, passages = self.places.pool(condition, self.attack, snapshot, self.asking)
            rows += [pool, *(one for one in passages if one.id not in self.passages)]
        return rows

    def owed(self, method: Spec, condition: str) -> Keys:
        """A row for each pool, and for each that was reranked; perhaps for those to come."""
        failed = {key for key, row in self.rows.items() if row.error is not None}
        return {
            id_: [(method.name, condition, id_, 0)]
            for id_ in self.asked
            if (pool := self.pools.get((condition, id_))) is None
            or (pool.candidates and (method.how, condition, id_, 0) not in failed)
        }

    def ready(self, method: Spec) -> None:
        """Make the reranker. GMTP gets its reference from the documents of the tuning split, if it
        takes one and has none. Raises ModelError when they cannot be measured.
        """
        if method.how or method.name in self.built:
            return
        self.built[method.name] = made = reranker_of(method)
        if not isinstance(made, Gmtp) or made.mode != "calibrated" or made.reference is not None:
            return
        pairs = relevant_pairs(self.tuning, self.request.seed)
        self.study.progress.doing = f"{method.name}: fitting its threshold"

        def measure() -> float | None:
            return or_raise(*drive([made.reference_from(pairs)], self.asking)) if pairs else None

        found = self.study.threshold(method.name, measure)
        if found is None:
            self.study.note([f"{method.name} takes its threshold from each pool: {NO_PAIRS}"])
        else:
            self.built[method.name] = replace(made, reference=found)

    def answer(
        self, method: Spec, condition: str, items: Sequence[str]
    ) -> Iterator[tuple[int, Rows]]:
        """What a reranker makes of pools, or a defence of what a reranker kept."""
        if not method.how:
            for part in batched(items, AT_ONCE):
                snapshots = [self.searched(condition, id_) for id_ in part]
                made = self.built[method.name]
                bare = RerankingRow(contender=method.name, condition=condition, query_id="")
                ledger = self.ledgers[made.needs]
                yield len(part), orders(bare, made, self.k, ledger, snapshots, self.asking)
            return
        for part in batched(items, self.request.settings.batch.queries):
            kept = {id_: self.rows[method.how, condition, id_, 0].kept for id_ in part}
            snapshots = [self.searched(condition, id_, ranks) for id_, ranks in kept.items()]
            reading = self.request.settings.reading
            yield len(part), answered(method, condition, snapshots, reading, self.asking)

    def searched(
        self, condition: str, query_id: str, ranks: Sequence[int] | None = None
    ) -> SearchSnapshot:
        """A pool as search results, or those at some `ranks` of it, in this order; documents are
        ranked anew from 1.
        """
        pool, asked = self.pools[condition, query_id], self.snapshots[query_id]
        places = range(1, len(pool.candidates) + 1) if ranks is None else ranks
        documents = (self.passages[pool.candidates[place - 1].id].document for place in places)
        return replace(
            asked,
            query=Query(query_id, pool.question),
            documents=tuple(replace(d, rank=rank) for rank, d in enumerate(documents, start=1)),
            labels=pool.labels,
        )
